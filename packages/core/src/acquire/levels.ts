import { Hold, type HoldOwner } from '../hold.js'
import type { NoteRequest } from '../scripts/lock.js'

/** How a level is wanted: without `leaseMs` the watchdog renews. */
export interface LevelRequest {
  readonly leaseMs: number | undefined
  /** 0: it does not wait. */
  readonly waitMs: number | undefined
  /** Taken by `withLock`, which gives it back by itself. */
  readonly ofCallback: boolean
  /** See `AcquireTerms`. */
  readonly note?: NoteRequest | undefined
}

/** The holds of one acquisition that have not been given back, in the order they were taken. */
export class Levels {
  private holds: Hold[] = []

  get count(): number {
    return this.holds.length
  }

  /** Whether a `withLock` that is still inside is among them. */
  get anyOfCallback(): boolean {
    return this.holds.some((hold) => hold.ofCallback && !hold.wasReleased)
  }

  get anyWatched(): boolean {
    return this.holds.some((hold) => hold.watched)
  }

  /**
   * The one that a plain `unlock()` means: the latest taken by hand, else the latest. One whose release is under
   * way is spoken for: two `unlock()`s at the same time give back two levels.
   */
  get latest(): Hold | undefined {
    const held = this.holds.filter((hold) => !hold.wasReleased)
    return held.findLast((hold) => !hold.ofCallback) ?? held.at(-1)
  }

  add(owner: HoldOwner, { leaseMs, ofCallback }: LevelRequest): Hold {
    const hold = new Hold(owner, leaseMs === undefined, ofCallback)
    if (this.holds.length === 0) {
      // An empty array would make room for sixteen: most acquisitions have one level.
      this.holds = [hold]
    } else {
      this.holds.push(hold)
    }
    return hold
  }

  remove(hold: Hold): void {
    const index = this.holds.lastIndexOf(hold)
    if (index >= 0) {
      this.holds.splice(index, 1)
    }
  }
}
