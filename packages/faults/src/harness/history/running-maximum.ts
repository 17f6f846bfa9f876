import { firstIndex } from './first-index.js'

interface Entry<Item> {
  readonly atMs: number
  readonly value: number
  readonly item: Item
}

/** Items that arrive in order of time; answers which of those up to a given moment has the greatest value. */
export class RunningMaximum<Item> {
  /** Only those that were the greatest when they came. */
  readonly #entries: Entry<Item>[] = []

  push(atMs: number, value: number, item: Item): void {
    const greatest = this.#entries.at(-1)
    if (greatest === undefined || value >= greatest.value) this.#entries.push({ atMs, value, item })
  }

  /** Among the items up to, and at, `ms`. */
  upTo(ms: number): Item | undefined {
    const entries = this.#entries
    const after = firstIndex(entries.length, (index) => (entries[index]?.atMs ?? Infinity) > ms)
    return entries[after - 1]?.item
  }
}
