import { firstIndex } from './first-index.js'

interface Entry<Value, Item> {
  readonly atMs: number
  readonly value: Value
  readonly item: Item
}

/**
 * Items that arrive in order of time; answers which of those after a given moment has the greatest value.
 * An item that a later one equals or exceeds can never be the answer again, so it is dropped.
 */
export class LatestMaximum<Value extends number | bigint, Item> {
  readonly #entries: Entry<Value, Item>[] = []

  push(atMs: number, value: Value, item: Item): void {
    let last = this.#entries.at(-1)
    while (last !== undefined && last.value <= value) {
      this.#entries.pop()
      last = this.#entries.at(-1)
    }
    this.#entries.push({ atMs, value, item })
  }

  /** Among the items later than `ms`. */
  after(ms: number): Item | undefined {
    const entries = this.#entries
    return entries[firstIndex(entries.length, (index) => (entries[index]?.atMs ?? Infinity) > ms)]?.item
  }
}
