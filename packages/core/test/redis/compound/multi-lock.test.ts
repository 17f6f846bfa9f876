import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import {
  InvalidArgumentError,
  LockLostError,
  LockTimeoutError,
  SelfDeadlockError,
  type AnyLock,
  type Lock,
  type LockClient,
  type MultiLock,
} from '../../../src/index.js'
import { failureOf, lostAt, nextEvent, renewed } from '../support/outcomes.js'
import { useLockWorkers } from '../support/lock-workers.js'
import { eventually, own, soon, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'

const rig = useRig({ redis: 'all' })
const locks = own(() => rig.client())
const other = own(() => rig.client())
const five = (): string[] => ['a', 'b', 'c', 'd', 'e'].map((each) => rig.name(each))
const multi = (locks: LockClient, names: readonly string[] = five()): MultiLock =>
  locks.getMultiLock(...names.map((name) => locks.getLock(name)))

/** Scripts that Redis ran since the last call. */
async function scriptsSince(admin: Redis): Promise<number> {
  const stats = await admin.info('commandstats')
  await admin.config('RESETSTAT')
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0)
}

function lockOf(locks: LockClient, suffix: string): Lock {
  return locks.getLock(rig.name(suffix))
}

describe('multi lock', () => {
  it('multi lock that is refused by one member has nothing of the others: false, null, LOCK_TIMEOUT of that member', async () => {
    const holder = await lockOf(other, 'd').acquire()
    const lock = multi(await rig.slow())
    expect(await lock.tryLock()).toBe(false)
    expect(await lock.tryAcquire()).toBe(null)
    const error = await failureOf(lock.acquire({ waitMs: 1 }))
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect(error).toMatchObject({ lockName: rig.name('d'), holder: { owner: holder.owner } })
    expect((error as LockTimeoutError).waitedMs).toBeGreaterThan(0.9)
    expect(await rig.admin.exists(five())).toBe(1)
    await holder.release()
    expect(await lock.tryLock()).toBe(true)
    await lock.unlock()
  })

  it('is had by exactly one of ten clients that try once at the same time', async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => rig.client()))
    const all = clients.map((locks) => multi(locks))
    const got = await Promise.all(all.map((lock) => lock.tryLock(0, 10_000)))
    expect(got.filter(Boolean)).toHaveLength(1)
    await all[got.indexOf(true)]!.unlock()
  })

  it('is handed on through whatever member is busy, whoever had it', async () => {
    const names = five()
    const holds = await Promise.all(names.map((name) => other.getLock(name).acquire()))
    const waiting = multi(locks).acquire()
    for (const hold of holds) {
      await rig.heard(hold.lockName)
      await hold.release()
    }
    await (await soon(waiting)).release()
  })

  it('releases all when one member fails for good, and says which', async () => {
    const lock = multi(locks)
    await rig.admin.set(rig.name('b'), 'something else')
    expect(await failureOf(lock.acquire())).toMatchObject({ code: 'WRONG_TYPE', lockName: rig.name('b') })
    await eventually(async () => (await rig.admin.exists(five())) === 1)
    await rig.admin.del(rig.name('b'))
  })

  it('releases all when its caller aborts, whatever it waits for (#4456)', async () => {
    const holder = await lockOf(other, 'e').acquire()
    const abort = new AbortController()
    const waiting = multi(locks).acquire({ signal: abort.signal })
    await rig.heard(rig.name('e'))
    const late = multi(locks).acquire({ signal: abort.signal })
    abort.abort('enough')
    await expect(waiting).rejects.toBe('enough')
    await expect(late).rejects.toBe('enough')
    await eventually(async () => (await rig.admin.exists(five())) === 1)
    await holder.release()
    // The lock that the late one still took is undone after its answer.
    expect(await multi(locks).tryLock(20_000)).toBe(true)
    await multi(locks).forceUnlock()
  })

  it('is of locks of every kind at once', async () => {
    const kinds = (from: LockClient): Lock[] => [
      from.getFairLock(rig.name('fair')),
      from.getReadWriteLock(rig.name('read')).readLock(),
      from.getReadWriteLock(rig.name('write')).writeLock(),
      from.getFencedLock(rig.name('fenced')),
      from.getLock(rig.name('plain')),
    ]
    const hold = await locks.getMultiLock(...kinds(locks)).acquire()
    expect(hold.holds[3]!.token).toBe('1')
    const [fair, read, ...exclusive] = kinds(other)
    for (const each of [fair!, ...exclusive]) {
      expect(await each.tryLock()).toBe(false)
    }
    expect(await read!.tryLock()).toBe(true)
    await read!.unlock()
    const next = other.getMultiLock(...kinds(other).reverse()).acquire()
    await hold.release()
    await (await soon(next)).release()
  })

  it('refuses no locks, what is no lock, one lock twice, and locks of two threads', () => {
    const [one, other] = [locks.thread(), locks.thread()]
    const wrong: (() => unknown)[] = [
      () => locks.getMultiLock(),
      () => locks.getMultiLock('a' as unknown as Lock),
      () => locks.getMultiLock(lockOf(locks, 'a'), lockOf(locks, 'b'), locks.getFairLock(rig.name('a'))),
      () => locks.getMultiLock(one.getLock('a'), other.getLock('b')),
      () => one.getMultiLock(other.getLock('b')),
    ]
    for (const make of wrong) {
      expect(make).toThrow(InvalidArgumentError)
    }
    expect(() => one.getMultiLock()).toThrow(
      /^locks must be at least one lock, as from getLock\(\); got \[\]\.$/,
    )
  })

  it('refuses one lock by two clients of the same Redis, which would wait for itself for ever', async () => {
    const error = await failureOf(locks.getMultiLock(lockOf(locks, 'a'), lockOf(other, 'a')).acquire())
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', value: rig.name('a') })
    await eventually(async () => (await rig.admin.exists(five())) === 0)
  })
})

describe('multi lock: what it costs', () => {
  // A server of its own: what it runs is counted.
  const counted = useRig({ redis: 'test' })

  it('a multi lock of five free locks is taken by one script and released by one', async () => {
    const admin = counted.connection()
    const lock = multi(await counted.client())
    await lock.withLock(() => undefined)
    await scriptsSince(admin)
    const hold = await lock.acquire()
    expect(await scriptsSince(admin)).toBe(1)
    for (const [i, name] of five().entries()) {
      expect(await admin.hgetall(name)).toEqual({ [hold.holds[i]!.owner]: '1' })
    }
    expect(await hold.release()).toBe('released')
    expect(await scriptsSince(admin)).toBe(1)
    await lock.withLock(() => undefined)
    expect(await scriptsSince(admin)).toBe(2)
  })

  it('waits for one member with nothing in hand and almost no command, and is woken by its unlock', async () => {
    const [locks, other] = [await counted.client({ resyncInterval: 60_000 }), await counted.client()]
    const admin = counted.connection()
    const parked = nextEvent(locks, 'waiting')
    const holder = await lockOf(other, 'c').acquire()
    const waiting = multi(locks).acquire()
    await parked
    await eventually(async () => (await admin.exists(five())) === 1)
    await counted.heard(rig.name('c'))
    await scriptsSince(admin)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    // One more try after the subscription may still have been on its way.
    expect(await scriptsSince(admin)).toBeLessThanOrEqual(1)
    await holder.release()
    await (await soon(waiting)).release()
  })
})

describe('multi lock: the hold', () => {
  const warnings = useWarnings()

  it('is lost with any member, by that member and with its error, and releases the rest', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 2_400 })
    const hold = await multi(locks).acquire()
    const lost = lostAt(hold)
    hold.ensure()
    await rig.admin.del(rig.name('c'))
    await lost
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
    expect(hold.signal.reason).toMatchObject({ reason: 'gone', lockName: rig.name('c') })
    expect(hold.lossError).toBe(hold.signal.reason)
    expect(hold.trustedForMs).toBe(0)
    expect(() => hold.ensure()).toThrow(LockLostError)
    expect(await hold.release()).toBe('lost')
    expect(await hold.release()).toBe('already-released')
    expect(await rig.admin.exists(five())).toBe(0)
    expect(await warnings.delivered('HOLDFAST_LOST', rig.name('c'))).toEqual([])
  })

  it('verify asks all members in one turn, extend prolongs all, trust is that of the least', async () => {
    const hold = await multi(locks).acquire({ leaseMs: 10_000 })
    await hold.holds[4]!.extend(60_000)
    expect(hold.trustedForMs).toBeLessThan(10_000)
    expect(await multi(locks).remainTimeToLive()).toBeLessThanOrEqual(10_000)
    await hold.extend(50_000)
    expect(hold.trustedForMs).toBeGreaterThan(45_000)
    expect(hold.holds[4]!.trustedForMs).toBeGreaterThan(55_000)
    await hold.verify()
    await rig.admin.del(rig.name('b'))
    await expect(hold.verify()).rejects.toMatchObject({ code: 'LOCK_LOST', lockName: rig.name('b') })
    await hold.release()
  })

  it('renews every member', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 2_400 })
    const hold = await multi(locks).acquire()
    await Promise.all(hold.holds.map(renewed))
    await hold.verify()
    await hold.release()
  })

  it('taken 200 times inside one another leaves no listener with the outer one', async () => {
    await locks.run(async () => {
      const outer = await multi(locks).lock()
      for (let i = 0; i < 200; i += 1) {
        const inner = await multi(locks).acquire()
        expect(inner.signal.aborted).toBe(false)
        if (i % 2 === 0) {
          await inner.release()
        } else {
          await multi(locks).unlock()
        }
      }
      const { listeners } = (
        outer as unknown as { levels: { acquisition: { lease: { loss: { listeners: Set<unknown> } } } }[] }
      ).levels[0]!.acquisition.lease.loss
      expect(listeners.size).toBe(0)
      expect(await outer.release()).toBe('released')
    })
  })
})

describe('multi lock: the end of its client', () => {
  it('ends a wait for a member of another client, which stays open, with CLIENT_CLOSED (I5)', async () => {
    const [home, second, other] = [await rig.client(), await rig.client(), await rig.client()]
    const hold = await lockOf(other, 'b').acquire()
    const lock = home.getMultiLock(lockOf(home, 'a'), lockOf(second, 'b'))
    const waits = [{}, { signal: new AbortController().signal }].map((each) => failureOf(lock.acquire(each)))
    await rig.heard(rig.name('b'))
    await home.close({ graceMs: 0 })
    for (const error of await soon(Promise.all(waits))) {
      expect(error).toMatchObject({ code: 'CLIENT_CLOSED' })
    }
    await hold.release()
    await lockOf(second, 'b').withLock(() => undefined)
  })
})

describe('multi lock: who is the owner', () => {
  it('unlocks what was locked one by one, and one by one what was locked together', async () => {
    await locks.run(async () => {
      const singly = five().map((name) => locks.getLock(name))
      for (const lock of singly) {
        await lock.lock()
      }
      expect(await multi(locks).isHeldByCurrentContext()).toBe(true)
      await multi(locks).unlock()
      expect(await rig.admin.exists(five())).toBe(0)
      await multi(locks).lock()
      for (const lock of singly.slice(1)) {
        await lock.unlock()
      }
      expect(await failureOf(multi(locks).unlock())).toMatchObject({
        code: 'NOT_LOCK_OWNER',
        lockName: rig.name('b'),
      })
      expect(await singly[0]!.getHoldCount()).toBe(1)
      await singly[0]!.unlock()
    })
  })

  it('re-enters members that the context has, and releases only its own levels when another is busy', async () => {
    const holder = await lockOf(other, 'e').acquire()
    const locks = await rig.slow()
    await locks.run(async () => {
      const mine = lockOf(locks, 'b')
      await mine.lock()
      expect(await multi(locks).tryLock(1)).toBe(false)
      expect(await mine.getHoldCount()).toBe(1)
      await holder.release()
      await multi(locks).withLock(async () => {
        expect(await mine.getHoldCount()).toBe(2)
        await mine.withLock(() => undefined)
      })
      await mine.unlock()
    })
  })

  it('siblings that take overlapping sets by withLock inside one hold take turns, in any order of the members', async () => {
    let inside = 0
    let most = 0
    const names = five()
    await multi(locks).withLock(async () => {
      const sibling = (from: number): Promise<void> =>
        multi(locks, [...names.slice(from), ...names.slice(0, from)]).withLock(async () => {
          inside += 1
          most = Math.max(most, inside)
          await rig.admin.ping()
          inside -= 1
        })
      await soon(Promise.all([0, 1, 2, 3, 4].map(sibling)))
    })
    expect(most).toBe(1)
  })

  it('the write lock of what its caller reads: a try is refused, only an endless wait is told so, holding a part or not', async () => {
    const locks = await rig.slow()
    const shared = locks.getReadWriteLock(rig.name('rw'))
    const both = (): MultiLock => locks.getMultiLock(lockOf(locks, 'a'), shared.writeLock())
    await locks.run(async () => {
      const reading = await shared.readLock().acquire()
      const check = async (): Promise<void> => {
        expect(await both().tryLock()).toBe(false)
        expect(await both().tryLock(1)).toBe(false)
        await expect(both().lock()).rejects.toThrow(SelfDeadlockError)
      }
      await check()
      await lockOf(locks, 'a').withLock(check)
      await reading.release()
      // With both in hand it re-enters, also while it reads.
      await both().withLock(async () => {
        const inside = await shared.readLock().acquire()
        await both().withLock((hold) => expect(hold.count).toBe(2))
        await inside.release()
      })
    })
  })

  it('has a place in the other clients for each context: re-enters there, and a fork waits for itself never', async () => {
    const both = (): MultiLock => locks.getMultiLock(lockOf(locks, 'a'), lockOf(other, 'b'))
    await locks.run(async () => {
      const outer = await both().lock()
      await both().lock()
      const me = locks.currentThreadId!
      expect(await both().getHoldCount()).toBe(2)
      expect(await both().isHeldByThread(me)).toBe(true)
      await locks.fork(async () => {
        expect(await both().tryLock()).toBe(false)
        await expect(both().lock()).rejects.toThrow(SelfDeadlockError)
        const alone: AnyLock = locks.getMultiLock(lockOf(other, 'b'))
        await expect(alone.lock()).rejects.toThrow(SelfDeadlockError)
      })
      await both().unlock()
      expect(outer.count).toBe(1)
      await both().withLock(async () => {
        await lockOf(other, 'b').withLock(async () => {
          expect(await both().getHoldCount()).toBe(2)
        })
      })
      await both().unlock()
      expect(await both().isHeldByThread(me)).toBe(false)
    })
  })
})

describe('multi lock: many callers', () => {
  const start = useLockWorkers()

  it('overlapping sets in random orders by four processes: all get through and every counter is exact (I1)', async () => {
    const random = seededRandom(20_260_801).next
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((each) => rig.name(each))
    const expected = new Map(names.map((name) => [name, 0]))
    const someOf = (): string[] => {
      const shuffled = names.map((name) => ({ name, at: random() })).sort((a, b) => a.at - b.at)
      return shuffled.slice(0, 2 + Math.floor(random() * 3)).map(({ name }) => name)
    }
    const plans = [0, 1, 2, 3].map(() => Array.from({ length: 60 }, someOf))
    plans.flat(2).forEach((name) => expected.set(name, expected.get(name)! + 1))
    const workers = await Promise.all(plans.map(() => start()))
    await Promise.all(workers.map((worker, i) => worker.call('incrementAll', plans[i])))
    const counters = names.map((name) => `${name}:counter`)
    expect(await rig.admin.mget(counters)).toEqual(names.map((name) => `${expected.get(name)}`))
    await rig.admin.del(counters)
    await Promise.all(workers.map((worker) => worker.call('close')))
  })

  it('two clients with opposite orders, beside holders of one member: each has 80 turns', async () => {
    const clients = [await rig.client(), await rig.client(), await rig.client()]
    const names = [rig.name('a'), rig.name('b')]
    let inside = 0
    let overlaps = 0
    const work = async (): Promise<void> => {
      inside += 1
      overlaps += inside > 1 ? 1 : 0
      await rig.admin.ping()
      inside -= 1
    }
    const turns = async (lock: AnyLock): Promise<void> => {
      for (let i = 0; i < 80; i += 1) {
        await lock.withLock(lock.name.includes(',') ? work : () => undefined)
      }
    }
    await soon(
      Promise.all([
        turns(multi(clients[0]!, names)),
        turns(multi(clients[1]!, names.toReversed())),
        turns(clients[2]!.getLock(names[0]!)),
      ]),
      20_000,
    )
    expect(overlaps).toBe(0)
  })
})
