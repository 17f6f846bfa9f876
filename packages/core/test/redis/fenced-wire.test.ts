import { beforeEach, describe, expect, it } from '@jest/globals'
import { LockTimeoutError, type FencedLock, type LockClient } from '../../src/index.js'
import { fencedKeys, NAME, TOKEN_KEY } from './support/fenced-keys.js'
import { MessageLog } from './support/message-log.js'
import { eventually, useRig } from './support/rig.js'

const rig = useRig()
const keys = fencedKeys(rig)
let locks: LockClient
let lock: FencedLock

beforeEach(async () => {
  // Only messages can end a wait soon: no tick, and no lease that ends.
  locks = await rig.client({ clientName: 'node', resyncInterval: 25_000 })
  lock = locks.getFencedLock(NAME)
})

describe('what a fenced lock leaves in Redis', () => {
  it('asking for it writes nothing, and its token is 0', async () => {
    expect(await lock.getToken()).toBe('0')
    await keys.expectOnly(null, null)
  })

  it('first acquire: the hash of a plain lock, and a counter of 1 without an end', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
    const hold = await lock.acquire()
    expect(hold.owner).toMatch(/^node~[\w-]{21}:\d+$/)
    await keys.expectOnly({ [hold.owner]: '1' }, '1')
    await keys.expectTtl(NAME, 30_000)
    expect(await rig.admin.pttl(TOKEN_KEY)).toBe(-1)
    expect(await log.take()).toEqual([])
    expect(await hold.release()).toBe('released')
    await keys.expectOnly(null, '1')
    expect(await log.take()).toEqual([['redisson_lock__channel:{order:42}', '0']])
  })

  it('re-entry and partial release: the count alone', async () => {
    await locks.run(async () => {
      const outer = await lock.lock(60_000)
      await lock.lock(5_000)
      await keys.expectOnly({ [outer.owner]: '2' }, '1')
      await keys.expectTtl(NAME, 60_000)
      await lock.unlock()
      await keys.expectOnly({ [outer.owner]: '1' }, '1')
      await lock.unlock()
    })
    await keys.expectOnly(null, '1')
  })

  it('a refused acquire counts nothing', async () => {
    const hold = await lock.acquire({ leaseMs: 8_000 })
    const other = (await rig.client()).getFencedLock(NAME)
    expect(await other.tryLock()).toBe(false)
    expect(await other.tryLockAndGetToken()).toBeNull()
    expect(await other.tryLockAndGetToken(50, 60_000)).toBeNull()
    expect(await other.tryAcquire({ waitMs: 50 })).toBeNull()
    await expect(other.acquire({ waitMs: 50 })).rejects.toThrow(LockTimeoutError)
    await keys.expectOnly({ [hold.owner]: '1' }, '1')
    await keys.expectTtl(NAME, 8_000)
    await hold.release()
  })

  it('a name with braces is its own hash tag, and a keyPrefix is part of the name', async () => {
    const prefixed = await rig.client({}, rig.connection({ keyPrefix: 'app:' }))
    await locks.getFencedLock('a{b}c').withLock(() => undefined)
    await prefixed.getFencedLock('x').withLock(() => undefined)
    expect(await prefixed.getFencedLock('x').getToken()).toBe('1')
    expect(await rig.contents()).toEqual({
      'redisson_lock_token:a{b}c': { type: 'string', value: '1' },
      'redisson_lock_token:{app:x}': { type: 'string', value: '1' },
    })
  })

  it('forceUnlock, isLocked, getHoldCount, remainTimeToLive, verify and extend are those of a lock', async () => {
    const hold = await lock.acquire({ leaseMs: 10_000 })
    expect([await lock.isLocked(), await lock.getHoldCount()]).toEqual([true, 1])
    await hold.verify()
    await hold.extend(60_000)
    expect(await lock.remainTimeToLive()).toBeGreaterThan(50_000)
    hold.signal.addEventListener('abort', () => undefined)
    expect(await lock.forceUnlock()).toBe(true)
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' })
    await keys.expectOnly(null, '1')
  })

  it('renewal leaves the counter alone', async () => {
    const watched = await rig.client({ lockWatchdogTimeout: 1_500 })
    const hold = await watched.getFencedLock(NAME, { tokenTtlMs: 60_000 }).acquire()
    await rig.admin.pexpire(TOKEN_KEY, 600_000)
    await eventually(async () => (await rig.admin.pttl(NAME)) < 1_200)
    await eventually(async () => (await rig.admin.pttl(NAME)) > 1_300)
    await keys.expectOnly({ [hold.owner]: '1' }, '1')
    await keys.expectTtl(TOKEN_KEY, 600_000)
    await hold.release()
  })
})
