import type { LockObserver, SeenLock } from '@holdfast/core/observe'

/** Limits as those of the board: a server with a million keys and ten thousand locks must not notice that somebody looks on. */
const KEYS_A_SECOND = 1_000
const LOOKS_A_SECOND = 1_000
/** Redis is blocked during a step. */
const KEYS_A_STEP = 200
/** All keys are searched again so long after the end of the last search, ms. */
const REST_MS = 1_000

/** Reads that Redis may be asked for by now. */
class Budget {
  private left: number
  private at: number

  constructor(
    private readonly aSecond: number,
    private readonly now: () => number,
  ) {
    this.left = aSecond
    this.at = now()
  }

  /** @returns how many of these may be asked for; a second's worth is the most that is saved up */
  take(wanted: number): number {
    const now = this.now()
    this.left = Math.min(this.aSecond, this.left + ((now - this.at) * this.aSecond) / 1_000)
    this.at = now
    const taken = Math.min(wanted, Math.floor(this.left))
    this.left -= taken
    return taken
  }
}

/** Finds held locks a few keys at a time, and keeps those that it has found up to date. */
export class SpreadSearch {
  /** The first is the one that was looked at longest ago. */
  private readonly known = new Map<string, SeenLock>()
  private readonly candidates = new Set<string>()
  private readonly keys: Budget
  private readonly looks: Budget
  private passEndedAt = Number.NEGATIVE_INFINITY
  private passes = 0
  private keysInPass = 0

  constructor(
    private readonly observer: Pick<LockObserver, 'scan' | 'look'>,
    private readonly wanted: (name: string) => boolean,
    private readonly now: () => number,
  ) {
    this.keys = new Budget(KEYS_A_SECOND, now)
    this.looks = new Budget(LOOKS_A_SECOND, now)
  }

  /** Whether all keys have been searched once. */
  get isComplete(): boolean {
    return this.passes > 0
  }

  /** So far, about. */
  get keysSearched(): number {
    return this.keysInPass
  }

  get found(): readonly SeenLock[] {
    return [...this.known.values()]
  }

  /** Goes on with the search as far as it may. @param first names that are looked at before all others */
  async goOn(first: Iterable<string>): Promise<void> {
    await this.search()
    const names = this.due(first)
    const seen = await this.observer.look(names)
    for (const name of names) {
      this.candidates.delete(name)
      this.known.delete(name)
      const lock = seen.get(name)
      if (lock) {
        this.known.set(name, lock)
      }
    }
  }

  private async search(): Promise<void> {
    for (;;) {
      const isResting = this.keysInPass === 0 && this.now() - this.passEndedAt < REST_MS
      const count = isResting ? 0 : this.keys.take(KEYS_A_STEP)
      if (count === 0) {
        return
      }
      const { names, endsPass } = await this.observer.scan(count)
      names
        .filter((name) => this.wanted(name) && !this.known.has(name))
        .forEach((name) => this.candidates.add(name))
      this.keysInPass += count
      if (endsPass) {
        this.passes += 1
        this.passEndedAt = this.now()
        this.keysInPass = 0
      }
    }
  }

  private due(first: Iterable<string>): string[] {
    const names = [...new Set([...first, ...this.candidates, ...this.known.keys()])]
    return names.slice(0, this.looks.take(names.length))
  }
}
