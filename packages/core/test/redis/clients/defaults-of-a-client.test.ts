import { describe, expect, it } from '@jest/globals'
import { LockTimeoutError, type LockClient } from '../../../src/index.js'
import { backgroundRuntime, type Clock } from '../../../src/runtime/runtime.js'
import { getShare } from '../../../src/entries/share/index.js'
import { eventually, signalled, sleep, useRig } from '../support/rig.js'
import { exclusiveKinds } from '../support/lock-kinds.js'
import { waitBehind } from '../support/outcomes.js'
import { SlowClock } from '../support/slow-clock.js'
import { useWarnings } from '../support/warnings.js'

const LEASE_MS = 20_000

/** 20 ms of the test's time. A refusal has to come within 250 ms after a wait: with a clock that is slow it has 25 s. */
const brief = () => ({ waitMs: 0.2, runtime: new SlowClock(true) })

/** A clock on which a minute that is waited for is over in a moment. */
function minutesInAMoment(): Clock {
  let skippedMs = 0
  return {
    now: () => backgroundRuntime.now() + skippedMs,
    wallNow: () => backgroundRuntime.wallNow() + skippedMs,
    setTimer: (delayMs, fire) => {
      if (delayMs !== 60_000) {
        return backgroundRuntime.setTimer(delayMs, fire)
      }
      return backgroundRuntime.setTimer(300, () => {
        skippedMs += delayMs
        fire()
      })
    },
  }
}

describe.each(exclusiveKinds)('defaults of a client: $name', (kind) => {
  const rig = useRig({ redis: 'all' })

  it('waitMs limits each call that would wait for ever; a try stays one attempt', async () => {
    const locks = await rig.client(brief())
    const lock = kind.of(locks, rig.name())
    const hold = await kind.rivalOf(await rig.client(), rig.name()).acquire()
    for (const call of [
      () => lock.acquire(),
      () => lock.lock(),
      () => lock.lock(1_000),
      () => lock.withLock(() => undefined),
    ]) {
      await expect(call()).rejects.toThrow(LockTimeoutError)
    }
    let waits = 0
    locks.on('waiting', () => (waits += 1))
    expect([await lock.tryLock(), await lock.tryAcquire()]).toEqual([false, null])
    expect(waits).toBe(0)
    const wait = lock.acquire({ waitMs: Infinity })
    await sleep(100)
    await hold.release()
    await (await wait).release()
  })

  it('leaseMs is the lease of each call without one, not renewed but with renew', async () => {
    const locks = await rig.client({ leaseMs: LEASE_MS })
    const lock = kind.of(locks, rig.name())
    const lifeOf = async (taking: Promise<unknown>): Promise<number> => {
      await taking
      const left = await lock.remainTimeToLive()
      await lock.forceUnlock()
      return left
    }
    locks.on('lost', () => undefined)
    expect(await lifeOf(lock.acquire())).toBeLessThanOrEqual(LEASE_MS)
    expect(await lifeOf(lock.lock())).toBeLessThanOrEqual(LEASE_MS)
    expect(await lifeOf(lock.tryLock())).toBeLessThanOrEqual(LEASE_MS)
    expect(await lifeOf(lock.acquire({ renew: true }))).toBeLessThanOrEqual(LEASE_MS)
    expect(await lifeOf(lock.acquire({ leaseMs: 2 * LEASE_MS }))).toBeGreaterThan(LEASE_MS)
  })
})

describe('defaults of a client', () => {
  const rig = useRig({ redis: 'all' })

  it('are those of semaphores and their permits', async () => {
    const locks = await rig.client({ ...brief(), leaseMs: LEASE_MS })
    const semaphore = locks.getSemaphore(rig.name('a'))
    await semaphore.trySetPermits(1)
    await semaphore.acquire()
    await expect(semaphore.acquire()).rejects.toThrow(LockTimeoutError)
    await rig.admin.del(rig.name('a'))
    const permits = locks.getPermitExpirableSemaphore(rig.name('b'))
    await permits.trySetPermits(1)
    const permit = await permits.acquirePermit({})
    expect(permit.trustedForMs).toBeLessThan(LEASE_MS)
    await expect(permits.acquire()).rejects.toThrow(LockTimeoutError)
    await permit.release()
    await Promise.all((await rig.admin.keys(`*${rig.name('b')}*`)).map((key) => rig.admin.del(key)))
  })
})

describe('a wait without a limit', () => {
  const rig = useRig({ redis: 'all' })
  const warnings = useWarnings()
  const CODE = 'HOLDFAST_ENDLESS_WAIT'
  const quick = (): Promise<LockClient> => rig.client({ runtime: minutesInAMoment() })

  it('a wait without a limit that lasts a minute is told of, once per name, with the holder and what to do', async () => {
    const holder = await rig.client({ clientName: 'the-holder' })
    const locks = await quick()
    const hold = await holder.getLock(rig.name()).acquire()
    // The minute begins when the first sleeps, which knows the holder by then.
    const { waiting } = await waitBehind(rig, rig.name(), () => locks.getLock(rig.name()).acquire())
    const waits = [waiting, locks.getLock(rig.name()).acquire()]
    await eventually(() => warnings.of(CODE).length > 0)
    const [warning, ...more] = await warnings.delivered(CODE)
    expect(more).toEqual([])
    expect(warning?.message).toMatch(/waited for 6\d s.*the-holder.*waitMs.*Infinity/)
    await hold.release()
    for (const wait of waits) {
      await (await wait).release()
    }
  })

  it('on purpose, or for oneself, is not told of by it; nor one that has a limit', async () => {
    const holder = await rig.client()
    const locks = await quick()
    // Somebody listens, and so the client counts each wait.
    locks.on('waiting', () => undefined)
    const hold = await holder.getLock(rig.name()).acquire()
    const told = await holder.getLock(rig.name('told')).acquire()
    const waits = [
      locks.getLock(rig.name()).acquire({ waitMs: Infinity }),
      locks.getLock(rig.name()).acquire({ waitMs: 600_000 }),
      locks.getLock(rig.name('told')).acquire(),
    ]
    await eventually(() => warnings.of(CODE, rig.name('told')).length > 0)
    expect(await warnings.delivered(CODE, rig.name())).toHaveLength(0)
    await Promise.all([hold, told].map((each) => each.release()))
    for (const wait of waits) {
      await (await wait).release()
    }
  })

  it('for a share of another client, inside the run of a share, is told of: each may need the other', async () => {
    const names = ['first', 'second'].map((each) => `${rig.name()}-${each}`)
    const given = new AbortController()
    const begun = [signalled(), signalled()]
    const needs = async (i: number): Promise<unknown> => {
      const locks = await quick()
      return getShare(locks, names[i]!).run('k', async () => {
        begun[i]!.resolve()
        await begun[1 - i]!.promise
        return getShare(locks, names[1 - i]!).run('k', () => 1, { signal: given.signal })
      })
    }
    const runs = Promise.allSettled([needs(0), needs(1)])
    const text = '-first:k": a call'
    await eventually(() => warnings.of(CODE, text).length > 0)
    const [warning] = await warnings.delivered(CODE, text)
    expect(warning?.message).toMatch(/^A share ".*the run of "share:.*-second:k" makes the call/)
    given.abort()
    await runs
  })

  it('for permits, and for a latch, is told of too', async () => {
    const locks = await quick()
    const semaphore = locks.getSemaphore(rig.name('seats'))
    await semaphore.trySetPermits(0)
    const latch = locks.getCountDownLatch(rig.name('steps'))
    await latch.trySetCount(1)
    const waits = [semaphore.acquire(2), latch.await()]
    await eventually(() => warnings.of(CODE).length === 2)
    const messages = warnings.of(CODE).map(({ message }) => message)
    expect(messages.join()).toMatch(/a semaphore "[^"]*seats".*2 permits, and 0 of them/)
    expect(messages.join()).toMatch(/a count-down latch "[^"]*steps".*has not reached 0/)
    await semaphore.release(2)
    await latch.countDown()
    await Promise.all(waits)
    await semaphore.release(0)
    await rig.admin.del(rig.name('seats'))
  })
})
