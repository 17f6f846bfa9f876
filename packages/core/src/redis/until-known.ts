import { RedisUnavailableError, WrongTypeError } from '../errors.js'
import { codeOf } from './failures.js'
import { backOffMs, type Clock, type Runtime } from '../runtime/runtime.js'

const PAUSES = { firstMs: 50, longestMs: 1_000 }
/**
 * Pause before a release queued in the application's transaction is sent once more: most transactions are over by
 * then.
 */
export const AFTER_A_TRANSACTION_MS = 1_000

/** The client, as far as its retries need it. */
export interface RetryServices {
  readonly runtime: Runtime
  /** Aborts when the client starts closing. It waits for its retries: a pause ends at once. */
  readonly closing: AbortSignal
  /** Aborts when the client abandons what is still in flight: the next failure is final, and a pause ends at once. */
  readonly abandoned: AbortSignal
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
 * @param giveUpAt monotonic time after which a failure is final
 */
export async function untilKnown<T>(
  command: () => Promise<T>,
  { runtime, closing, abandoned }: RetryServices,
  giveUpAt: number,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await command()
    } catch (error) {
      const left = giveUpAt - runtime.now()
      if (!isWorthRetrying(error) || left <= 0 || abandoned.aborted) {
        throw error
      }
      const pauseMs = Math.min(left, backOffMs(PAUSES, tries, runtime.random()))
      // Once it is closing, pauses last again: Redis may be back before its patience ends.
      await pause(pauseMs, runtime, ...(closing.aborted ? [abandoned] : [abandoned, closing]))
    }
  }
}

/** Resolves after the delay, or as soon as one of the signals aborts. */
export function pause(delayMs: number, clock: Clock, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      timer.cancel()
      signals.forEach((each) => each.removeEventListener('abort', finish))
      resolve()
    }
    const timer = clock.setTimer(delayMs, finish)
    signals.forEach((each) => each.addEventListener('abort', finish))
    if (signals.some((each) => each.aborted)) {
      finish()
    }
  })
}
