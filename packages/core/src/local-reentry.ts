import type { Acquisition } from './acquisition.js'
import { isWellTrusted } from './lease-of-hold.js'
import { afterThisTick } from './system-clock.js'

/*
 * Re-entry without a round trip (option `localReentry`). Levels are added and given back in memory; the count in Redis
 * follows once a tick. What could go wrong, and what holds:
 *
 * - The lock is gone, and nobody here knows yet: as for any hold between two answers. The count finds nothing to
 *   follow to, and every level is told. So trust is looked at first, and a round trip is made where little is left.
 * - The count has no answer: it is absolute, and is written again until it has one (I2).
 * - The last level is released while the count is on its way: the release waits for its turn, and deletes whatever
 *   count there is.
 * - The lock is passed on while the count is behind: it is not; that needs a count of one, for certain.
 */

/** Whether a level may be had, or given back, without asking Redis. */
export function reentersLocally({ protocol, watch, isOver, ttlMs }: Acquisition): boolean {
  return (
    protocol.reentersLocally &&
    !isOver &&
    watch?.renewing === true &&
    isWellTrusted(watch.trustedForMs, ttlMs)
  )
}

/** Lets the count in Redis follow that of the levels: once for all of a tick. */
export function followCountSoon(acquisition: Acquisition): void {
  if (!acquisition.countIsBehind) {
    acquisition.countIsBehind = true
    afterThisTick(() => acquisition.session.background.run(follow(acquisition)))
  }
}

async function follow(acquisition: Acquisition): Promise<void> {
  const { commands, levels } = acquisition
  try {
    const reply = await commands.oneAtATime(() => {
      acquisition.countIsBehind = false
      return acquisition.isOver
        ? Promise.resolve(null)
        : commands.writeUntilKnown(levels, Number.POSITIVE_INFINITY)
    })
    if (reply?.kind === 'not-held') {
      acquisition.lose('gone')
    }
  } catch {
    // Every lease must have ended by then, and with it the trust in the hold.
  }
}
