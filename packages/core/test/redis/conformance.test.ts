import { describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/testing'
import {
  ClientClosedError,
  LockClient,
  LockError,
  LockLostError,
  NotLockOwnerError,
  RedisUnavailableError,
} from '../../src/index.js'
import { CriticalSection, oneAfterAnother } from './support/critical-section.js'
import { eventually, redisUrl, signalled, sleep, useHarness } from './support/harness.js'
import { usePrivateServer } from './support/private-server.js'

// What Redisson's own tests of RLock assert (RedissonLockTest, -ExpirationRenewalTest, -HeavyTest), asserted here
// of a client for Node. A thread of theirs is a context, or a client of its own.

describe('conformance: one lock', () => {
  const harness = useHarness()
  const times = <T>(count: number, make: (i: number) => T): T[] =>
    Array.from({ length: count }, (_, i) => make(i))
  const clients = (count: number, options = {}): Promise<LockClient[]> =>
    Promise.all(times(count, () => harness.client(options)))

  it('remainTimeToLive is the lease asked for, about the watchdog time-out for a watched lock, and -2 when free', async () => {
    const lock = (await harness.client()).getLock(harness.name())
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

  it('three locks of 10 s and two unlocks leave the lease as it is: neither longer nor shorter', async () => {
    const locks = await harness.client()
    const lock = locks.getLock(harness.name())
    await locks.run(async () => {
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

  it('tryLock with a wait is false when the lock stayed held, and not before the wait is over', async () => {
    const [one, other] = (await clients(2)) as [LockClient, LockClient]
    const held = one.getLock(harness.name())
    await held.lock()
    const startedAt = performance.now()
    expect(await other.getLock(harness.name()).tryLock(300)).toBe(false)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(299)
    expect(await other.getLock(harness.name()).tryLock()).toBe(false)
    await held.unlock()
    expect(await other.getLock(harness.name()).tryLock(300)).toBe(true)
  })

  it('forceUnlock frees the lock from any handle, and says whether anybody held it', async () => {
    const [one, other] = (await clients(2)) as [LockClient, LockClient]
    const held = one.getLock(harness.name())
    await held.lock()
    expect(await other.getLock(harness.name()).forceUnlock()).toBe(true)
    expect(await held.isLocked()).toBe(false)
    expect(await other.getLock(harness.name()).forceUnlock()).toBe(false)
    await expect(held.unlock()).rejects.toThrow(NotLockOwnerError)

    await held.lock()
    expect(await one.getLock(harness.name()).forceUnlock()).toBe(true)
    expect(await other.getLock(harness.name()).tryLock()).toBe(true)
  })

  it('a lease that ends lets the waiter in, and the unlock of the old owner throws and takes nothing away (I1)', async () => {
    const [one, other] = (await clients(2)) as [LockClient, LockClient]
    const [old, next] = [one.getLock(harness.name()), other.getLock(harness.name())]
    const hold = await old.lock(400)
    await next.lock()
    expect(hold.signal.aborted).toBe(true)
    await expect(old.unlock()).rejects.toThrow(NotLockOwnerError)
    expect(await next.getHoldCount()).toBe(1)
    await next.unlock()
    expect(await next.isLocked()).toBe(false)
  })

  it('a lock whose owner process was killed is free within the watchdog time-out', async () => {
    const lock = (await harness.client()).getLock(harness.name())
    const worker = await WorkerProcess.start(new URL('./support/holder.worker.mjs', import.meta.url))
    try {
      const options = { lockWatchdogTimeout: 900, clientName: 'killed' }
      const owner = (await worker.call('hold', redisUrl, harness.name(), options)) as string
      expect(owner).toMatch(/^killed~/)
      // It lives on renewals, as long as its owner does.
      expect(await lock.tryLock(1_200)).toBe(false)
      expect(await worker.call('held')).toBe(true)
    } finally {
      await worker.kill()
    }
    expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(900)
    await lock.lock()
    await lock.unlock()
  })

  it('an owner whose connection has ended for good stops trusting the lock before it is free for others (I3)', async () => {
    const redis = harness.connection()
    const one = await LockClient.connect(redis, { lockWatchdogTimeout: 900, commandTimeout: 300 })
    const hold = await one.getLock(harness.name()).acquire()
    const order: string[] = []
    hold.signal.addEventListener('abort', () => order.push('lost'))
    redis.disconnect()
    const next = await (await harness.client()).getLock(harness.name()).acquire()
    order.push('taken')
    expect(order).toEqual(['lost', 'taken'])
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
    await next.release()
    await one.close({ graceMs: 0 })
  })

  it('getHoldCount goes 0, 1, 2, 1, 0', async () => {
    const locks = await harness.client()
    const lock = locks.getLock(harness.name())
    await locks.run(async () => {
      const counts = [await lock.getHoldCount()]
      for (const step of [() => lock.lock(), () => lock.lock(), () => lock.unlock(), () => lock.unlock()]) {
        await step()
        counts.push(await lock.getHoldCount())
      }
      expect(counts).toEqual([0, 1, 2, 1, 0])
    })
  })

  it('isHeldByCurrentContext and isHeldByThread are true for the owner only', async () => {
    const [one, other] = (await clients(2)) as [LockClient, LockClient]
    const lock = one.getLock(harness.name())
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
        expect(await other.getLock(harness.name()).isHeldByCurrentContext()).toBe(false)
        expect(await other.getLock(harness.name()).isHeldByThread(me)).toBe(false)
      })
      await lock.unlock()
      expect(await lock.isHeldByCurrentContext()).toBe(false)
      expect(await lock.isHeldByThread(me)).toBe(false)
    })
  })

  it('isLocked is the same for the owner and for everybody else', async () => {
    const [one, other] = (await clients(2)) as [LockClient, LockClient]
    const lock = one.getLock(harness.name())
    const seen = (): Promise<boolean[]> =>
      Promise.all([lock.isLocked(), one.run(() => lock.isLocked()), other.getLock(harness.name()).isLocked()])
    expect(await seen()).toEqual([false, false, false])
    await one.run(async () => {
      await lock.lock()
      expect(await seen()).toEqual([true, true, true])
      await lock.unlock()
    })
    expect(await seen()).toEqual([false, false, false])
  })

  it('unlock by anybody but the owner is NotLockOwnerError, and the owner keeps the lock', async () => {
    const [one, other] = (await clients(2)) as [LockClient, LockClient]
    const lock = one.getLock(harness.name())
    await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
    await one.run(async () => {
      await expect(lock.unlock()).rejects.toMatchObject({ code: 'NOT_LOCK_OWNER', lockName: harness.name() })
      await lock.lock()
      await expect(other.getLock(harness.name()).unlock()).rejects.toThrow(NotLockOwnerError)
      await expect(other.run(() => other.getLock(harness.name()).unlock())).rejects.toThrow(NotLockOwnerError)
      await expect(one.fork(() => lock.unlock())).rejects.toThrow(NotLockOwnerError)
      await expect(one.thread().getLock(harness.name()).unlock()).rejects.toThrow(NotLockOwnerError)
      expect(await lock.getHoldCount()).toBe(1)
      await lock.unlock()
      await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
    })
  })

  it('lock and unlock can be repeated, by one object and by several', async () => {
    const locks = await harness.client()
    const lock = locks.getLock(harness.name())
    for (let i = 0; i < 20; i += 1) {
      await lock.lock()
      await lock.unlock()
      expect(await locks.getLock(harness.name()).tryLock()).toBe(true)
      await locks.getLock(harness.name()).forceUnlock()
    }
    expect(await lock.isLocked()).toBe(false)
  })

  it("after one of two unlocks the lock is still the owner's, and still closed to others", async () => {
    const [one, other] = (await clients(2)) as [LockClient, LockClient]
    const lock = one.getLock(harness.name())
    await one.run(async () => {
      await lock.lock()
      await lock.lock()
      await lock.unlock()
      expect(await lock.getHoldCount()).toBe(1)
      expect(await other.getLock(harness.name()).tryLock()).toBe(false)
      expect(await one.fork(() => lock.tryLock())).toBe(false)
      await lock.unlock()
    })
    expect(await other.getLock(harness.name()).tryLock()).toBe(true)
  })

  it('sequential users of two clients never fail with a wait of seconds', async () => {
    const both = await clients(2)
    for (let i = 0; i < 60; i += 1) {
      const lock = both[i % 2]!.getLock(harness.name())
      expect(await lock.tryLock(5_000)).toBe(true)
      await lock.unlock()
    }
  })

  it('16 flows of tryLock and unlock: no overlap, and a lock held all the while is renewed', async () => {
    const locks = await harness.client({ lockWatchdogTimeout: 900 })
    const held = await locks.getLock(harness.name('held')).acquire()
    const lock = locks.getLock(harness.name())
    const section = new CriticalSection(harness.admin, harness.name('counter'))
    let successes = 0
    const endsAt = performance.now() + 1_500
    const flow = async (): Promise<void> => {
      while (performance.now() < endsAt) {
        if (await lock.tryLock()) {
          successes += 1
          await section.enter()
          await lock.unlock()
        }
      }
    }
    await Promise.all(times(16, () => locks.run(flow)))
    expect(successes).toBeGreaterThan(16)
    expect(await section.result()).toEqual(oneAfterAnother(successes))
    expect(await lock.isLocked()).toBe(false)
    expect(held.signal.aborted).toBe(false)
    await held.verify()
    await held.release()
  })

  it('15 callers of one client all get the lock, one after another', async () => {
    const locks = await harness.client()
    const section = new CriticalSection(harness.admin, harness.name('counter'))
    const caller = async (): Promise<void> => {
      const lock = locks.getLock(harness.name())
      await lock.lock()
      await section.enter()
      await lock.unlock()
    }
    await Promise.all(times(15, () => locks.run(caller)))
    expect(await section.result()).toEqual(oneAfterAnother(15))
  })

  it('8 clients, 50 rounds each: all get their turns and the counter is exact (I1)', async () => {
    const section = new CriticalSection(harness.admin, harness.name('counter'))
    const flow = async (locks: LockClient): Promise<void> => {
      const lock = locks.getLock(harness.name())
      for (let round = 0; round < 50; round += 1) {
        await lock.lock()
        await section.enter()
        await lock.unlock()
      }
    }
    await Promise.all((await clients(8)).map(flow))
    expect(await section.result()).toEqual(oneAfterAnother(400))
  })

  it('30 clients, one acquisition each: all get their turn and the counter is exact (I1)', async () => {
    const section = new CriticalSection(harness.admin, harness.name('counter'))
    const one = async (): Promise<void> => {
      const locks = await harness.client()
      await locks.getLock(harness.name()).withLock(section.enter)
      await locks.close()
    }
    await Promise.all(times(30, one))
    expect(await section.result()).toEqual(oneAfterAnother(30))
  })

  it('lock, lock, unlock, unlock: a later owner is renewed like the first', async () => {
    const [one, other] = (await clients(2, { lockWatchdogTimeout: 600 })) as [LockClient, LockClient]
    const lock = one.getLock(harness.name())
    await one.run(async () => {
      await lock.lock()
      await lock.lock()
      await lock.unlock()
      await lock.unlock()
    })
    for (const later of [one, other]) {
      const hold = await later.getLock(harness.name()).acquire()
      await sleep(1_000)
      expect(hold.signal.aborted).toBe(false)
      await hold.verify()
      expect(await hold.release()).toBe('released')
    }
  })

  it('a wait that was aborted is not renewed: the lock is free once its holder has gone (I8)', async () => {
    const [one, other] = (await clients(2, { lockWatchdogTimeout: 600 })) as [LockClient, LockClient]
    const lock = other.getLock(harness.name())
    const held = await one.getLock(harness.name()).acquire()
    const abort = new AbortController()
    const waiting = signalled()
    other.on('waiting', () => waiting.resolve())
    const wait = lock.tryAcquire({ waitMs: 60_000, signal: abort.signal })
    await waiting.promise
    abort.abort()
    await expect(wait).rejects.toBe(abort.signal.reason)
    await held.release()
    await sleep(700)
    expect(await lock.isLocked()).toBe(false)
  })

  it('5,000 lock and unlock over 5 names by 32 flows: no error, and no channel stays subscribed (I5)', async () => {
    const both = await clients(2)
    const flow = async (locks: LockClient, first: number): Promise<void> => {
      for (let i = first; i < 5_000; i += 32) {
        const lock = locks.getLock(harness.name(`lock${i % 5}`))
        await lock.lock()
        await lock.unlock()
      }
    }
    await Promise.all(times(32, (i) => both[i % 2]!.run(() => flow(both[i % 2]!, i))))
    await eventually(
      async () => (await harness.admin.pubsub('CHANNELS', `*${harness.name('')}*`)).length === 0,
    )
    expect(await harness.admin.keys(`*${harness.name('')}*`)).toEqual([])
  })

  it.each(['lock', 'tryLock'] as const)(
    'heavy use through %s beside other commands comes to an end',
    async (how) => {
      const bucket = harness.name('bucket')
      const flow = async (locks: LockClient): Promise<void> => {
        const lock = locks.getLock(harness.name())
        for (let i = 0; i < 25; i += 1) {
          const mine = how === 'lock' ? Boolean(await lock.lock()) : await lock.tryLock(20_000)
          expect(mine).toBe(true)
          await harness.admin.set(bucket, i)
          await harness.admin.get(bucket)
          await lock.unlock()
        }
      }
      const four = await clients(4)
      await Promise.all(four.flatMap((locks) => times(6, () => locks.run(() => flow(locks)))))
      await harness.admin.del(bucket)
    },
  )
})

describe('conformance: the server fails', () => {
  const redis = usePrivateServer()

  it('tryLock against a stopped server throws, at once and with a wait: false would be a lie', async () => {
    const locks = await redis.client({ commandTimeout: 200 })
    const lock = locks.getLock('lock')
    await redis.server.stop()
    await expect(lock.tryLock()).rejects.toThrow(RedisUnavailableError)
    await expect(lock.tryLock(500)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    await expect(lock.isLocked()).rejects.toThrow(LockError)
    await locks.close({ graceMs: 0 })
    await expect(lock.tryLock()).rejects.toThrow(ClientClosedError)
  })

  it('an empty server after a restart: unlock throws, and a new lock is renewed', async () => {
    const connection = redis.connection()
    const locks = await redis.client({ lockWatchdogTimeout: 900 }, connection)
    const lock = locks.getLock('lock')
    await locks.run(async () => {
      const hold = await lock.lock()
      await redis.server.restart({ empty: true })
      await eventually(() => connection.status === 'ready')
      await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
      expect(hold.signal.aborted).toBe(true)

      const again = await lock.lock()
      await sleep(1_300)
      expect(again.signal.aborted).toBe(false)
      expect(await lock.getHoldCount()).toBe(1)
      await lock.unlock()
    })
    expect(await redis.server.command('EXISTS', 'lock')).toBe(0)
  })
})
