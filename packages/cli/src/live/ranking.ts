import type { SeenLock } from '@holdfast/core/observe'

/** A lock among those that are shown, with what puts it there. Durations in milliseconds. */
export interface Ranked {
  readonly lock: SeenLock
  /** The same holder, by its note or as long as somebody has looked on. */
  readonly heldMs: number
  /** The longest wait. */
  readonly waitedMs: number
}

export interface Ranking {
  readonly held: number
  readonly waiting: number
  readonly contended: readonly Ranked[]
  readonly longestHeld: readonly Ranked[]
  readonly longestWaits: readonly Ranked[]
}

/** Since when each lock has had the holder that it has, as far as somebody has looked on. */
export class HoldTimes {
  private readonly since = new Map<string, { readonly holder: string; readonly at: number }>()

  constructor(private readonly now: () => number) {}

  /** @param locks all that are held */
  rank(locks: readonly SeenLock[], rows: number): Ranking {
    const ranked = locks.map((lock) => this.ranked(lock))
    const names = new Set(locks.map(({ name }) => name))
    for (const name of this.since.keys()) {
      if (!names.has(name)) {
        this.since.delete(name)
      }
    }
    const top = (value: (each: Ranked) => number): readonly Ranked[] =>
      ranked
        .filter((each) => value(each) > 0)
        .sort((a, b) => value(b) - value(a) || (a.lock.name < b.lock.name ? -1 : 1))
        .slice(0, rows)
    return {
      held: locks.length,
      waiting: locks.reduce((sum, { waiting }) => sum + waiting, 0),
      contended: top(({ lock }) => lock.waiting),
      longestHeld: top(({ heldMs }) => heldMs),
      longestWaits: top(({ waitedMs }) => waitedMs),
    }
  }

  private ranked(lock: SeenLock): Ranked {
    const now = this.now()
    const holder = lock.holders[0]?.owner ?? ''
    const before = this.since.get(lock.name)
    const at = before?.holder === holder ? before.at : now
    this.since.set(lock.name, { holder, at })
    const told = Math.max(0, ...lock.holders.map(({ heldForMs = 0 }) => heldForMs))
    const waitedMs = Math.max(0, ...lock.waiters.map((waiter) => waiter.waitedMs ?? 0))
    return { lock, heldMs: Math.max(told, now - at), waitedMs }
  }
}
