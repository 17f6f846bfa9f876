import type { Redis } from 'ioredis'
import type { AnyLock, Lock, MultiLock, ReadWriteLock } from '../../../src/index.js'
import type { Script } from '../../../src/redis/script.js'
import { acquireScript as fairAcquire, releaseScript as fairRelease } from '../../../src/scripts/fair-lock.js'
import { acquireFencedScript as fencedAcquire } from '../../../src/scripts/fenced-lock.js'
import { acquireScript, releaseScript } from '../../../src/scripts/lock.js'
import {
  acquireReadScript as readAcquire,
  releaseReadScript as readRelease,
  acquireWriteScript as writeAcquire,
  releaseWriteScript as writeRelease,
} from '../../../src/scripts/read-write-lock.js'
import { triesSeen } from './tries-seen.js'

/** A client, or a thread of it. */
export interface LockSource {
  getLock(name: string): Lock
  getFairLock(name: string): Lock
  getFencedLock(name: string): Lock
  getSpinLock(name: string): Lock
  getNonReentrantLock(name: string): Lock
  getNonReentrantFairLock(name: string): Lock
  getReadWriteLock(name: string): ReadWriteLock
  getMultiLock(...locks: Lock[]): MultiLock
}

/** All that the tests of every kind of lock have to know about one. */
export interface LockKind {
  readonly name: string
  /** How many locks it takes; the first of them has the name, and the hold its owner. */
  readonly locks: number
  /** The calls of a process that cannot be given `of`, one after another, the first with the name. */
  readonly calls: readonly string[]
  /** The lock that is tested. */
  of(locks: LockSource, name: string): AnyLock
  /** A lock that is refused while somebody else has the tested one, and keeps it out. */
  rivalOf(locks: LockSource, name: string): AnyLock
  /** Whether it is its own rival. */
  readonly excludesItself: boolean
  /** Whether its owner may have it twice. */
  readonly reenters: boolean
  /** Who holds it, and how often. */
  holds(redis: Redis, name: string): Promise<Record<string, string>>
  /** Takes it from its holders without a word, as a Redis does that loses data. */
  vanish(redis: Redis, name: string): Promise<void>
  /** Clients or callers of which Redis knows that they wait for it. */
  waiting(redis: Redis, name: string): Promise<number>
  /** The message of a full release while nobody waits, channel and payload. */
  saidByRelease(name: string): [string, string][]
  /** Owner and hold count are the first two arguments of all. */
  readonly acquireScript: Script
  /** Where a re-entry is another script. */
  readonly reentryScript?: Script
  readonly releaseScript: Script
}

const subscribers = async (redis: Redis, channel: string): Promise<number> =>
  Number((await redis.pubsub('NUMSUB', channel))[1])

/** A lock that keeps out others of its kind, by the call that makes it. */
const by = (call: Exclude<keyof LockSource, 'getReadWriteLock' | 'getMultiLock'>) => {
  const of = (locks: LockSource, name: string): Lock => locks[call](name)
  return { calls: [call], of, rivalOf: of }
}

/** A lock that is one hash and nothing else. */
const hashAlone = {
  locks: 1,
  excludesItself: true,
  reenters: true,
  holds: (redis: Redis, name: string) => redis.hgetall(name),
  vanish: async (redis: Redis, name: string) => {
    await redis.del(name)
  },
}

const lock: LockKind = {
  ...hashAlone,
  name: 'lock',
  ...by('getLock'),
  waiting: (redis, name) => subscribers(redis, `redisson_lock__channel:{${name}}`),
  saidByRelease: (name) => [[`redisson_lock__channel:{${name}}`, '0']],
  acquireScript,
  releaseScript,
}

const fairLock: LockKind = {
  ...hashAlone,
  name: 'fair lock',
  ...by('getFairLock'),
  waiting: (redis, name) => redis.llen(`redisson_lock_queue:{${name}}`),
  saidByRelease: () => [],
  acquireScript: fairAcquire,
  releaseScript: fairRelease,
}

const fencedLock: LockKind = {
  ...lock,
  name: 'fenced lock',
  ...by('getFencedLock'),
  acquireScript: fencedAcquire,
  reentryScript: acquireScript,
}

const spinLock: LockKind = {
  ...lock,
  name: 'spin lock',
  ...by('getSpinLock'),
  waiting: triesSeen,
  saidByRelease: () => [],
}

const nonReentrantLock: LockKind = {
  ...lock,
  name: 'non-reentrant lock',
  ...by('getNonReentrantLock'),
  reenters: false,
}

const nonReentrantFairLock: LockKind = {
  ...fairLock,
  name: 'non-reentrant fair lock',
  ...by('getNonReentrantFairLock'),
  reenters: false,
}

/** The mode beside the holders, and a time-out key for each hold of a reader. */
const readWriteHash = {
  locks: 1,
  holds: async (redis: Redis, name: string) => {
    const fields = Object.entries(await redis.hgetall(name))
    return Object.fromEntries(fields.filter(([field]) => field !== 'mode'))
  },
  vanish: async (redis: Redis, name: string) => {
    await redis.del(name, ...(await redis.keys(`{${name}}:*:rwlock_timeout:*`)))
  },
  waiting: async (redis: Redis, name: string) =>
    (await redis.zcard(`holdfast:writers:{${name}}`)) +
    (await subscribers(redis, `redisson_rwlock:{${name}}`)),
}

const writeLock: LockKind = {
  ...readWriteHash,
  name: 'write lock',
  calls: ['getReadWriteLock', 'writeLock'],
  of: (locks, name) => locks.getReadWriteLock(name).writeLock(),
  rivalOf: (locks, name) => locks.getReadWriteLock(name).writeLock(),
  excludesItself: true,
  reenters: true,
  saidByRelease: (name) => [
    [`redisson_rwlock:{${name}}`, '1'],
    [`redisson_rwlock:{${name}}`, '00'],
  ],
  acquireScript: writeAcquire,
  releaseScript: writeRelease,
}

const readLock: LockKind = {
  ...writeLock,
  name: 'read lock',
  calls: ['getReadWriteLock', 'readLock'],
  of: (locks, name) => locks.getReadWriteLock(name).readLock(),
  excludesItself: false,
  saidByRelease: (name) => [[`redisson_rwlock:{${name}}`, '0']],
  acquireScript: readAcquire,
  releaseScript: readRelease,
}

const second = (name: string): string => `${name}:second`

const multiLock: LockKind = {
  ...lock,
  name: 'multi lock',
  locks: 2,
  of: (locks, name) => locks.getMultiLock(locks.getLock(name), locks.getLock(second(name))),
  rivalOf: (locks, name) => locks.getMultiLock(locks.getLock(name), locks.getLock(second(name))),
  vanish: async (redis, name) => {
    await redis.del(name, second(name))
  },
}

/** Every kind of lock is one row. */
const everyKind: readonly LockKind[] = [
  lock,
  fairLock,
  fencedLock,
  writeLock,
  readLock,
  spinLock,
  nonReentrantLock,
  nonReentrantFairLock,
  multiLock,
]

/** Set in jest.config.js. What a kind asks of the client that carries it, all do: elsewhere the first is enough. */
export const { everyLockKind } = globalThis as { everyLockKind?: boolean }

export const lockKinds = everyLockKind ? everyKind : everyKind.slice(0, 1)

/** Those of which two owners never have one at the same time. */
export const exclusiveKinds = lockKinds.filter((kind) => kind.excludesItself)

/** Those whose owner may have one twice. The others send what these send: what takes long is asked of these alone. */
export const reentrantKinds = lockKinds.filter((kind) => kind.reenters)

/** The others. They have a test file of their own, which every client runs. */
export const nonReentrantKinds = everyKind.filter((kind) => !kind.reenters)
