import type { Redis } from 'ioredis'
import type { Lock } from '../../../src/index.js'
import type { Script } from '../../../src/scripts/define-script.js'
import { acquireScript as fairAcquire } from '../../../src/scripts/fair-lock/acquire.js'
import { releaseScript as fairRelease } from '../../../src/scripts/fair-lock/release.js'
import { acquireScript } from '../../../src/scripts/lock/acquire.js'
import { releaseScript } from '../../../src/scripts/lock/release.js'

/** A client, or a thread of it. */
export interface LockSource {
  getLock(name: string): Lock
  getFairLock(name: string): Lock
}

/** What the tests of every kind of lock have to know about one. */
export interface LockKind {
  readonly name: string
  /** What a process that cannot be given `of` calls, one after another, the first with the name. */
  readonly calls: readonly string[]
  /** The lock that is tested. */
  of(locks: LockSource, name: string): Lock
  /** A lock that is refused while somebody else has the tested one, and keeps it out. */
  rivalOf(locks: LockSource, name: string): Lock
  /** Whether it is its own rival. */
  readonly excludesItself: boolean
  /** Clients or callers of which Redis knows that they wait for it. */
  waiting(redis: Redis, name: string): Promise<number>
  /** What a full release publishes while nobody waits, channel and payload. */
  saidByRelease(name: string): [string, string][]
  /** Owner and hold count are the first two arguments of both. */
  readonly acquireScript: Script
  readonly releaseScript: Script
}

const lock: LockKind = {
  name: 'lock',
  calls: ['getLock'],
  of: (locks, name) => locks.getLock(name),
  rivalOf: (locks, name) => locks.getLock(name),
  excludesItself: true,
  waiting: async (redis, name) =>
    Number((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`))[1]),
  saidByRelease: (name) => [[`redisson_lock__channel:{${name}}`, '0']],
  acquireScript,
  releaseScript,
}

const fairLock: LockKind = {
  name: 'fair lock',
  calls: ['getFairLock'],
  of: (locks, name) => locks.getFairLock(name),
  rivalOf: (locks, name) => locks.getFairLock(name),
  excludesItself: true,
  waiting: (redis, name) => redis.llen(`redisson_lock_queue:{${name}}`),
  saidByRelease: () => [],
  acquireScript: fairAcquire,
  releaseScript: fairRelease,
}

/** Every kind of lock is one row. */
export const lockKinds: readonly LockKind[] = [lock, fairLock]

/** Those of which two owners never have one at the same time. */
export const exclusiveKinds = lockKinds.filter((kind) => kind.excludesItself)
