import { beforeEach, describe, expect, it } from '@jest/globals'
import { eventually, own, soon, useRig } from '../support/rig.js'

const NAME = 'seats'
const rig = useRig()
beforeEach(() => rig.atEnd(clear))
// No tick: what wakes a waiter here is a message, or the end of a lease.
const semaphore = own(async () =>
  (await rig.client({ resyncInterval: 60_000 })).getPermitExpirableSemaphore(NAME),
)

const isParked = async (): Promise<boolean> => (await rig.listeners(`redisson_sc:{${NAME}}`)) === 1
const counts = async (): Promise<number[]> => [
  await semaphore.availablePermits(),
  await semaphore.acquiredPermits(),
  await semaphore.getPermits(),
]
const clear = (): Promise<number> => rig.admin.del(NAME, `{${NAME}}:timeout`)

describe("Redisson's own cases", () => {
  it('testNotExistent, testTrySetPermits, testAddPermits, testSetPermits: also fewer than are held', async () => {
    expect(await counts()).toEqual([0, 0, 0])
    expect(await semaphore.trySetPermits(2)).toBe(true)
    expect(await semaphore.trySetPermits(5)).toBe(false)
    await semaphore.addPermits(1)
    expect(await counts()).toEqual([3, 0, 3])
    const ids = await semaphore.acquireMany(2)
    expect(await counts()).toEqual([1, 2, 3])
    await semaphore.setPermits(1)
    expect(await counts()).toEqual([-1, 2, 1])
    await semaphore.release(ids)
    expect(await counts()).toEqual([1, 0, 1])
  })

  it('testBlockingAcquire, testBlockingAcquireMany: ids of 32 characters, for who waits too', async () => {
    await semaphore.trySetPermits(1)
    const id = await semaphore.acquire()
    expect(id).toMatch(/^[\da-f]{32}$/)
    const waiting = semaphore.acquireMany(2)
    await eventually(isParked)
    await semaphore.release(id)
    await semaphore.addPermits(1)
    const ids = await soon(waiting)
    expect(new Set([...ids, id]).size).toBe(3)
    await semaphore.release(ids)
    expect(await counts()).toEqual([2, 0, 2])
  })

  it('testTryAcquire, testTryAcquireMany: null and none where there are not enough', async () => {
    await semaphore.trySetPermits(2)
    const slow = (await rig.slow()).getPermitExpirableSemaphore(NAME)
    expect(await semaphore.tryAcquireMany(3)).toEqual([])
    expect(await slow.tryAcquireMany(3, { waitMs: 1 })).toEqual([])
    expect(await semaphore.tryAcquireMany(3, { waitMs: undefined, leaseMs: undefined })).toEqual([])
    const ids = await semaphore.tryAcquireMany(2)
    expect(ids).toHaveLength(2)
    expect(await semaphore.tryAcquire()).toBeNull()
    await expect(slow.acquire({ waitMs: 1 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    await semaphore.release(ids)
  })

  it('testRelease, testReleaseWithoutPermits: what is not held is an error, and false for tryRelease', async () => {
    await semaphore.trySetPermits(1)
    const id = await semaphore.acquire()
    await semaphore.release(id)
    await expect(semaphore.release(id)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'id' })
    expect(await semaphore.tryRelease(id)).toBe(false)
    await expect(semaphore.tryRelease('short')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(semaphore.release('short')).rejects.toThrow(/^id must be .+; got "short"\.$/)
    await expect(semaphore.release(['short'])).rejects.toThrow(/^id must be .+; got \["short"\]\.$/)
    await expect(semaphore.updateLeaseTime('short', 5)).rejects.toThrow(/^id must be .+; got "short"\.$/)
    expect(await counts()).toEqual([1, 0, 1])
  })

  it('an id that no permit has, of whatever length, is not held, as for Redisson; what is no hex cannot be meant', async () => {
    await semaphore.trySetPermits(1)
    const held = await semaphore.acquire()
    for (const id of ['1234', '', 'ab'.repeat(16), 'ab'.repeat(40)]) {
      expect(await semaphore.tryRelease(id)).toBe(false)
      expect(await semaphore.tryRelease([held, id])).toBe(false)
      expect(await semaphore.updateLeaseTime(id, 60_000)).toBe(false)
      await expect(semaphore.release(id)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'id' })
    }
    for (const id of ['123', 'xyz!', 5, null, undefined, {}] as string[]) {
      for (const call of [
        () => semaphore.tryRelease(id),
        () => semaphore.release(id),
        () => semaphore.updateLeaseTime(id, 5),
      ]) {
        await expect(call()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'id' })
      }
    }
    await expect(semaphore.release([held, held.toUpperCase()])).rejects.toThrow(/twice/)
    await semaphore.release(held.toUpperCase())
    expect(await counts()).toEqual([1, 0, 1])
  })

  it('testReleaseManyNotExistOrExpired, #6343: all or none', async () => {
    await semaphore.trySetPermits(3)
    const [first = '', second = '', third = ''] = await semaphore.acquireMany(3)
    await semaphore.release(second)
    expect(await semaphore.tryRelease([first, second, third])).toBe(false)
    expect(await counts()).toEqual([1, 2, 3])
    expect(await semaphore.tryRelease([first, third])).toBe(true)
    expect(await counts()).toEqual([3, 0, 3])
  })

  it('testExpire, testReleaseExpired, #4086: who waits gets what ended, and a late release counts nothing', async () => {
    await semaphore.trySetPermits(1)
    const old = await semaphore.acquire({ leaseMs: 150 })
    const id = await soon(semaphore.acquire())
    expect(await semaphore.tryRelease(old)).toBe(false)
    expect(await counts()).toEqual([0, 1, 1])
    await semaphore.release(id)
    expect(await counts()).toEqual([1, 0, 1])
  })

  it('testReleaseManyExpiredDoesNotThrow: one that ended before anybody looked is free once, and not by its release', async () => {
    await semaphore.trySetPermits(1)
    const id = await semaphore.acquire({ leaseMs: 30 })
    const [, end] = await rig.admin.zrange(`{${NAME}}:timeout`, 0, '-1', 'WITHSCORES')
    await eventually(async () => Number((await rig.admin.time())[0]) * 1_000 > Number(end))
    expect(await semaphore.tryRelease([id])).toBe(false)
    expect(await counts()).toEqual([1, 0, 1])
  })

  it('testUpdateLeaseTime: longer, shorter, and false after its end', async () => {
    await semaphore.trySetPermits(1)
    const id = await semaphore.acquire({ leaseMs: 10_000 })
    expect(await semaphore.updateLeaseTime(id, 60_000)).toBe(true)
    const [, score] = await rig.admin.zrange(`{${NAME}}:timeout`, 0, '-1', 'WITHSCORES')
    expect(Number(score) - Date.now()).toBeGreaterThan(50_000)
    expect(await semaphore.updateLeaseTime(id, 1)).toBe(true)
    await eventually(async () => (await semaphore.availablePermits()) === 1)
    expect(await semaphore.updateLeaseTime(id, 60_000)).toBe(false)
  })

  it('testExpiration: the time to live of the semaphore is that of its permits too', async () => {
    await semaphore.trySetPermits(2, 60_000)
    await semaphore.acquire()
    expect(await rig.admin.pttl(`{${NAME}}:timeout`)).toBeGreaterThan(50_000)
  })

  it('addPermits leaves the time to live: a semaphore that outlived its permits would miss them for ever', async () => {
    await semaphore.trySetPermits(2, 60_000)
    await semaphore.acquire()
    await semaphore.addPermits(1)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(50_000)
    expect(await counts()).toEqual([2, 1, 3])
  })

  it('permits have no time to live any more once their semaphore has none, from the next acquire on', async () => {
    await semaphore.trySetPermits(3, 60_000)
    await semaphore.acquire()
    await rig.admin.set(NAME, '3')
    await semaphore.acquire()
    expect(await rig.admin.pttl(`{${NAME}}:timeout`)).toBe(-1)
    expect(await counts()).toEqual([2, 2, 4])
  })

  it('testConcurrencyMultiPermits, #6664: two that wait for 2 permits each pass by one message', async () => {
    await semaphore.trySetPermits(0)
    const waiting = Promise.all([semaphore.acquireMany(2), semaphore.acquireMany(2)])
    await eventually(isParked)
    await semaphore.addPermits(4)
    await soon(waiting)
    expect(await counts()).toEqual([0, 4, 4])
  })
})

describe('refusals', () => {
  it.each([
    ['the counter', () => rig.admin.hset(NAME, 'f', 'v')],
    ['the ends', () => rig.admin.multi().set(NAME, '2').set(`{${NAME}}:timeout`, 'x').exec()],
  ])('WRONG_TYPE where something else is under %s, and nothing is changed', async (_what, put) => {
    await put()
    const before = await rig.contents()
    const calls = [
      () => semaphore.acquire(),
      () => semaphore.release('0'.repeat(32)),
      () => semaphore.updateLeaseTime('0'.repeat(32), 1),
      () => semaphore.setPermits(1),
      () => semaphore.availablePermits(),
    ]
    for (const call of calls) {
      const error: unknown = await call().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'WRONG_TYPE' })
      expect(String(error)).toContain('is not a permit-expirable semaphore: WRONGTYPE')
    }
    expect(await rig.contents()).toEqual(before)
  })

  it('out of memory refuses an acquire clearly and takes a release and a new lease', async () => {
    await semaphore.trySetPermits(2)
    const id = await semaphore.acquire({ leaseMs: 60_000 })
    await rig.outOfMemory(async () => {
      const refused = { code: 'REDIS_UNAVAILABLE', outcome: 'refused', transient: false }
      await expect(semaphore.acquire()).rejects.toMatchObject(refused)
      expect(await semaphore.tryAcquireMany(2)).toEqual([])
      expect(await semaphore.updateLeaseTime(id, 50_000)).toBe(true)
      await semaphore.release(id)
    })
    expect(await counts()).toEqual([2, 0, 2])
  })
})
