import type { Hold } from './hold.js'

/** The holds of one acquisition that have not been given back. */
export class Levels {
  private readonly holds = new Set<Hold>()

  get count(): number {
    return this.holds.size
  }

  get anyWatched(): boolean {
    for (const hold of this.holds) {
      if (hold.watched) {
        return true
      }
    }
    return false
  }

  /** The one that a plain `unlock()` means: the latest taken by hand, else the latest. */
  get latest(): Hold | undefined {
    const holds = [...this.holds]
    return holds.findLast((hold) => !hold.ofCallback) ?? holds.at(-1)
  }

  add(hold: Hold): Hold {
    this.holds.add(hold)
    return hold
  }

  remove(hold: Hold): void {
    this.holds.delete(hold)
  }
}
