/** The map's value: the Map's tables refer to it instead of the user's object. */
interface Entry<V> {
  value: V | undefined
}

/** Empty entries kept, in addition to one per present key. */
const SPARE = 32

/**
 * A Map for entries that come and go many thousand times a second. V8's Map is rebuilt after a number of changes, and the
 * old table points to the new one. One dead table that has survived two young-generation collections keeps all later
 * tables alive, with everything they referred to, until the next full collection: young objects would be copied
 * instead of dropped. So an entry is emptied when it is deleted. It stays for a while, because the same keys often
 * return.
 */
export class ChurnMap<K, V extends object> {
  private readonly entries = new Map<K, Entry<V>>()
  private count = 0

  /** Number of entries that are there. */
  get size(): number {
    return this.count
  }

  /** Returns whether the key has a value. */
  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  /** Returns the value of the key. */
  get(key: K): V | undefined {
    return this.entries.get(key)?.value
  }

  /** Sets the value of the key. */
  set(key: K, value: V): void {
    const entry = this.entries.get(key)
    if (entry?.value === undefined) {
      this.count += 1
    }
    if (entry) {
      entry.value = value
    } else {
      this.entries.set(key, { value })
    }
  }

  /** Removes the key; with `value`, only if that is its value. @returns whether it was there */
  delete(key: K, value?: V): boolean {
    const entry = this.entries.get(key)
    if (entry?.value === undefined || (value !== undefined && entry.value !== value)) {
      return false
    }
    entry.value = undefined
    this.count -= 1
    if (this.entries.size > 2 * this.count + SPARE) {
      this.sweep()
    }
    return true
  }

  /** A copy: the map may change during the iteration. */
  get all(): V[] {
    const values = []
    for (const { value } of this.entries.values()) {
      if (value) {
        values.push(value)
      }
    }
    return values
  }

  private sweep(): void {
    for (const [key, { value }] of this.entries) {
      if (value === undefined) {
        this.entries.delete(key)
      }
    }
  }
}
