import type { EntryServices, Holder, LockEntry } from '../entry/lock-entry.js'

/**
 * Re-entry without a round trip (option `localReentry`). Levels are added and released in memory; the count in Redis
 * follows once per tick. The risks, and why they are harmless:
 *
 * - The lock is gone, and this client has not noticed: as for any hold between two replies. The update of the count
 *   then finds no lock, and every level is lost. So trust is checked first, and with little of it left a round trip
 *   is made.
 * - The update gets no reply: the count is absolute, and is written again until there is one (I2).
 * - The last level is released during the update: the release waits for its turn, and deletes whatever count there
 *   is.
 * - The lock would be passed on while the count is behind: passing on requires a known count of one.
 */
export class LocalReentry {
  /** Owners with levels that were added or released, and that Redis does not have yet. */
  private readonly behind = new Set<Holder>()

  constructor(private readonly services: Pick<EntryServices, 'background' | 'runtime'>) {}

  /** Updates the count in Redis to that of the levels: once for all changes of a tick. */
  followSoon(entry: LockEntry, holder: Holder): void {
    if (!this.behind.has(holder)) {
      this.behind.add(holder)
      this.services.runtime.afterTurn(() => this.services.background.run(this.follow(entry, holder)))
    }
  }

  private async follow(entry: LockEntry, holder: Holder): Promise<void> {
    try {
      const reply = await entry.serial.runExclusive(() => {
        this.behind.delete(holder)
        return holder.isOver ? Promise.resolve(null) : entry.releaseUntilKnown(holder, Infinity)
      })
      if (reply?.kind === 'not-held') {
        holder.lease.lose('gone')
      }
    } catch {
      // Every lease must have ended by then, and with it the trust in the hold.
    }
  }
}
