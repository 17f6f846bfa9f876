/** What becomes of an answer before whoever waits for it hears of it: what `then` does, without one promise more. */
export interface ReplyHandler<R, T> {
  onReply(value: R): T
  onError(error: unknown): T | Promise<T>
}

/** The answer is what the script says. */
export const identity = {
  onReply: <R>(value: R): R => value,
  onError(error: unknown): never {
    throw error
  },
}

/** Of an answer that is a promise already. */
export function handleReply<R, T>(answer: Promise<R>, handler: ReplyHandler<R, T>): Promise<T> {
  return answer.then(
    (value) => handler.onReply(value),
    (error: unknown) => handler.onError(error),
  )
}
