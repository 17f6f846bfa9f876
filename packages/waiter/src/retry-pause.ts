import type { LineSetting } from './line-setting.js'
import type { Attempt } from './wait-request.js'

const firstPauseMs = 50

/** Milliseconds to sleep after a refusal: the hint, but no longer than a resync and never a busy loop. */
export function pauseAfterRefusal(retryAfterMs: number | undefined, resyncIntervalMs: number): number {
  // Negative and NaN fail the comparison: a caller's "unknown" must not turn into a loop of 1 ms.
  if (retryAfterMs === undefined || !(retryAfterMs >= 0)) return resyncIntervalMs
  return Math.min(Math.max(retryAfterMs, 1), resyncIntervalMs)
}

/**
 * Milliseconds to sleep after the `failures`-th attempt in a row that nobody answered: doubles,
 * up to a resync. `random` in [0, 1) spreads clients that lost the same server at the same moment.
 */
export function pauseAfterFailure(failures: number, resyncIntervalMs: number, random: number): number {
  const growing = Math.min(firstPauseMs * 2 ** Math.max(failures - 1, 0), resyncIntervalMs)
  return Math.max(growing * (0.5 + random / 2), 1)
}

/** How long the head sleeps after an answer, ms. `failures`: how many in a row were none. */
export function pauseAfter(
  answer: Attempt<unknown>,
  failures: number,
  { random, resyncIntervalMs }: Pick<LineSetting, 'random' | 'resyncIntervalMs'>,
): number {
  return answer.kind === 'unavailable'
    ? pauseAfterFailure(failures, resyncIntervalMs, random())
    : pauseAfterRefusal(answer.retryAfterMs, resyncIntervalMs)
}
