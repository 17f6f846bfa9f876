const LEAST_MS = 50
const MOST_MS = 1_000

/**
 * How long a job stays delayed where nobody says: twice as long after each start, from 50 ms to 1 s, less a random part
 * of up to a half. Without that part jobs that were refused together come back together, and all but one are refused
 * again, while nobody has the resource in between.
 * @param started how often the job was started, this time included
 * @param random from 0 to 1
 */
export function defaultDelay(started: number, random: number): number {
  const longest = Math.min(MOST_MS, LEAST_MS * 2 ** Math.max(0, started - 1))
  return Math.round(longest * (1 - random / 2))
}
