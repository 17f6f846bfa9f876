import type { Redis } from 'ioredis'
import { eventually, keysLeft } from './sides.js'
import { has, setting } from './setting.js'
import type { Kind, Side } from './side.js'

type Pairing = readonly [Side['language'], Side['language']]

const acrossLanguages: readonly Pairing[] = [
  ['java', 'node'],
  ['node', 'java'],
]
const withinOne: readonly Pairing[] = [
  ['java', 'java'],
  ['node', 'node'],
]

const isSmoke = setting.mode === 'smoke'

/** Who has a lock, and who wants it. Those within one language are what the others are compared with. */
export const pairings: readonly Pairing[] =
  isSmoke || !setting.withinOne ? acrossLanguages : [...acrossLanguages, ...withinOne]

/** One kind of lock, or two that exclude each other. */
export interface Row {
  readonly name: string
  readonly held: Kind
  readonly wanted: Kind
  /** The answer of `isLocked` of the wanted one while the other is held; undefined: Redisson cannot be asked. */
  readonly seen: boolean | undefined
  readonly reenters: boolean
  readonly forces: boolean
  /** Hold counts as Redis has them. */
  counts(redis: Redis, name: string): Promise<number[]>
  levels(count: number): number[]
  untilWaiting(redis: Redis, name: string): Promise<void>
  left(redis: Redis): Promise<string[]>
}

const subscribed = (channelOf: (name: string) => string) => (redis: Redis, name: string) =>
  eventually(async () => Number((await redis.pubsub('NUMSUB', channelOf(name)))[1]) > 0)

const numbersIn = async (redis: Redis, name: string): Promise<number[]> =>
  Object.entries(await redis.hgetall(name))
    .filter(([field]) => field !== 'mode')
    .map(([, count]) => Number(count))

const plain: Row = {
  name: 'lock',
  held: 'lock',
  wanted: 'lock',
  seen: true,
  reenters: true,
  forces: true,
  counts: numbersIn,
  levels: (count) => [count],
  untilWaiting: subscribed((name) => `redisson_lock__channel:{${name}}`),
  left: keysLeft,
}

const fair: Row = {
  ...plain,
  name: 'fair lock',
  held: 'fair',
  wanted: 'fair',
  // In line, and Java also listens to its own channel by then, or its turn would be told to nobody.
  untilWaiting: async (redis, name) => {
    await eventually(async () => (await redis.llen(`redisson_lock_queue:{${name}}`)) > 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
  },
}

const spin: Row = {
  ...plain,
  name: 'spin lock',
  held: 'spin',
  wanted: 'spin',
  // Nobody can see that somebody waits. It is long enough for a first question.
  untilWaiting: () => new Promise((resolve) => setTimeout(resolve, 50)),
}

/** Two locks, the name and one more. Redisson's takes and releases them one by one, and cannot be asked anything. */
const multi: Row = {
  ...plain,
  name: 'multi lock',
  held: 'multi',
  wanted: 'multi',
  seen: undefined,
  forces: false,
}

const readWrite = { ...plain, untilWaiting: subscribed((name) => `redisson_rwlock:{${name}}`) }

const everyRow: readonly Row[] = [
  plain,
  fair,
  { ...plain, name: 'fenced lock', held: 'fenced', wanted: 'fenced' },
  spin,
  multi,
  { ...plain, name: 'non-reentrant lock', held: 'non-reentrant', wanted: 'non-reentrant', reenters: false },
  { ...readWrite, name: 'write lock, for a writer', held: 'write', wanted: 'write' },
  { ...readWrite, name: 'write lock, for a reader', held: 'write', wanted: 'read', seen: false },
  { ...readWrite, name: 'read lock, for a writer', held: 'read', wanted: 'write', seen: false },
]

/** The rows of the kinds that this Redisson has. */
export const rows: readonly Row[] = (isSmoke ? [plain, fair] : everyRow).filter(({ held }) => has(held))
