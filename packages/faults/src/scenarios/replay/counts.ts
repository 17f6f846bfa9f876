import { sum } from '../../run/table.js'

/** How often something was done. */
export class Counts {
  readonly #counts = new Map<string, number>()

  add(key: string, times = 1): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + times)
  }

  get sum(): number {
    return sum(this.#counts.values())
  }

  static total(all: readonly Counts[]): Counts {
    const total = new Counts()
    for (const { entries } of all) for (const [key, times] of entries) total.add(key, times)
    return total
  }

  get entries(): [string, number][] {
    return [...this.#counts].toSorted(([a], [b]) => a.localeCompare(b))
  }

  toString(): string {
    return this.entries.map(([what, times]) => `${what} ${times}`).join(' · ')
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.entries)
  }
}
