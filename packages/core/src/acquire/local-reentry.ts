import type { EntryServices, LockEntry } from '../entry/lock-entry.js'
import type { Holder } from '../entry/named-entry.js'

/**
 * Re-entry without a round trip (option `localReentry`). Levels are added and given back in memory; the count in Redis
 * follows once a tick. What could go wrong, and what holds:
 *
 * - The lock is gone, and nobody here knows yet: as for any hold between two answers. The count finds nothing to
 *   follow to, and every level is told. So trust is looked at first, and a round trip is made where little is left.
 * - The count has no answer: it is absolute, and is written again until it has one (I2).
 * - The last level is released while the count is on its way: the release waits for its turn, and deletes whatever
 *   count there is.
 * - The lock is handed over while the count is behind: it is not; that needs a count of one, for certain.
 */
export class LocalReentry {
  /** Levels were added or given back here that Redis has not heard of. */
  private isBehind = false

  constructor(
    private readonly entry: LockEntry,
    private readonly holder: Holder,
    private readonly services: Pick<EntryServices, 'background' | 'runtime'>,
  ) {}

  /** Lets the count in Redis follow that of the levels: once for all of a tick. */
  followSoon(): void {
    if (!this.isBehind) {
      this.isBehind = true
      this.services.runtime.afterTurn(() => this.services.background.run(this.follow()))
    }
  }

  private async follow(): Promise<void> {
    const { entry, holder } = this
    try {
      const reply = await entry.runExclusive(() => {
        this.isBehind = false
        return holder.isOver ? Promise.resolve(null) : entry.releaseUntilKnown(holder, Infinity)
      })
      if (reply?.kind === 'not-held') {
        holder.lose('gone')
      }
    } catch {
      // Every lease must have ended by then, and with it the trust in the hold.
    }
  }
}
