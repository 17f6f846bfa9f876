import { describe, expect, it } from '@jest/globals'
import {
  LockLostError,
  NotLockOwnerError,
  NotReentrantError,
  SelfDeadlockError,
  type AnyLock,
} from '../../../src/index.js'
import { CriticalSection, oneAfterAnother } from '../support/critical-section.js'
import { failureOf } from '../support/outcomes.js'
import { eventually, own, signalled, useRig } from '../support/rig.js'
import { nonReentrantKinds, type LockKind, type LockSource } from '../support/lock-kinds.js'

// Redisson's own tests of both kinds (RedissonNonReentrantLockTest, -FairLockTest), and who counts as the same owner.

/** The lock of the same data that re-enters. */
const reentrantTwin = (kind: LockKind, locks: LockSource, name: string): AnyLock =>
  kind.name.includes('fair') ? locks.getFairLock(name) : locks.getLock(name)

const forms: Record<string, (lock: AnyLock) => Promise<unknown>> = {
  'lock()': (lock) => lock.lock(),
  'lock(leaseMs)': (lock) => lock.lock(10_000),
  'tryLock()': (lock) => lock.tryLock(),
  'tryLock(waitMs)': (lock) => lock.tryLock(60_000),
  'tryLock(waitMs, leaseMs)': (lock) => lock.tryLock(60_000, 10_000),
  'acquire()': (lock) => lock.acquire(),
  'acquire({ waitMs, leaseMs })': (lock) => lock.acquire({ waitMs: 60_000, leaseMs: 10_000 }),
  'tryAcquire()': (lock) => lock.tryAcquire(),
  'withLock()': (lock) => lock.withLock(() => 'must not run'),
}

describe.each(nonReentrantKinds)('$name', (kind) => {
  const rig = useRig({ redis: 'all' })
  const locks = own(() => rig.client())
  const lock = own(() => kind.of(locks, rig.name()))

  it.each(Object.keys(forms))(
    'its owner is refused %s, also inside withLock, keeps what it has, and one unlock frees it',
    async (form) => {
      await locks.run(async () => {
        const hold = await lock.lock()
        for (const again of [lock, kind.of(locks, rig.name())]) {
          const failure = await failureOf(forms[form]!(again))
          expect(failure).toBeInstanceOf(NotReentrantError)
          expect(failure).toMatchObject({
            code: 'NOT_REENTRANT',
            lockName: rig.name(),
            owner: hold.owner,
          })
        }
        await hold.verify()
        expect(await lock.getHoldCount()).toBe(1)
        await lock.unlock()
        expect(await lock.isLocked()).toBe(false)
        await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
      })
      await lock.withLock(async (hold) => {
        await expect(forms[form]!(lock)).rejects.toThrow(NotReentrantError)
        await expect(locks.run(() => forms[form]!(lock))).rejects.toThrow(NotReentrantError)
        await hold.verify()
      })
      expect(await lock.isLocked()).toBe(false)
    },
  )

  it('a thread is refused what it has, by any of its lock objects; another thread waits', async () => {
    const [one, other] = [locks.thread(), locks.thread()]
    const hold = await kind.of(one, rig.name()).acquire()
    await expect(kind.of(one, rig.name()).tryLock()).rejects.toThrow(NotReentrantError)
    expect(await kind.of(other, rig.name()).tryLock()).toBe(false)
    const waiting = kind.of(other, rig.name()).acquire()
    await hold.release()
    await (await waiting).release()
  })

  it('outside contexts each caller is an owner of its own, and waits', async () => {
    const section = new CriticalSection(rig.admin, rig.name('counter'))
    const hold = await lock.lock()
    expect(await lock.tryLock()).toBe(false)
    expect(await lock.tryAcquire()).toBeNull()
    const callers = Array.from({ length: 8 }, () => lock.withLock(section.enter))
    await lock.unlock(hold)
    await Promise.all(callers)
    expect(await section.result()).toEqual(oneAfterAnother(8))
  })

  it('sibling withLocks of one context exclude each other (I1)', async () => {
    const section = new CriticalSection(rig.admin, rig.name('counter'))
    await locks.run(() =>
      Promise.all(Array.from({ length: 12 }, () => kind.of(locks, rig.name()).withLock(section.enter))),
    )
    expect(await section.result()).toEqual(oneAfterAnother(12))
  })

  it('by hand beside a withLock that does not enclose it: it waits', async () => {
    const [inside, enough] = [signalled(), signalled()]
    await locks.run(async () => {
      const working = lock.withLock(() => {
        inside.resolve()
        return enough.promise
      })
      await inside.promise
      expect(await lock.tryLock()).toBe(false)
      const waiting = lock.acquire()
      enough.resolve()
      await working
      expect(await (await waiting).release()).toBe('released')
    })
  })

  it.each(['free', 'held by another client'])(
    'started together in one context, one has it and the others are refused when it has: %s',
    async (state) => {
      const others = await rig.client()
      const before = state === 'free' ? null : await kind.of(others, rig.name()).acquire()
      await locks.run(async () => {
        const calls = Promise.allSettled([lock.lock(), lock.tryLock(60_000), lock.acquire(), lock.lock()])
        if (before) {
          await eventually(async () => (await kind.waiting(rig.admin, rig.name())) > 0)
          await before.release()
        }
        const [first, ...rest] = await calls
        expect(first.status).toBe('fulfilled')
        for (const each of rest) {
          expect(each).toMatchObject({ status: 'rejected', reason: { code: 'NOT_REENTRANT' } })
        }
        expect(await lock.getHoldCount()).toBe(1)
        await lock.unlock()
        expect(await lock.isLocked()).toBe(false)
      })
    },
  )

  it('what the owner took as a lock that re-enters is refused here', async () => {
    await locks.run(async () => {
      const twin = reentrantTwin(kind, locks, rig.name())
      await twin.lock()
      await expect(kind.of(locks, rig.name()).lock()).rejects.toThrow(NotReentrantError)
      await expect(kind.of(locks, rig.name()).tryLock()).rejects.toThrow(NotReentrantError)
      await twin.unlock()
      expect(await kind.of(locks, rig.name()).tryLock()).toBe(true)
    })
  })

  it('what was taken here is re-entered by a lock that does: the rule is that of the lock that is asked', async () => {
    await locks.run(async () => {
      const twin = reentrantTwin(kind, locks, rig.name())
      const { owner } = await lock.lock()
      await twin.lock()
      expect(await kind.holds(rig.admin, rig.name())).toEqual({ [owner]: '2' })
      await expect(lock.tryLock()).rejects.toThrow(NotReentrantError)
      await twin.unlock()
      await lock.unlock()
      expect(await lock.isLocked()).toBe(false)
    })
  })

  it('a fork is another owner: refused with a limit, SelfDeadlockError without', async () => {
    await lock.withLock(async () => {
      expect(await locks.fork(() => lock.tryLock())).toBe(false)
      await expect(locks.fork(() => lock.lock())).rejects.toThrow(SelfDeadlockError)
    })
  })

  it('an owner whose hold was lost hears of that', async () => {
    await locks.run(async () => {
      const hold = await lock.lock()
      await kind.vanish(rig.admin, rig.name())
      await expect(hold.verify()).rejects.toThrow(LockLostError)
      await expect(lock.lock()).rejects.toThrow(LockLostError)
      expect(await hold.release()).toBe('lost')
      await lock.withLock(() => undefined)
    })
  })
})
