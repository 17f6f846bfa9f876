import type { LockClient } from '@holdfast/core'
import { observe, type LockObserver, type SeenLock } from '@holdfast/core/observe'

export interface FindOptions {
  /** A pattern of names, as of SCAN: `order:*`. */
  readonly pattern: string
  /** The most locks that are returned. */
  readonly limit: number
  readonly signal: AbortSignal
}

export interface Found {
  readonly locks: readonly SeenLock[]
  /** False: the limit ended the search. */
  readonly complete: boolean
}

// Redis is blocked during a step.
const KEYS_A_STEP = 200
const MOST_WAITERS = 1_000

/** Finds held locks. It takes none, and listens to no lock's channel: a listener there changes how a lock is granted. */
export class LockFinder {
  private readonly observer: LockObserver

  constructor(locks: LockClient) {
    this.observer = observe(locks)
  }

  /**
   * Nothing is guessed about a name that is asked for, and no error is an answer.
   * @returns undefined: it is free
   * @throws WrongTypeError; RedisUnavailableError also if this user may not read all keys of the lock
   */
  async one(name: string): Promise<SeenLock | undefined> {
    return this.observer.ask(name, MOST_WAITERS)
  }

  /** Goes through all keys once: the longer the more there are. */
  async all({ pattern, limit, signal }: FindOptions): Promise<Found> {
    const locks = new Map<string, SeenLock>()
    const wanted = matcherOf(pattern)
    for (;;) {
      signal.throwIfAborted()
      const { names, endsPass } = await this.observer.scan(KEYS_A_STEP)
      const found = await this.observer.look(names.filter((name) => wanted(name) && !locks.has(name)))
      found.forEach((lock, name) => locks.set(name, lock))
      if (endsPass || locks.size >= limit) {
        return { locks: [...locks.values()].slice(0, limit), complete: endsPass && locks.size <= limit }
      }
    }
  }
}

const SPECIAL = /[.+^${}()|\\/]/g

/** Redis's pattern: `*`, `?`, `[a-z]`, `[^a]`, and a backslash before what is meant as it is. */
export function matcherOf(pattern: string): (name: string) => boolean {
  const source = pattern.replaceAll(
    /\\(.)|\[(\^?)([^\]]*)\]|\*|\?|./gsu,
    (part, escaped?: string, not?: string, set?: string) => {
      if (escaped !== undefined) {
        return literal(escaped)
      }
      if (set !== undefined) {
        return `[${not ?? ''}${membersIn(set)}]`
      }
      return part === '*' ? '.*' : part === '?' ? '.' : literal(part)
    },
  )
  const expression = new RegExp(`^(?:${source})$`, 'su')
  return (name) => expression.test(name)
}

/** Single characters and ranges; a range that is upside down means the same to Redis. */
function membersIn(set: string): string {
  return set.replaceAll(/(.)-(.)|./gsu, (one, from?: string, to?: string) => {
    if (from === undefined || to === undefined) {
      return unit(one)
    }
    return from <= to ? `${unit(from)}-${unit(to)}` : `${unit(to)}-${unit(from)}`
  })
}

function unit(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`
}

function literal(text: string): string {
  return text.replaceAll(SPECIAL, String.raw`\$&`).replaceAll(/[[\]*?]/g, String.raw`\$&`)
}
