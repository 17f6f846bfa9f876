import type { LineSetting } from './line-setting.js'
import type { Attempt } from './wait-request.js'

const firstPauseMs = 50
/** However long a resync interval is: a server that answers with errors does not tell when it takes commands again. */
const longestPauseMs = 1_000

/** The pause after a refusal, ms: the hint, at most a resync interval, and never a busy loop. */
export function pauseAfterRefusal(retryAfterMs: number | undefined, resyncIntervalMs: number): number {
  // Negative numbers and NaN fail the comparison: an unknown hint must not cause a loop of 1 ms.
  if (retryAfterMs === undefined || !(retryAfterMs >= 0)) {
    return resyncIntervalMs
  }
  return Math.min(Math.max(retryAfterMs, 1), resyncIntervalMs)
}

/**
 * The pause after the `failures`-th attempt in a row without a reply, ms: doubles, up to a resync interval or a
 * second. `random` in [0, 1) spreads clients that lost the same server at the same moment.
 */
export function pauseAfterFailure(failures: number, resyncIntervalMs: number, random: number): number {
  const growing = Math.min(firstPauseMs * 2 ** Math.max(failures - 1, 0), resyncIntervalMs, longestPauseMs)
  return Math.max(growing * (0.5 + random / 2), 1)
}

/** The head's pause after an attempt, ms. `failures`: attempts in a row without a reply. */
export function pauseAfter(
  answer: Attempt<unknown>,
  failures: number,
  { random, resyncIntervalMs }: Pick<LineSetting, 'random' | 'resyncIntervalMs'>,
): number {
  return answer.kind === 'unavailable'
    ? pauseAfterFailure(failures, resyncIntervalMs, random())
    : pauseAfterRefusal(answer.retryAfterMs, resyncIntervalMs)
}
