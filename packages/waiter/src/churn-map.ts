/** What a table of the Map has instead of a value. */
interface Entry<V> {
  value: V | undefined
}

/** So many places are kept for keys that went, beside one for each that is there. */
const SPARE = 32

/**
 * A Map for what comes and goes many thousand times a second. V8's Map makes a new table every so many changes, and the
 * old one points to it. One dead table that has outlived two collections of the young keeps all tables after it, and
 * with them whatever was in one when it was replaced, until the next full collection: the young would be copied instead
 * of dropped. So an entry is emptied when it goes. It keeps its place for a while, because the same keys often come back.
 */
export class ChurnMap<K, V extends object> {
  private readonly entries = new Map<K, Entry<V>>()
  private count = 0

  get size(): number {
    return this.count
  }

  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  get(key: K): V | undefined {
    return this.entries.get(key)?.value
  }

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

  delete(key: K): boolean {
    const entry = this.entries.get(key)
    if (entry?.value === undefined) {
      return false
    }
    entry.value = undefined
    this.count -= 1
    if (this.entries.size > 2 * this.count + SPARE) {
      this.sweep()
    }
    return true
  }

  /** A copy: it may change while somebody walks through it. */
  get all(): V[] {
    const values = []
    for (const { value } of this.entries.values()) {
      if (value) values.push(value)
    }
    return values
  }

  private sweep(): void {
    for (const [key, { value }] of this.entries) {
      if (value === undefined) this.entries.delete(key)
    }
  }
}
