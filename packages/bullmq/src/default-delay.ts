const LEAST_MS = 50
const MOST_MS = 1_000

/**
 * The default delay of a job: doubled with each start, from 50 ms to 1 s, less a random part of up to a half. Without
 * that part, jobs that conflict together return together, and all but one conflict again, although the lock is free
 * in between.
 * @param started how often the job was started, this time included
 * @param random from 0 to 1
 */
export function defaultDelay(started: number, random: number): number {
  const longest = Math.min(MOST_MS, LEAST_MS * 2 ** Math.max(0, started - 1))
  return Math.round(longest * (1 - random / 2))
}
