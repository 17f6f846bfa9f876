import { describe as describeAlone, expect, it as itAlone } from '@jest/globals'
import { errorMonitor, type EventEmitter } from 'node:events'
import { ManualClock, type RedisServer } from '@holdfast/faults/harness'
import {
  ClientClosedError,
  InvalidArgumentError,
  LockClient,
  LockLostError,
  LockTimeoutError,
  NotLockOwnerError,
  type LockHold,
  type LockEvents,
} from '../../../src/index.js'
import { lostAt, nextEvent, renewed } from '../support/outcomes.js'
import { carrierOf, stateOf } from '../support/carrier.js'
import { eventually, signalled, sleep, useRig as useRigAlone } from '../support/rig.js'
import { lockKinds } from '../support/lock-kinds.js'
import { Stalls } from '../support/stalls.js'
import { describe, it, own, useRig } from '../support/together.js'
import { useWarnings } from '../support/warnings.js'

function reasonOf(hold: LockHold): unknown {
  return (hold.signal.reason as LockLostError | undefined)?.reason
}

function lostEvents(locks: LockClient): LockEvents['lost'][] {
  const events: LockEvents['lost'][] = []
  locks.on('lost', (event) => events.push(event))
  return events
}

const rig = useRig({ redis: 'all' })

describeAlone('hold: a loss, and what the process is warned of', () => {
  const rig = useRigAlone({ redis: 'all' })
  const warnings = useWarnings()

  itAlone('a loss that nobody listens to is one process warning', async () => {
    const locks = await rig.client()
    const lock = locks.getLock(rig.name())
    const hold = await lock.acquire()
    await lock.forceUnlock()
    expect(await hold.release()).toBe('lost')
    const warned = await warnings.delivered('HOLDFAST_LOST', rig.name())
    expect(warned).toHaveLength(1)
    expect(warned[0]!.message).toMatch(/released by force[^]*hold\.signal/)
    await lock.acquire()
    await lock.forceUnlock()
    expect(await warnings.delivered('HOLDFAST_LOST', rig.name())).toHaveLength(1)
  })

  itAlone('a loss that somebody listens to, by signal or by event, is no warning', async () => {
    const locks = await rig.client()
    const lock = locks.getLock(rig.name())
    const { signal } = await lock.acquire()
    await lock.forceUnlock()
    expect(signal.aborted).toBe(true)
    const events = lostEvents(locks)
    await lock.acquire()
    await lock.forceUnlock()
    expect(events).toHaveLength(1)
    expect(await warnings.delivered('HOLDFAST_LOST')).toEqual([])
  })

  itAlone("a listener of 'lost' that throws harms nobody: a warning tells of it", async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 })
    const lost = signalled()
    locks.on('lost', () => {
      throw new Error('listener\nfailed')
    })
    locks.on('lost', () => lost.resolve())
    const hold = await locks.getLock(rig.name()).acquire()
    const other = await locks.getLock(rig.name('other')).acquire()
    await rig.admin.del(rig.name())
    await lost.promise
    expect(hold.signal.aborted).toBe(true)
    const warned = await warnings.delivered('HOLDFAST_LISTENER', 'listener\\nfailed')
    expect(warned).toHaveLength(1)
    await renewed(other)
    await other.verify()
    expect(await other.release()).toBe('released')
    const next = await locks.getLock(rig.name()).acquire()
    expect(await next.release()).toBe('released')
  })
})

describe('hold: loss while Redis is silent', () => {
  const redis = useRig({ redis: 'test' })

  it.each(['at once', 'after a renewal'])(
    'the signal aborts before the lease ends, when Redis falls silent %s (I3)',
    async (when) => {
      const locks = await redis.client({ lockWatchdogTimeout: 900 })
      const stalls = new Stalls()
      const lock = locks.getLock('lock')
      let leaseSentAfter = performance.now()
      const hold = await lock.acquire()
      const abortedAt = lostAt(hold)
      if (when === 'after a renewal') {
        await sleep(500)
        // The latest renewal that Redis can have answered was sent no earlier than this.
        leaseSentAfter += 300
      }
      await redis.server.pause()
      const at = await abortedAt
      expect(at).toBeLessThan(leaseSentAfter + 900 + stalls.end())
      expect(hold.trustedForMs).toBe(0)
      expect(hold.signal.reason).toBeInstanceOf(LockLostError)
      expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired', lockName: 'lock' })
      expect(() => hold.ensure()).toThrow(LockLostError)
      redis.server.resume()
      expect(await hold.release()).toBe('lost')
    },
  )

  it('a silence that ends in time costs nothing: unknown is neither yes nor no', async () => {
    const locks = await redis.client({ lockWatchdogTimeout: 6_000, commandTimeout: 600 })
    const events: unknown[] = []
    locks.on('renewal-failed', (event) => events.push(event))
    const hold = await locks.getLock('lock').acquire()
    await redis.server.pause()
    await eventually(() => events.length > 0)
    redis.server.resume()
    await renewed(hold)
    expect(hold.signal.aborted).toBe(false)
    await hold.verify()
    expect(await hold.release()).toBe('released')
  })

  it.each(['its release', 'close'])(
    'what an unanswered renewal of a hold lost by silence still did is undone by %s (I2, I5)',
    async (end) => {
      const locks = await redis.client({ lockWatchdogTimeout: 1_200, commandTimeout: 200 })
      const hold = await locks.getLock('lock').acquire()
      await sleep(500)
      await redis.server.pause()
      await lostAt(hold)
      // The renewals that piled up before the server are served now, each good for another lease.
      redis.server.resume()
      await redis.server.command('PING')
      if (end === 'close') {
        await locks.close({ graceMs: 0 })
        expect(await redis.server.command('EXISTS', 'lock')).toBe(0)
      } else {
        expect(await hold.release()).toBe('lost')
        // Sooner than by the lease.
        await eventually(async () => (await redis.server.command('EXISTS', 'lock')) === 0, 1_000)
      }
    },
  )

  it('a release that Redis does not answer at first is tried until it does, also after many renewals (I2)', async () => {
    const locks = await redis.client({ lockWatchdogTimeout: 3_000, commandTimeout: 150 })
    const lock = locks.getLock('lock')
    const hold = await lock.acquire()
    for (let times = 0; times < 3; times += 1) await renewed(hold)
    await redis.server.pause()
    const release = hold.release()
    await sleep(400)
    redis.server.resume()
    expect(await release).toBe('released')
    expect(hold.signal.aborted).toBe(false)
    const next = await lock.acquire({ waitMs: 1_000 })
    expect(await next.release()).toBe('released')
  })

  it('a caller that gave up while its try was on its way has nothing afterwards (I8)', async () => {
    const locks = await redis.client({ lockWatchdogTimeout: 30_000, commandTimeout: 5_000 })
    const lock = locks.getLock('lock')
    await lock.isLocked()
    await redis.server.pause()
    const abort = new AbortController()
    const wait = lock.acquire({ signal: abort.signal })
    const timed = lock.acquire({ waitMs: 100 })
    abort.abort()
    await expect(wait).rejects.toBe(abort.signal.reason)
    await expect(timed).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    redis.server.resume()
    await redis.server.command('PING')
    // The commands on their way run now: a lock that is free at this moment may be taken, and released, the next.
    await eventually(() => lock.tryLock(), 1_000)
    await lock.unlock()
  })

  it('renewal-failed tells that the answer is missing, and for how long the hold is still trusted', async () => {
    const locks = await redis.client({ lockWatchdogTimeout: 3_000, commandTimeout: 200 })
    const failed = nextEvent(locks, 'renewal-failed')
    const hold = await locks.getLock('lock').acquire()
    await redis.server.pause()
    const event = await failed
    expect(event).toMatchObject({ lockName: 'lock', owner: hold.owner })
    expect(event.trustedForMs).toBeGreaterThan(0)
    expect(event.trustedForMs).toBeLessThan(3_000)
    redis.server.resume()
  })

  it.each<[string, (server: RedisServer) => Promise<void>]>([
    ['silent', (server) => server.pause()],
    ['gone', (server) => server.kill()],
  ])('a client that is closed while Redis is %s comes to an end (I5)', async (_how, end) => {
    const locks = await redis.client({ commandTimeout: 300 })
    const hold = await locks.getLock('lock').acquire()
    await end(redis.server)
    await locks.close({ graceMs: 50 })
    expect(reasonOf(hold)).toBe('closed')
    redis.server.resume()
    await redis.server.command('DEL', 'lock').catch(() => 'it is gone')
  })
})

describe('hold: loss', () => {
  it('a deleted key is noticed by the next renewal, and told once as an event', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 })
    const events = lostEvents(locks)
    const hold = await locks.getLock(rig.name()).acquire()
    const abortedAt = lostAt(hold)
    await rig.admin.del(rig.name())
    await abortedAt
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'gone', owner: hold.owner })
    expect(events).toEqual([
      { lockName: rig.name(), owner: hold.owner, error: hold.signal.reason as unknown },
    ])
    expect(await hold.release()).toBe('lost')
    expect(await rig.admin.exists(rig.name())).toBe(0)
    expect(events).toHaveLength(1)
  })

  it('other locks of the client go on when one is lost (I7)', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 })
    const lost = await locks.getLock(rig.name('lost')).acquire()
    const kept = await locks.getLock(rig.name('kept')).acquire()
    const abortedAt = lostAt(lost)
    await rig.admin.del(rig.name('lost'))
    await abortedAt
    await renewed(kept)
    expect(kept.signal.aborted).toBe(false)
    await kept.verify()
    expect(await kept.release()).toBe('released')
  })

  it('verify sees a deletion at once, and what it sees is final', async () => {
    const locks = await rig.client()
    const hold = await locks.getLock(rig.name()).acquire()
    await hold.verify()
    await rig.admin.del(rig.name())
    hold.ensure()
    await expect(hold.verify()).rejects.toThrow(LockLostError)
    expect(reasonOf(hold)).toBe('gone')
    expect(hold.signal.aborted).toBe(true)
    expect(() => hold.ensure()).toThrow(LockLostError)
    await expect(hold.verify()).rejects.toThrow(LockLostError)
    await expect(hold.extend(1_000)).rejects.toThrow(LockLostError)
    expect(hold.trustedForMs).toBe(0)
    expect(hold.lossError).toBe(hold.signal.reason)
  })

  it('maxHoldMs ends the renewal of a stuck holder: others get the lock, its signal aborts first', async () => {
    const [locks, others] = [
      await rig.client({ lockWatchdogTimeout: 1_500, maxHoldMs: 2_000 }),
      await rig.client(),
    ]
    const stalls = new Stalls()
    const startedAt = performance.now()
    const hold = await locks.getLock(rig.name()).acquire()
    const next = await others.getLock(rig.name()).acquire()
    expect(hold.signal.aborted).toBe(true)
    expect(reasonOf(hold)).toBe('expired')
    // A process that stands still for longer than a lease is not renewed until then.
    expect(performance.now() - startedAt + stalls.end()).toBeGreaterThan(1_990)
    await next.verify()
    expect(await next.release()).toBe('released')
  })
})

describe.each(lockKinds)('hold, taken away: $name', (kind) => {
  const locks = own(() => rig.client())
  const others = own(() => rig.client())

  it('a key that was deleted and taken by somebody else is noticed by the next renewal, which leaves it alone (I6)', async () => {
    const watched = await rig.client({ lockWatchdogTimeout: 3_000 })
    const hold = await kind.of(watched, rig.name()).acquire()
    const abortedAt = lostAt(hold)
    await kind.vanish(rig.admin, rig.name())
    const next = await kind.rivalOf(others, rig.name()).acquire({ leaseMs: 20_000 })
    await abortedAt
    expect(reasonOf(hold)).toBe('gone')
    expect(await hold.release()).toBe('lost')
    await next.verify()
    expect(await kind.holds(rig.admin, rig.name())).toEqual({ [next.owner]: '1' })
    expect(await next.release()).toBe('released')
  })

  it('verify sees that somebody else has it, or another thing has its name', async () => {
    const hold = await kind.of(locks, rig.name()).acquire()
    await kind.vanish(rig.admin, rig.name())
    const next = await kind.rivalOf(others, rig.name()).acquire()
    await expect(hold.verify()).rejects.toThrow(LockLostError)
    await kind.vanish(rig.admin, rig.name())
    await rig.admin.set(rig.name(), 'something else')
    await expect(next.verify()).rejects.toThrow(LockLostError)
    expect(await next.release()).toBe('lost')
    expect(await rig.admin.getdel(rig.name())).toBe('something else')
  })

  it('forceUnlock by another client aborts the signal of every level by message, long before a renewal', async () => {
    const holds = await locks.run(async () => {
      const lock = kind.of(locks, rig.name())
      return [await lock.lock(), ...(kind.reenters ? [await lock.lock()] : [])]
    })
    const allLost = Promise.all(holds.map(lostAt))
    expect(await kind.of(others, rig.name()).forceUnlock()).toBe(true)
    await allLost
    expect(holds.map(reasonOf)).toEqual(holds.map(() => 'forced'))
  })

  it("forceUnlock by the holder's own client aborts the signal before it resolves", async () => {
    const hold = await kind.of(locks, rig.name()).acquire()
    await kind.of(locks, rig.name()).forceUnlock()
    expect(reasonOf(hold)).toBe('forced')
  })

  it('a client made without connect hears of forceUnlock too', async () => {
    const unconnected = rig.clientNow()
    const hold = await kind.of(unconnected, rig.name()).acquire()
    const inbox = `holdfast:client:${unconnected.clientId}`
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', inbox)).length === 1)
    const abortedAt = lostAt(hold)
    await kind.of(others, rig.name()).forceUnlock()
    await abortedAt
    expect(reasonOf(hold)).toBe('forced')
  })

  it('a fixed lease that runs out aborts the signal before Redis lets go, and emits lost (I3)', async () => {
    const events = lostEvents(locks)
    const stalls = new Stalls()
    const startedAt = performance.now()
    const hold = await kind.of(locks, rig.name()).acquire({ leaseMs: 500 })
    const at = await lostAt(hold)
    expect(at).toBeLessThan(startedAt + 500 + stalls.end())
    expect(at).toBeGreaterThan(startedAt + 300)
    expect(reasonOf(hold)).toBe('expired')
    // The leases of several locks end one after another.
    await eventually(() => events.length === kind.locks)
    expect(events.map((each) => each.owner)).toContain(hold.owner)
    expect(await hold.release()).toBe('lost')
  })
})

describe('hold: what the handle does', () => {
  const locks = own(() => rig.client())
  const lock = own(() => locks.getLock(rig.name()))
  /** Its leases end, by its own account, when the test says so; in Redis long after the test. */
  const timed = async () => {
    const clock = new ManualClock()
    const locks = await rig.client({ runtime: clock })
    return { clock, locks, lock: locks.getLock(rig.name()) }
  }

  it('ensure is local: it passes while that much trust is left, and throws LockLostError otherwise', async () => {
    const hold = await lock.acquire()
    hold.ensure()
    hold.ensure(20_000)
    expect(hold.trustedForMs).toBeGreaterThan(20_000)
    expect(hold.trustedForMs).toBeLessThan(30_000)
    expect(() => hold.ensure(30_000)).toThrow(LockLostError)
    expect(() => hold.ensure(-1)).toThrow(InvalidArgumentError)
    expect(hold.signal.aborted).toBe(false)
    hold.ensure()
    expect(await hold.release()).toBe('released')
    expect(() => hold.ensure()).toThrow(NotLockOwnerError)
    await expect(hold.verify()).rejects.toThrow(NotLockOwnerError)
    await expect(hold.extend(1_000)).rejects.toThrow(NotLockOwnerError)
    expect(hold.trustedForMs).toBe(0)
  })

  it('ensure of a fixed lease counts down, and does not ask Redis', async () => {
    const { clock, lock } = await timed()
    const hold = await lock.acquire({ leaseMs: 30_000 })
    hold.ensure(29_000)
    clock.pass(1_100)
    expect(() => hold.ensure(29_000)).toThrow(LockLostError)
    expect(await hold.release()).toBe('released')
  })

  it('extend prolongs a fixed lease, in Redis and in local trust, and never shortens one', async () => {
    const { clock, lock } = await timed()
    const hold = await lock.acquire({ leaseMs: 10_000 })
    await hold.extend(90_000)
    expect(await lock.remainTimeToLive()).toBeGreaterThan(80_000)
    expect(hold.trustedForMs).toBeGreaterThan(80_000)
    await hold.extend(1_000)
    expect(await lock.remainTimeToLive()).toBeGreaterThan(80_000)
    expect(hold.trustedForMs).toBeGreaterThan(80_000)
    await clock.advance(10_100)
    expect(hold.signal.aborted).toBe(false)
    await hold.verify()
    await expect(hold.extend(0)).rejects.toThrow(InvalidArgumentError)
    expect(await hold.release()).toBe('released')
  })

  it('extend does not bring back what is gone (I6)', async () => {
    const hold = await lock.acquire({ leaseMs: 5_000 })
    await rig.admin.del(rig.name())
    await expect(hold.extend(10_000)).rejects.toThrow(LockLostError)
    expect(hold.signal.aborted).toBe(true)
    expect(await rig.admin.exists(rig.name())).toBe(0)
  })

  it('extend keeps a watched hold watched', async () => {
    const watched = await rig.client({ lockWatchdogTimeout: 3_000 })
    const hold = await watched.getLock(rig.name()).acquire()
    await hold.extend(3_500)
    await renewed(hold)
    expect(await hold.release()).toBe('released')
  })

  it('release answers still-held, released, already-released and lost', async () => {
    await locks.run(async () => {
      const [outer, inner] = [await lock.acquire(), await lock.acquire()]
      expect([outer.count, inner.count, inner.lockName]).toEqual([2, 2, rig.name()])
      expect(await outer.release()).toBe('still-held')
      expect(inner.count).toBe(1)
      inner.ensure()
      expect(await inner.release()).toBe('released')
      expect(await inner.release()).toBe('already-released')
      expect(await outer.release()).toBe('already-released')
    })
    const lost = await lock.acquire()
    await rig.admin.del(rig.name())
    expect(await lost.release()).toBe('lost')
    expect(lost.signal.aborted).toBe(true)
    expect(await lost.release()).toBe('already-released')
  })

  it('releases at the same time end one level each, whatever their order (I2)', async () => {
    await locks.run(async () => {
      const holds = [await lock.acquire(), await lock.acquire(), await lock.acquire()]
      const outcomes = await Promise.all(holds.map((hold) => hold.release()))
      expect(outcomes).toEqual(['still-held', 'still-held', 'released'])
      const hold = await lock.acquire()
      expect(await Promise.all([hold.release(), hold.release()])).toEqual(['released', 'already-released'])
    })
  })

  it('a released hold never aborts its signal', async () => {
    const { clock, locks, lock } = await timed()
    const hold = await lock.acquire({ leaseMs: 30_000 })
    const { signal } = hold
    await hold.release()
    await clock.advance(30_100)
    await lock.forceUnlock()
    await locks.close()
    expect(signal.aborted).toBe(false)
  })

  it('await using releases the lock', async () => {
    {
      await using hold = await lock.acquire()
      hold.ensure()
      expect(await lock.isLocked()).toBe(true)
    }
    expect(await lock.isLocked()).toBe(false)
  })

  it('await using of a hold that was lost throws LockLostError, of one that was released it does not', async () => {
    const block = async (inside: (hold: LockHold) => Promise<unknown>): Promise<string> => {
      await using hold = await lock.acquire()
      await inside(hold)
      return 'done'
    }
    expect(await block((hold) => hold.release())).toBe('done')
    await expect(block(() => rig.admin.del(rig.name()))).rejects.toMatchObject({ reason: 'gone' })
    await expect(block(() => lock.forceUnlock())).rejects.toMatchObject({ reason: 'forced' })
  })
})

describe.each(lockKinds)('hold, withLock: $name', (kind) => {
  const locks = own(() => rig.client())
  const lock = own(() => kind.of(locks, rig.name()))

  it('gives what the callback returns, sync or not, and frees the lock', async () => {
    expect(await lock.withLock(() => 'sync')).toBe('sync')
    expect(await lock.withLock(async () => Promise.resolve('async'))).toBe('async')
    expect(await lock.isLocked()).toBe(false)
  })

  it('the error of the callback wins, sync or not, and the lock is free', async () => {
    const mine = new Error('mine')
    const throwing = (): void => {
      throw mine
    }
    await expect(lock.withLock(throwing)).rejects.toBe(mine)
    await expect(lock.withLock(() => Promise.reject(mine))).rejects.toBe(mine)
    expect(await lock.isLocked()).toBe(false)
  })

  it('the error of the callback wins also when the lock was lost', async () => {
    const mine = new Error('mine')
    const work = async (): Promise<void> => {
      await lock.forceUnlock()
      throw mine
    }
    await expect(lock.withLock(work)).rejects.toBe(mine)
  })

  it.each(['noticed', 'not yet noticed'])(
    'a callback that succeeded although the lock was lost, %s: LockLostError with the result',
    async (how) => {
      const work = async (hold: LockHold): Promise<string> => {
        await kind.vanish(rig.admin, rig.name())
        if (how === 'noticed') {
          await hold.verify().catch(() => undefined)
        }
        return 'the result'
      }
      const failure = lock.withLock(work)
      await expect(failure).rejects.toThrow(LockLostError)
      await expect(failure).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'gone', result: 'the result' })
    },
  )

  it('the lock is still held while an async callback goes on, and a released hold is no error', async () => {
    await lock.withLock(async (hold) => {
      await sleep(20)
      expect(await lock.isHeldByCurrentContext()).toBe(true)
      expect(await hold.release()).toBe('released')
    })
    expect(await lock.isLocked()).toBe(false)
  })

  it('without getting the lock the callback does not run', async () => {
    const held = await kind.rivalOf(await rig.client(), rig.name()).acquire()
    const lock = kind.of(await rig.slow(), rig.name())
    let ran = false
    const work = (): void => {
      ran = true
    }
    await expect(lock.withLock(work, { waitMs: 1 })).rejects.toThrow(LockTimeoutError)
    const abort = new AbortController()
    const waiting = lock.withLock(work, { signal: abort.signal })
    abort.abort()
    await expect(waiting).rejects.toBe(abort.signal.reason)
    await held.release()
    expect(ran).toBe(false)
  })
})

describe.each(lockKinds)('hold, close: $name', (kind) => {
  const locks = own(() => rig.client())
  const lock = own(() => kind.of(locks, rig.name()))

  it('refuses new calls from its first moment', async () => {
    const closing = locks.close()
    const calls = [
      () => lock.lock(),
      () => lock.tryLock(),
      () => lock.acquire(),
      () => lock.tryAcquire(),
      () => lock.withLock(() => undefined),
      () => lock.forceUnlock(),
      () => locks.run(() => lock.lock()),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toThrow(ClientClosedError)
    }
    expect(() => kind.of(locks, rig.name())).toThrow(ClientClosedError)
    await closing
    for (const call of [...calls, () => lock.isLocked()]) {
      await expect(call()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
    }
  })

  it('waiters end with ClientClosedError while the holder still has its grace', async () => {
    const hold = await lock.acquire()
    const waiters = [
      lock.lock(),
      lock.tryLock(60_000),
      lock.acquire({ waitMs: 60_000 }),
      locks.run(() => lock.withLock(() => undefined)),
    ]
    const outcomes = Promise.allSettled(waiters)
    const closing = locks.close({ graceMs: 20_000 })
    for (const each of await outcomes) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'CLIENT_CLOSED' } })
    }
    expect(hold.signal.aborted).toBe(false)
    hold.ensure()
    expect(await hold.release()).toBe('released')
    await closing
    expect(hold.signal.aborted).toBe(false)
  })

  it('a holder may finish during the grace: its lock is renewed until then', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 })
    const hold = await kind.of(locks, rig.name()).acquire()
    const closing = locks.close({ graceMs: 20_000 })
    await renewed(hold)
    expect(hold.signal.aborted).toBe(false)
    await hold.verify()
    expect(await hold.release()).toBe('released')
    await closing
  })

  it('after the grace the signal aborts first, and then the lock is free', async () => {
    const others = await rig.client()
    const events = lostEvents(locks)
    const order: string[] = []
    const holds = await Promise.all(['one', 'other'].map((each) => kind.of(locks, rig.name(each)).acquire()))
    holds.forEach((hold) => hold.signal.addEventListener('abort', () => order.push('aborted')))
    const next = kind
      .rivalOf(others, rig.name('one'))
      .acquire()
      .then((hold) => {
        order.push('taken')
        return hold
      })
    await locks.close({ graceMs: 100 })
    expect(await rig.admin.exists(rig.name('other'))).toBe(0)
    await (await next).release()
    expect(order).toEqual(['aborted', 'aborted', 'taken'])
    expect(holds.map(reasonOf)).toEqual(['closed', 'closed'])
    expect(events).toHaveLength(2 * kind.locks)
    expect(new Set(events.map((each) => each.error.reason))).toEqual(new Set(['closed']))
    expect(await holds[0]!.release()).toBe('lost')
  })
})

describe('hold, close', () => {
  it('is safe twice, also at once and by await using', async () => {
    const locks = await rig.client()
    await locks.getLock(rig.name()).acquire()
    await Promise.all([locks.close({ graceMs: 50 }), locks.close({ graceMs: 0 })])
    await locks.close()
    {
      await using again = await rig.client()
      expect(await again.getLock(rig.name()).tryLock(0, 5_000)).toBe(true)
      await again.getLock(rig.name()).forceUnlock()
    }
  })

  it('leaves the connection it was given open and without listeners, and closes its own (I5)', async () => {
    const connection = rig.connection({ connectionName: rig.name() })
    const given = carrierOf(connection)
    await eventually(() => stateOf(connection) === 'ready')
    const events = ['connect', 'ready', 'reconnecting', 'close', 'end', 'error', errorMonitor, 'message']
    const listeners = (): number[] =>
      events.map((event) => (given as unknown as EventEmitter).listenerCount(event))
    const connections = (): Promise<number> => rig.connections(rig.name())
    const before = listeners()
    // Behind Sentinel a client of node-redis has two, and a LockClient opens two of its own (decision 0055).
    const ofGiven = await connections()
    const locks = await LockClient.connect(given, { onContextEnd: 'keep' })
    expect(await connections()).toBe(2 * ofGiven)
    const hold = await locks.getLock(rig.name()).acquire()
    const waiting = locks.run(() => locks.getLock(rig.name()).tryLock(60_000))
    await hold.release()
    expect(await waiting).toBe(true)
    await locks.close({ graceMs: 0 })
    expect(stateOf(connection)).toBe('ready')
    expect(listeners()).toEqual(before)
    await eventually(async () => (await connections()) === ofGiven)
    expect(await rig.admin.pubsub('CHANNELS', `*${locks.clientId}*`)).toEqual([])
  })

  it('closes the connection it opened itself (I5)', async () => {
    const { url } = rig
    const locks = await LockClient.connect(`${url}?connectionName=${rig.name()}`)
    expect(await rig.connections(rig.name())).toBeGreaterThan(0)
    await locks.close()
    await eventually(async () => (await rig.connections(rig.name())) === 0)
  })
})

describe.each(lockKinds)('hold, abort signals: $name', (kind) => {
  const locks = own(() => rig.client())
  const lock = own(() => kind.of(locks, rig.name()))

  it('a signal that has aborted already ends the call with its reason, and nothing is taken', async () => {
    const reason = { any: 'thing' }
    const signal = AbortSignal.abort(reason)
    const calls = [
      () => lock.acquire({ signal }),
      () => lock.acquire({ signal, waitMs: 1_000 }),
      () => lock.tryAcquire({ signal }),
      () => lock.withLock(() => undefined, { signal }),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toBe(reason)
    }
    expect(await lock.isLocked()).toBe(false)
  })

  it('an abort while waiting ends the wait with the reason of the signal', async () => {
    const held = await kind.rivalOf(await rig.client(), rig.name()).acquire()
    const waiting = nextEvent(locks, 'waiting')
    const plain = new AbortController()
    const custom = new AbortController()
    const waits = Promise.allSettled([
      lock.acquire({ signal: plain.signal }),
      lock.withLock(() => undefined, { signal: custom.signal }),
      lock.tryAcquire({ waitMs: 60_000, signal: custom.signal }),
      lock.acquire({ signal: AbortSignal.timeout(150) }),
    ])
    await waiting
    plain.abort()
    custom.abort('my reason')
    const reasons = (await waits).map((each) => (each as PromiseRejectedResult).reason as unknown)
    expect(reasons[0]).toBe(plain.signal.reason)
    expect(reasons.slice(1, 3)).toEqual(['my reason', 'my reason'])
    expect(reasons[3]).toMatchObject({ name: 'TimeoutError' })
    await held.verify()
    await held.release()
  })

  it('an abort after the lock was got changes nothing', async () => {
    const abort = new AbortController()
    const hold = await lock.acquire({ signal: abort.signal })
    abort.abort()
    expect(hold.signal.aborted).toBe(false)
    await hold.verify()
    expect(await hold.release()).toBe('released')
  })

  it('waiters that gave up leave no subscription, no queue and no lock within a second (I8)', async () => {
    const held = await kind.rivalOf(await rig.client(), rig.name()).acquire()
    const waiting = (): Promise<number> => kind.waiting(rig.admin, rig.name())
    const abort = new AbortController()
    const waits = Promise.allSettled([
      ...Array.from({ length: 10 }, () => lock.acquire({ signal: abort.signal })),
      ...Array.from({ length: 10 }, () => lock.acquire({ waitMs: 300 })),
    ])
    await eventually(async () => (await waiting()) > 0)
    abort.abort()
    const outcomes = await waits
    expect(outcomes.filter((each) => each.status === 'fulfilled')).toEqual([])
    await eventually(async () => (await waiting()) === 0, 1_000)
    await held.release()
    expect(await lock.isLocked()).toBe(false)
    expect(await lock.tryLock()).toBe(true)
    await lock.unlock()
  })

  it('a waiter that leaves does not swallow the wake-up: the next in line gets the lock (I4)', async () => {
    const others = await rig.client({ resyncInterval: 60_000 })
    const held = await kind.rivalOf(locks, rig.name()).acquire()
    const theirs = kind.of(others, rig.name())
    const waiting = nextEvent(others, 'waiting')
    const abort = new AbortController()
    const first = theirs.acquire({ signal: abort.signal })
    const second = theirs.acquire()
    await waiting
    await eventually(async () => (await kind.waiting(rig.admin, rig.name())) > 0)
    const released = held.release()
    abort.abort()
    await expect(first).rejects.toBe(abort.signal.reason)
    await released
    expect(await (await second).release()).toBe('released')
  })

  it('an abort while the first try is on its way leaves nothing: not the lock, not a renewal (I8)', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 })
    const lock = kind.of(locks, rig.name())
    for (let i = 0; i < 20; i += 1) {
      const abort = new AbortController()
      const call = lock.acquire({ signal: abort.signal })
      abort.abort()
      await expect(call).rejects.toBe(abort.signal.reason)
    }
    // The lock of an aborted try is undone, on its own way and in its own time.
    await eventually(() => lock.tryLock(), 1_000)
    await lock.unlock()
  })
})
