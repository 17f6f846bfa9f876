import type { RedisServer } from '@holdfast/faults/harness'
import type { SeededRandom } from '../harness/seeded-random.js'
import { tokensOf } from './lock-kinds.js'

/** A key of a lock or a semaphore, and what is gone with it. */
export interface VanishingKey {
  readonly key: string
  /** The purpose of the key. */
  readonly part: Part
  readonly lock: string
  readonly class: 'data-loss' | 'lock-loss' | 'disturbance'
}

/**
 * Names as `keys.ts` of core builds them, for names without braces. Not among them: the number of a semaphore's permits,
 * and the ends of permits. Nobody but its owner knows how many there were.
 */
const PATTERNS = {
  hash: /^((?:plain|counter|time|fair|read-write|spin|multi):\d+)(?::second)?$/,
  queue: /^redisson_lock_queue:\{(.+)\}$/,
  timeouts: /^redisson_lock_timeout:\{(.+)\}$/,
  arrivals: /^holdfast:arrivals:\{(.+)\}$/,
  heartbeats: /^holdfast:heartbeats:\{(.+)\}$/,
  line: /^holdfast:line:\{(.+?)(?::second)?\}$/,
  writers: /^holdfast:writers:\{(.+)\}$/,
  note: /^holdfast:note:\{(.+?)(?::second)?\}$/,
  tombstone: /^holdfast:latch:\{(.+?)(?::second)?\}:/,
  'reader time-out': /^\{(.+)\}:.*:rwlock_timeout:\d+$/,
  'token counter': /^redisson_lock_token:\{(.+)\}$/,
  operations: /^holdfast:operations:\{(.+)\}:/,
}

export type Part = keyof typeof PATTERNS

export const PARTS = Object.keys(PATTERNS) as Part[]

/** A reader without its time-out is taken for dead. Tokens by the clock go on growing without their counter. */
const classOf = (part: Part, lock: string): VanishingKey['class'] => {
  if (part === 'hash' || part === 'reader time-out') return 'lock-loss'
  return part === 'token counter' && tokensOf(lock) === 'counter' ? 'data-loss' : 'disturbance'
}

const readKey = (key: string): VanishingKey[] =>
  PARTS.flatMap((part) => {
    const lock = PATTERNS[part].exec(key)?.[1]
    return lock === undefined ? [] : [{ key, part, lock, class: classOf(part, lock) }]
  })

/** One of these, of any part as often as of any other. */
export const someKeyOf = (keys: readonly string[], random: SeededRandom): VanishingKey | undefined => {
  const known = [...keys].sort().flatMap(readKey)
  const parts = PARTS.filter((part) => known.some((each) => each.part === part))
  if (parts.length === 0) return undefined
  const part = random.pick(parts)
  return random.pick(known.filter((each) => each.part === part))
}

/** One that is there now. */
export const someKey = async (redis: RedisServer, random: SeededRandom): Promise<VanishingKey | undefined> =>
  someKeyOf((await redis.command('KEYS', '*')) as string[], random)

/** Takes a key away: by a DEL, or by the end of its time to live. */
export const vanish = async (redis: RedisServer, random: SeededRandom, key: string): Promise<void> => {
  if (random.chance(0.5)) await redis.command('DEL', key)
  else await redis.command('PEXPIRE', key, 1)
}
