import { expect } from '@jest/globals'
import { NotLockOwnerError } from '../../../src/index.js'
import { lockKinds, reentrantKinds } from '../support/lock-kinds.js'
import { describe, it, own, useRig } from '../support/together.js'

// Redisson's own tests of RLock assert this (RedissonLockTest) and repeat it for other kinds of lock, asserted here of a
// client for Node. A thread of theirs is a context, or a client of its own.

describe.each(lockKinds)('conformance: $name', (kind) => {
  const rig = useRig({ redis: 'all' })
  const one = own(() => rig.client())
  const other = own(() => rig.client())
  const lock = own(() => kind.of(one, rig.name()))

  it('remainTimeToLive is the lease asked for, about the watchdog time-out for a watched lock, and -2 when free', async () => {
    expect(await lock.remainTimeToLive()).toBe(-2)
    await lock.lock(3_600_000)
    expect(await lock.remainTimeToLive()).toBeGreaterThan(3_590_000)
    expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(3_600_000)
    await lock.unlock()
    expect(await lock.remainTimeToLive()).toBe(-2)
    await lock.lock()
    expect(await lock.remainTimeToLive()).toBeGreaterThan(25_000)
    expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(30_000)
    await lock.unlock()
  })

  it('tryLock with a wait is false when the lock stayed held, and not before the wait is over', async () => {
    await lock.lock()
    const slow = kind.rivalOf(await rig.slow(), rig.name())
    const startedAt = performance.now()
    expect(await slow.tryLock(2)).toBe(false)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(199)
    expect(await kind.rivalOf(other, rig.name()).tryLock()).toBe(false)
    await lock.unlock()
    expect(await kind.rivalOf(other, rig.name()).tryLock(60_000)).toBe(true)
  })

  it('forceUnlock frees the lock from any handle, and says whether anybody held it', async () => {
    await lock.lock()
    expect(await kind.of(other, rig.name()).forceUnlock()).toBe(true)
    expect(await lock.isLocked()).toBe(false)
    expect(await kind.of(other, rig.name()).forceUnlock()).toBe(false)
    await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)

    await lock.lock()
    expect(await kind.of(one, rig.name()).forceUnlock()).toBe(true)
    expect(await kind.rivalOf(other, rig.name()).tryLock()).toBe(true)
  })

  it('a lease that ends lets the waiter in, and the unlock of the old owner throws and takes nothing away (I1)', async () => {
    for (const waiting of [other, one]) {
      const [old, next] = [kind.of(one, rig.name()), kind.rivalOf(waiting, rig.name())]
      const hold = await old.lock(400)
      await next.lock()
      expect(hold.signal.aborted).toBe(true)
      await expect(old.unlock()).rejects.toThrow(NotLockOwnerError)
      expect(await next.getHoldCount()).toBe(1)
      await next.unlock()
      expect(await next.isLocked()).toBe(false)
    }
  })

  it('isHeldByCurrentContext and isHeldByThread are true for the owner only', async () => {
    await one.run(async () => {
      const me = one.currentThreadId!
      expect(await lock.isHeldByCurrentContext()).toBe(false)
      expect(await lock.isHeldByThread(me)).toBe(false)
      await lock.lock()
      expect(await lock.isHeldByCurrentContext()).toBe(true)
      expect(await lock.isHeldByThread(me)).toBe(true)
      await one.fork(async () => {
        expect(await lock.isHeldByCurrentContext()).toBe(false)
        expect(await lock.isHeldByThread(one.currentThreadId!)).toBe(false)
        expect(await lock.isHeldByThread(me)).toBe(true)
      })
      await other.run(async () => {
        expect(await kind.of(other, rig.name()).isHeldByCurrentContext()).toBe(false)
        expect(await kind.of(other, rig.name()).isHeldByThread(me)).toBe(false)
      })
      await lock.unlock()
      expect(await lock.isHeldByCurrentContext()).toBe(false)
      expect(await lock.isHeldByThread(me)).toBe(false)
    })
  })

  it('isLocked is the same for the owner and for everybody else', async () => {
    const seen = (): Promise<boolean[]> =>
      Promise.all([lock.isLocked(), one.run(() => lock.isLocked()), kind.of(other, rig.name()).isLocked()])
    expect(await seen()).toEqual([false, false, false])
    await one.run(async () => {
      await lock.lock()
      expect(await seen()).toEqual([true, true, true])
      await lock.unlock()
    })
    expect(await seen()).toEqual([false, false, false])
  })

  it('unlock by anybody but the owner is NotLockOwnerError, and the owner keeps the lock', async () => {
    await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
    await one.run(async () => {
      await expect(lock.unlock()).rejects.toMatchObject({ code: 'NOT_LOCK_OWNER', lockName: rig.name() })
      await lock.lock()
      await expect(kind.of(other, rig.name()).unlock()).rejects.toThrow(NotLockOwnerError)
      await expect(other.run(() => kind.of(other, rig.name()).unlock())).rejects.toThrow(NotLockOwnerError)
      await expect(one.fork(() => lock.unlock())).rejects.toThrow(NotLockOwnerError)
      await expect(kind.of(one.thread(), rig.name()).unlock()).rejects.toThrow(NotLockOwnerError)
      expect(await lock.getHoldCount()).toBe(1)
      await lock.unlock()
      await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
    })
  })

  it('lock and unlock can be repeated, by one object and by several', async () => {
    for (let i = 0; i < 20; i += 1) {
      await lock.lock()
      await lock.unlock()
      expect(await kind.of(one, rig.name()).tryLock()).toBe(true)
      await kind.of(one, rig.name()).forceUnlock()
    }
    expect(await lock.isLocked()).toBe(false)
  })
})

describe.each(reentrantKinds)('conformance, re-entry: $name', (kind) => {
  const rig = useRig({ redis: 'all' })
  const one = own(() => rig.client())
  const other = own(() => rig.client())
  const lock = own(() => kind.of(one, rig.name()))

  it('three locks of 10 s and two unlocks leave the lease as it is: neither longer nor shorter', async () => {
    await one.run(async () => {
      for (let level = 0; level < 3; level += 1) {
        await lock.lock(10_000)
      }
      await lock.unlock()
      await lock.unlock()
      expect(await lock.remainTimeToLive()).toBeGreaterThan(5_000)
      expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(10_000)
      await lock.unlock()
      expect(await lock.remainTimeToLive()).toBe(-2)
    })
  })

  it('getHoldCount goes 0, 1, 2, 1, 0', async () => {
    await one.run(async () => {
      const counts = [await lock.getHoldCount()]
      for (const step of [() => lock.lock(), () => lock.lock(), () => lock.unlock(), () => lock.unlock()]) {
        await step()
        counts.push(await lock.getHoldCount())
      }
      expect(counts).toEqual([0, 1, 2, 1, 0])
    })
  })

  it("after one of two unlocks the lock is still the owner's, and still closed to others", async () => {
    await one.run(async () => {
      await lock.lock()
      await lock.lock()
      await lock.unlock()
      expect(await lock.getHoldCount()).toBe(1)
      expect(await kind.rivalOf(other, rig.name()).tryLock()).toBe(false)
      expect(await one.fork(() => kind.rivalOf(one, rig.name()).tryLock())).toBe(false)
      await lock.unlock()
    })
    expect(await kind.rivalOf(other, rig.name()).tryLock()).toBe(true)
  })
})
