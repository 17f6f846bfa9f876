/** Synchronous handlers for a reply; like `then`, without another promise. */
export interface ReplyHandler<R, T> {
  onReply(value: R): T
  onError(error: unknown): T | Promise<T>
}

/** Passes the reply on unchanged. */
export const identity = {
  onReply: <R>(value: R): R => value,
  onError(error: unknown): never {
    throw error
  },
}

/** Handles a reply that is a promise already. */
export function handleReply<R, T>(answer: Promise<R>, handler: ReplyHandler<R, T>): Promise<T> {
  return answer.then(
    (value) => handler.onReply(value),
    (error: unknown) => handler.onError(error),
  )
}
