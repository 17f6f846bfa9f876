/** What becomes of an answer before whoever waits for it hears of it: what `then` does, without one promise more. */
export interface Reading<R, T> {
  read(value: R): T
  fail(error: unknown): T | Promise<T>
}

/** The answer is what the script says. */
export const AS_IT_IS = {
  read: <R>(value: R): R => value,
  fail(error: unknown): never {
    throw error
  },
}

/** Of an answer that is a promise already. */
export function readWith<R, T>(answer: Promise<R>, reading: Reading<R, T>): Promise<T> {
  return answer.then(
    (value) => reading.read(value),
    (error: unknown) => reading.fail(error),
  )
}
