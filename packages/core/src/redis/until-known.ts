import { RedisUnavailableError, WrongTypeError } from '../errors.js'
import { codeOf } from './failures.js'
import { backOffMs, type Clock, type Runtime } from '../runtime/runtime.js'

const PAUSES = { firstMs: 50, longestMs: 1_000 }
/**
 * Pause before a release queued in the application's transaction is sent once more: most transactions are over by
 * then.
 */
export const AFTER_A_TRANSACTION_MS = 1_000

export interface RetryLimits {
  readonly runtime: Runtime
  /** Monotonic time after which a failure is final. */
  readonly giveUpAt: number
  /** When aborted, the next failure is final, and a pause ends at once. */
  readonly signal: AbortSignal
}

/** Whether the same command may get a reply if it is sent again. */
export function isWorthRetrying(error: unknown): error is RedisUnavailableError {
  return error instanceof RedisUnavailableError && error.transient
}

/** Whether the error is Redis's own reply. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof WrongTypeError || (error instanceof RedisUnavailableError && error.outcome === 'refused')
  )
}

/** Whether Redis has answered that this user has no right to it: no copy of the command is on its way. */
export function isForbidden(error: unknown): boolean {
  const { cause } = error instanceof RedisUnavailableError ? error : { cause: undefined }
  return cause instanceof Error && codeOf(cause) === 'NOPERM'
}

/**
 * Retries a replay-safe command until its outcome is known: a reply, or an error that a retry would not change. The
 * pauses grow from 50 ms to 1 s, with jitter.
 */
export async function untilKnown<T>(
  command: () => Promise<T>,
  { runtime, giveUpAt, signal }: RetryLimits,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await command()
    } catch (error) {
      const left = giveUpAt - runtime.now()
      if (!isWorthRetrying(error) || left <= 0 || signal.aborted) {
        throw error
      }
      await pause(Math.min(left, backOffMs(PAUSES, tries, runtime.random())), runtime, signal)
    }
  }
}

/** Resolves after the delay, or as soon as the signal aborts. */
export function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = clock.setTimer(delayMs, finish)
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted) {
      finish()
    }
  })
}
