import { describe, expect, it } from '@jest/globals'
import { LockClient } from '@holdfast/core'
import { getShare } from '@holdfast/core/share'
import { TestRedis } from '../../src/index.js'

type Of = (
  locks: LockClient,
  name: string,
) => { tryAcquire(): Promise<{ release(): Promise<unknown> } | null> }

const KINDS: [string, Of][] = [
  ['plain', (locks, name) => locks.getLock(name)],
  ['fair', (locks, name) => locks.getFairLock(name)],
  ['fenced', (locks, name) => locks.getFencedLock(name)],
  ['spin', (locks, name) => locks.getSpinLock(name)],
  ['non-reentrant', (locks, name) => locks.getNonReentrantLock(name)],
  ['non-reentrant fair', (locks, name) => locks.getNonReentrantFairLock(name)],
  ['read', (locks, name) => locks.getReadWriteLock(name).readLock()],
  ['write', (locks, name) => locks.getReadWriteLock(name).writeLock()],
]

/** A client, and `x` as a server leaves a hash whose last field has ended by a time of its own, until it removes the key. */
function afterLastField(name: string, leaseMs: number | null): { redis: TestRedis; locks: LockClient } {
  const redis = new TestRedis()
  const { keyspace } = redis['server'].engine
  keyspace.set(name, new Map())
  keyspace.setEnd(name, leaseMs === null ? null : Date.now() + leaseMs)
  return { redis, locks: new LockClient(redis) }
}

describe.each([
  ['that has a time to live', 600_000],
  ['without a time to live', null],
])('a hash without a field, %s', (_what, leaseMs) => {
  it.each(KINDS)('is a free %s lock, which gets the lease that was asked for', async (_kind, of) => {
    const { redis, locks } = afterLastField('x', leaseMs)
    const hold = await of(locks, 'x').tryAcquire()
    expect(hold).not.toBeNull()
    expect(Number(await redis.command('PTTL', 'x'))).toBeLessThanOrEqual(30_000)
    await hold!.release()
    expect(await redis.command('EXISTS', 'x')).toBe(0)
    await locks.close()
  })

  it('is told as free', async () => {
    const { locks } = afterLastField('x', leaseMs)
    expect(await locks.inspectAll()).toEqual({ complete: true, locks: [] })
    expect(await locks.getLock('x').inspect()).toBeNull()
    await locks.close()
  })

  it('is no shared run', async () => {
    const { locks } = afterLastField('share:run:x', leaseMs)
    const run = () => Promise.resolve('done')
    expect(await getShare(locks, 'run').run('x', run, { waitMs: 0 })).toBe('done')
    await locks.close()
  })
})
