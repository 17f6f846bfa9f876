import type { Script } from '../scripts/define-script.js'

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

/** One run of a script. */
export interface ScriptCall<T = unknown> {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly string[]
  readonly parse: (reply: unknown) => T
  /**
   * Of a call that may grant a lease: the answer as so many replicas have acknowledged it. Undefined: it grants
   * nothing. Where the client wants replicas to have its leases, an answer that grants one counts when they have it.
   */
  granted?(value: T, replicas: number): T | undefined
  /** For error messages; absent when the call is about many locks. */
  readonly lockName?: string
  /** How long to wait for the answer, ms. Default, and at most: the client's `commandTimeout`. */
  readonly timeoutMs?: number | undefined
}

/** Of an answer that is a promise already. */
export function readWith<R, T>(answer: Promise<R>, reading: Reading<R, T>): Promise<T> {
  return answer.then(
    (value) => reading.read(value),
    (error: unknown) => reading.fail(error),
  )
}
