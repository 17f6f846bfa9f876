import { wrongType } from './reply.js'
import { SortedSet } from './sorted-set.js'

export type Hash = Map<string, string>
export type List = string[]
export type Value = string | Hash | List | SortedSet

/** The server's wall clock: ms since 1970, with fractions. */
export interface ServerClock {
  now(): number
}

interface Entry {
  /** In the order in which keys came: what SCAN goes by. */
  readonly number: number
  value: Value
  /** Ms since 1970; null: it stays. */
  endsAt: number | null
}

/** Keys, values and when they end. */
export class Keyspace {
  private readonly entries = new Map<string, Entry>()
  private made = 0

  constructor(private readonly clock: ServerClock) {}

  /** Whole ms, which expiry goes by. */
  get nowMs(): number {
    return Math.floor(this.clock.now())
  }

  private live(key: string): Entry | undefined {
    const entry = this.entries.get(key)
    if (entry?.endsAt != null && this.nowMs > entry.endsAt) {
      this.entries.delete(key)
      return undefined
    }
    return entry
  }

  get(key: string): Value | undefined {
    return this.live(key)?.value
  }

  has(key: string): boolean {
    return this.live(key) !== undefined
  }

  string(key: string): string | undefined {
    const value = this.get(key)
    return value === undefined || typeof value === 'string' ? value : refuse()
  }

  hash(key: string): Hash | undefined {
    const value = this.get(key)
    return value === undefined || value instanceof Map ? value : refuse()
  }

  list(key: string): List | undefined {
    const value = this.get(key)
    return value === undefined || Array.isArray(value) ? value : refuse()
  }

  sortedSet(key: string): SortedSet | undefined {
    const value = this.get(key)
    return value === undefined || value instanceof SortedSet ? value : refuse()
  }

  /** Keeps the end that the key has. */
  set(key: string, value: Value): void {
    const entry = this.live(key)
    if (entry) {
      entry.value = value
    } else {
      this.made += 1
      this.entries.set(key, { number: this.made, value, endsAt: null })
    }
  }

  delete(key: string): boolean {
    return this.has(key) && this.entries.delete(key)
  }

  /** Nothing is kept of a hash, list or set that has become empty. */
  deleteIfEmpty(key: string): void {
    const value = this.get(key)
    const size = value instanceof Map || value instanceof SortedSet ? value.size : value?.length
    if (size === 0 && typeof value !== 'string') {
      this.entries.delete(key)
    }
  }

  /** Undefined: no key; null: it has no end. */
  endOf(key: string): number | null | undefined {
    return this.live(key)?.endsAt
  }

  setEnd(key: string, endsAt: number | null): void {
    const entry = this.live(key)
    if (entry) {
      entry.endsAt = endsAt
    }
  }

  clear(): void {
    this.entries.clear()
  }

  keys(): string[] {
    return [...this.entries.keys()].filter((key) => this.has(key))
  }

  /** At most `count` keys behind the one of that number, and the number of the last of them; 0: these were all. */
  after(number: number, count: number): { readonly keys: readonly string[]; readonly last: number } {
    const keys: string[] = []
    for (const key of this.keys()) {
      const { number: its } = this.entries.get(key) as Entry
      if (its <= number) {
        continue
      }
      if (keys.length === count) {
        return { keys, last: this.entries.get(keys.at(-1) as string)?.number ?? 0 }
      }
      keys.push(key)
    }
    return { keys, last: 0 }
  }
}

function refuse(): never {
  throw wrongType()
}

export function typeNameOf(value: Value | undefined): string {
  if (value === undefined) {
    return 'none'
  }
  return typeof value === 'string'
    ? 'string'
    : value instanceof Map
      ? 'hash'
      : Array.isArray(value)
        ? 'list'
        : 'zset'
}
