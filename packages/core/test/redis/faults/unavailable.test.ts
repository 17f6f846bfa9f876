import { expect } from '@jest/globals'
import type { Redis } from 'ioredis'
import {
  LockClient,
  LockLostError,
  RedisUnavailableError,
  type LockClientOptions,
} from '../../../src/index.js'
import { acquireScript, releaseScript } from '../../../src/scripts/lock.js'
import { aborted, nextEvent } from '../support/outcomes.js'
import { carrierOf, stateOf } from '../support/carrier.js'
import { JavaClient } from '../support/java-client.js'
import { runsOf } from '../support/requests.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, useRig } from '../support/together.js'

const NAME = 'order:42'
const CHANNEL = 'redisson_lock__channel:{order:42}'
// Timers of Node may be a little early.
const EARLY_MS = 10

// Keeps its data over a crash: every write is on disk before it is answered.
const rig = useRig({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })

/** How a call failed, and after how many ms. */
async function failureOf(call: () => Promise<unknown>): Promise<{ error: unknown; afterMs: number }> {
  const startedAt = performance.now()
  try {
    const result = await soon(call(), 12_000)
    throw new Error(`It did not fail, but gave ${String(result)}`)
  } catch (error) {
    return { error, afterMs: performance.now() - startedAt }
  }
}

async function expectUnavailable(
  call: () => Promise<unknown>,
  atLeastMs = 0,
): Promise<RedisUnavailableError> {
  const { error, afterMs } = await failureOf(call)
  expect(error).toBeInstanceOf(RedisUnavailableError)
  expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE' })
  expect(afterMs).toBeGreaterThanOrEqual(atLeastMs - EARLY_MS)
  return error as RedisUnavailableError
}

const free = async (): Promise<boolean> => (await rig.admin.exists(NAME)) === 0

/** A Java holder with minutes to go, and a caller of ours that waits for it. */
async function waitBehindJava<T>(wait: () => Promise<T>): Promise<{ java: JavaClient; waiting: Promise<T> }> {
  const java = new JavaClient(rig.admin)
  await java.hold(NAME, 120_000)
  const waiting = wait()
  waiting.catch(() => undefined)
  await rig.heard(NAME)
  return { java, waiting }
}

describe('Redis is down at the start', () => {
  it.each<[string, () => string | object]>([
    ['a URL', () => `${rig.server.url}?connectionName=${rig.connectionName}`],
    [
      'options',
      () => ({ port: rig.server.port, connectionName: rig.connectionName, retryStrategy: () => 20 }),
    ],
    ['a client', () => rig.connection()],
    ['a lazy client', () => rig.connection({ lazyConnect: true })],
  ])(
    'connect rejects after unavailableTimeoutMs and leaves nothing behind (I5): %s',
    async (_what, target) => {
      await rig.server.kill()
      const given = target()
      const opening = (): Promise<LockClient> => LockClient.connect(given, { unavailableTimeoutMs: 1_000 })
      const refused = `connect ECONNREFUSED 127.0.0.1:${rig.server.port}`
      expect(await expectUnavailable(opening, 1_000)).toMatchObject({
        ...{ outcome: 'not-sent', transient: true },
        message: `No connection to Redis within 1000 ms: ${refused}. Check that Redis runs, and the host, port and password that were given.`,
        cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
      })
      await rig.server.restart()
      if (typeof given === 'object' && 'status' in given) {
        // A client it was given stays open.
        expect(await soon((given as Redis).ping())).toBe('PONG')
      }
    },
  )

  it('a client on a connection that is not there yet works once Redis is up', async () => {
    await rig.server.kill()
    const locks = rig.clientNow()
    const waiting = locks.getLock(NAME).acquire()
    await rig.server.restart()
    const hold = await soon(waiting)
    expect(await rig.admin.hgetall(NAME)).toEqual({ [hold.owner]: '1' })
    expect(await hold.release()).toBe('released')
  })

  it('a call without an answer is never a "no", and close settles (I5)', async () => {
    await rig.server.kill()
    const locks = rig.clientNow({ commandTimeout: 150, unavailableTimeoutMs: 300 })
    const lock = locks.getLock(NAME)
    for (const call of [
      () => lock.tryLock(),
      () => lock.tryLock(200),
      () => lock.tryAcquire(),
      () => lock.acquire(),
      () => lock.isLocked(),
      () => lock.forceUnlock(),
    ]) {
      expect(await expectUnavailable(call)).toMatchObject({ lockName: NAME })
    }
    await soon(locks.close())
    await rig.server.restart()
  })
})

describe('Redis goes down while a caller waits', () => {
  it.each<[string, (locks: LockClient) => Promise<unknown>]>([
    ['tryLock', (locks) => locks.getLock(NAME).tryLock(2_000)],
    ['tryAcquire', (locks) => locks.getLock(NAME).tryAcquire({ waitMs: 2_000 })],
    ['acquire', (locks) => locks.getLock(NAME).acquire({ waitMs: 2_000 })],
  ])('with a deadline: REDIS_UNAVAILABLE at the deadline, never "no": %s', async (_name, wait) => {
    // The patience of calls without a deadline plays no part.
    const locks = await rig.client({ resyncInterval: 100, commandTimeout: 200, unavailableTimeoutMs: 1_000 })
    await expectUnavailable(async () => {
      const { waiting } = await waitBehindJava(() => wait(locks))
      await rig.server.kill()
      return waiting
    }, 2_000)
    await rig.server.restart()
    await rig.admin.del(NAME)
  })

  it('without a deadline: REDIS_UNAVAILABLE after unavailableTimeoutMs, for everybody in the line', async () => {
    const options = { resyncInterval: 100, commandTimeout: 200, unavailableTimeoutMs: 600 }
    const locks = await rig.impatient(options)
    const { waiting } = await waitBehindJava(() => locks.getLock(NAME).lock())
    const second = locks.getLock(NAME).acquire()
    second.catch(() => undefined)
    await expectUnavailable(async () => {
      await rig.server.kill()
      return waiting
    }, 600)
    await expectUnavailable(() => second)
    await rig.server.restart()
    await rig.admin.del(NAME)
  })

  it('it comes back in time, with its data: the wait goes on and succeeds (I4)', async () => {
    // No tick and no lease helps: only the new subscription does.
    const locks = await rig.client({ resyncInterval: 20_000 })
    const { java, waiting } = await waitBehindJava(() => locks.getLock(NAME).lock())
    await rig.server.kill()
    await rig.server.restart()
    // The subscription may not be there yet: nobody hears the message then.
    await java.unlock(NAME)
    const hold = await soon(waiting)
    expect(await hold.release()).toBe('released')
  })

  it('it comes back in time, empty: the wait succeeds (I4)', async () => {
    const locks = await rig.client({ resyncInterval: 20_000 })
    const lock = locks.getLock(NAME)
    const { waiting } = await waitBehindJava(() => lock.tryLock(15_000))
    await rig.server.restart({ empty: true })
    expect(await soon(waiting)).toBe(true)
    await lock.unlock()
  })
})

describe('Redis stands still', () => {
  const ends: Record<string, [LockClientOptions, (locks: LockClient) => Promise<void>]> = {
    'a limited wait ends at its deadline': [
      {},
      async (locks) => {
        await expectUnavailable(() => locks.getLock(NAME).tryLock(500), 500)
      },
    ],
    'one attempt ends after commandTimeout': [
      { commandTimeout: 300 },
      async (locks) => {
        const error = await expectUnavailable(() => locks.getLock(NAME).tryLock(), 300)
        expect(error).toMatchObject({ outcome: 'unknown', lockName: NAME })
        expect(error.message).toContain('300 ms')
      },
    ],
    'an aborted wait ends at once': [
      {},
      async (locks) => {
        const abort = new AbortController()
        const waiting = locks.getLock(NAME).acquire({ signal: abort.signal })
        abort.abort(new Error('enough'))
        await expect(soon(waiting)).rejects.toThrow('enough')
      },
    ],
  }
  it.each(Object.entries(ends))(
    '%s, and leaves no orphan hold when Redis goes on (I8)',
    async (_what, [options, end]) => {
      const connection = rig.connection()
      const locks = await rig.client(options, connection)
      await rig.server.pause()
      await end(locks)
      rig.server.resume()
      // After the answer to this PING Redis has run all that was sent before it.
      await soon(connection.ping())
      await eventually(free)
    },
  )

  it('a wait that outlasts the stand-still succeeds, with one hold (I2)', async () => {
    const locks = await rig.client({ commandTimeout: 200, resyncInterval: 100 })
    await rig.server.pause()
    const waiting = locks.getLock(NAME).lock()
    await failureOf(() => locks.getLock('another').tryLock())
    rig.server.resume()
    const hold = await soon(waiting)
    expect(await rig.admin.hgetall(NAME)).toEqual({ [hold.owner]: '1' })
    expect(await hold.release()).toBe('released')
    await eventually(async () => (await rig.admin.exists(NAME, 'another')) === 0)
  })

  it('every question ends after commandTimeout with an unknown outcome, which loses no hold', async () => {
    const locks = await rig.client({ commandTimeout: 200 })
    const lock = locks.getLock(NAME)
    const hold = await lock.acquire()
    await rig.server.pause()
    for (const ask of [
      () => lock.isLocked(),
      () => lock.remainTimeToLive(),
      () => lock.getHoldCount(),
      () => hold.verify(),
      () => hold.extend(60_000),
    ]) {
      expect(await expectUnavailable(ask, 200)).toMatchObject({ outcome: 'unknown', transient: true })
    }
    expect(hold.signal.aborted).toBe(false)
    rig.server.resume()
    await hold.verify()
    expect(await hold.release()).toBe('released')
  })
})

describe('Redis goes down while a lock is held', () => {
  it('the hold is lost before its lease ends, without an answer (I3)', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000, commandTimeout: 200 })
    const [failed, lost] = [nextEvent(locks, 'renewal-failed'), nextEvent(locks, 'lost')]
    const hold = await locks.getLock(NAME).acquire()
    // Counted from the sending, less a margin of 50 ms and 1 %.
    expect(hold.trustedForMs).toBeLessThanOrEqual(3_000 - 80)
    await rig.server.kill()
    const failure = await failed
    expect(failure).toMatchObject({ lockName: NAME, owner: hold.owner })
    expect(failure.error).toBeInstanceOf(RedisUnavailableError)
    expect(failure.trustedForMs).toBeGreaterThan(0)
    expect(await lost).toMatchObject({ lockName: NAME, owner: hold.owner, error: { reason: 'expired' } })
    expect(hold.signal.aborted).toBe(true)
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
    expect(hold.trustedForMs).toBe(0)
    expect(() => hold.ensure()).toThrow(LockLostError)
    expect(await hold.release()).toBe('lost')
    await rig.server.restart()
    await eventually(free)
  })

  it('the loss tells a lease whose renewals failed from one that was fixed, with durations', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000, commandTimeout: 200 })
    const lost: LockLostError[] = []
    locks.on('lost', ({ error }) => lost.push(error))
    const fixed = await locks.getLock('fixed').acquire({ leaseMs: 300 })
    await eventually(() => lost.length === 1)
    expect(lost[0]).toMatchObject({ reason: 'expired', lease: { leaseMs: 300, renewed: false } })
    expect(lost[0]!.cause).toBeUndefined()
    expect(lost[0]!.message).toMatch(
      /^Lock "fixed" was lost: its lease of 300 ms, taken \d+ ms ago, can no longer be trusted\. Stop the work .* leaseMs/,
    )
    expect(fixed.lossError).toBe(lost[0])

    const work = locks.getLock(NAME).withLock(async ({ signal }) => {
      await rig.server.kill()
      await aborted(signal)
      return 'done'
    })
    const withResult = await soon(work).catch((error: unknown) => error)
    const [, renewed] = lost
    expect(renewed).toMatchObject({ reason: 'expired', lease: { leaseMs: 3_000, renewed: true } })
    expect(renewed!.cause).toBeInstanceOf(RedisUnavailableError)
    // Trust ends before the lease does, by a margin of 80 ms.
    expect(renewed!.lease!.confirmedMsAgo).toBeGreaterThanOrEqual(3_000 - 80)
    const ago = Math.round(renewed!.lease!.confirmedMsAgo)
    const why = (renewed!.cause as Error).message
    const message = `renewals failed, and its lease of 3000 ms, last confirmed ${ago} ms ago, can no longer be trusted: ${why}`
    expect(renewed!.message).toBe(
      `Lock "${NAME}" was lost: ${message} Stop the work that it protects: another caller may be doing it by now.`,
    )
    expect(withResult).toMatchObject({
      result: 'done',
      cause: renewed,
      lease: renewed!.lease,
      message: renewed!.message,
    })
    await rig.server.restart()
    await eventually(free)
    await rig.admin.del('fixed')
  })

  it.each<[string, () => unknown, () => unknown]>([
    ['goes on in time', () => rig.server.pause(), () => rig.server.resume()],
    ['comes back in time with its data', () => rig.server.kill(), () => rig.server.restart()],
  ])('it %s: renewal goes on and nothing is lost', async (_what, end, begin) => {
    const locks = await rig.client({ lockWatchdogTimeout: 4_500, commandTimeout: 200 })
    const failed = nextEvent(locks, 'renewal-failed')
    const hold = await locks.getLock(NAME).acquire()
    await end()
    await failed
    await begin()
    await eventually(async () => (await rig.admin.pttl(NAME)) > 4_000)
    expect(hold.signal.aborted).toBe(false)
    await hold.verify()
    expect(await hold.release()).toBe('released')
  })
})

describe('Redis goes down before a release', () => {
  const impatient: LockClientOptions = { commandTimeout: 200, unavailableTimeoutMs: 500 }

  it('REDIS_UNAVAILABLE after unavailableTimeoutMs, and the lock is free once Redis is back', async () => {
    const locks = await rig.impatient(impatient)
    const hold = await locks.getLock(NAME).acquire()
    await rig.server.kill()
    await expectUnavailable(() => hold.release(), 500)
    expect(await hold.release()).toBe('already-released')
    await rig.server.restart()
    await eventually(free)
  })

  it('the same where Redis only stands still', async () => {
    const locks = await rig.impatient(impatient)
    const lock = locks.getLock(NAME)
    await lock.lock()
    await rig.server.pause()
    await expectUnavailable(() => lock.unlock(), 500)
    rig.server.resume()
    await eventually(free)
  })

  it('unavailableTimeoutMs is the limit also where commandTimeout is longer', async () => {
    const locks = await rig.impatient({ commandTimeout: 20_000, unavailableTimeoutMs: 300 })
    const hold = await locks.getLock(NAME).acquire()
    await rig.server.kill()
    const { error, afterMs } = await failureOf(() => hold.release())
    expect(error).toBeInstanceOf(RedisUnavailableError)
    expect(afterMs).toBeLessThan(10_000)
    await rig.server.restart()
    await eventually(free)
  })

  it('a release that Redis takes in time is a release', async () => {
    const locks = await rig.client({ commandTimeout: 200 })
    const hold = await locks.getLock(NAME).acquire()
    await rig.server.kill()
    const releasing = hold.release()
    await rig.server.restart()
    expect(await soon(releasing)).toBe('released')
    expect(await free()).toBe(true)
  })

  it('withLock still gives its result, and release-failed tells', async () => {
    const locks = await rig.impatient({ ...impatient, lockWatchdogTimeout: 2_000 })
    const failed = nextEvent(locks, 'release-failed')
    const result = await soon(
      locks.getLock(NAME).withLock(async (hold) => {
        await rig.server.kill()
        return hold.owner
      }),
    )
    const event = await failed
    expect(event).toMatchObject({ lockName: NAME, owner: result })
    expect(event.error).toBeInstanceOf(RedisUnavailableError)
    await rig.server.restart()
    await eventually(free)
  })
})

describe.each<[string, object]>([
  ['its defaults', {}],
  ['enableOfflineQueue: false', { enableOfflineQueue: false }],
  ['maxRetriesPerRequest: 1', { maxRetriesPerRequest: 1 }],
  ['maxRetriesPerRequest: 0', { maxRetriesPerRequest: 0 }],
  ['autoResendUnfulfilledCommands: false', { autoResendUnfulfilledCommands: false }],
  ['lazyConnect: true', { lazyConnect: true }],
  ['enableReadyCheck: false', { enableReadyCheck: false }],
  ['a commandTimeout of its own', { commandTimeout: 1_000 }],
])('an ioredis client with %s, whose connection breaks', (_name, options) => {
  const open = async () => {
    const proxy = await rig.proxy()
    // Without autoResendUnfulfilledCommands ioredis forgets what was in flight: nothing but this ends it.
    const limits = { resyncInterval: 100, commandTimeout: 2_000 }
    const locks = rig.clientNow(limits, rig.connection(options, proxy))
    return { proxy, locks, lock: locks.getLock(NAME) }
  }

  it('a wait goes on, and ends in one hold (I2)', async () => {
    const { proxy, lock } = await open()
    const { java, waiting } = await waitBehindJava(() => lock.lock())
    const refusal = proxy.loseReply(runsOf(acquireScript))
    await soon(refusal.happened)
    const success = proxy.loseReply(runsOf(acquireScript))
    await java.unlock(NAME)
    const hold = await soon(waiting)
    await success.happened
    expect(await rig.admin.hgetall(NAME)).toEqual({ [hold.owner]: '1' })
    await hold.verify()
    expect(await hold.release()).toBe('released')
    expect(await free()).toBe(true)
  })

  it('one attempt whose reply is lost: a true hold or REDIS_UNAVAILABLE, and no orphan (I8)', async () => {
    const { proxy, lock } = await open()
    const fault = proxy.loseReply(runsOf(acquireScript))
    const outcome = await soon(lock.tryLock()).catch((error: unknown) => error)
    expect(fault.count).toBe(1)
    if (outcome === true) {
      expect(await lock.getHoldCount()).toBe(1)
      await lock.unlock()
      expect(await free()).toBe(true)
    } else {
      expect(outcome).toBeInstanceOf(RedisUnavailableError)
      await eventually(free)
    }
  })

  it('a release whose reply is lost is a release, and the next caller gets the lock', async () => {
    const { proxy, lock } = await open()
    const hold = await lock.acquire()
    const fault = proxy.loseReply(runsOf(releaseScript))
    expect(await soon(hold.release())).toBe('released')
    expect(fault.count).toBe(1)
    expect(await free()).toBe(true)
    expect(await soon(lock.withLock(() => 'done'))).toBe('done')
  })
})

describe('a client that gives up connecting (its strategy says so)', () => {
  it('every call is REDIS_UNAVAILABLE at once, and so is a wait under way', async () => {
    const connection = rig.connection({ retryStrategy: () => null })
    const locks = await rig.client({ unavailableTimeoutMs: 60_000, resyncInterval: 200 }, connection)
    const held = await locks.getLock('held').acquire({ leaseMs: 60_000 })
    const { waiting } = await waitBehindJava(() => locks.getLock(NAME).lock())
    await rig.server.kill()
    await eventually(() => stateOf(connection) === 'end')
    await expectUnavailable(() => waiting)
    const lock = locks.getLock(NAME)
    for (const call of [
      () => lock.lock(),
      () => lock.tryLock(),
      () => lock.tryLock(60_000),
      () => lock.acquire({ waitMs: 60_000 }),
      () => lock.withLock(() => undefined),
      () => lock.isLocked(),
      () => lock.forceUnlock(),
      () => held.verify(),
      () => held.extend(90_000),
      () => held.release(),
      () => LockClient.connect(carrierOf(connection), { unavailableTimeoutMs: 60_000 }),
    ]) {
      expect(await expectUnavailable(() => soon<unknown>(call()))).toMatchObject({ outcome: 'not-sent' })
    }
    await soon(locks.close())
    await rig.server.restart()
    await rig.admin.del(NAME, 'held')
  })
})

describe('the subscriber’s connection is killed', () => {
  it('the waiter still gets the lock, although it heard no message (I4)', async () => {
    const locks = await rig.client({ resyncInterval: 20_000 })
    for (let round = 0; round < 3; round += 1) {
      await rig.server.resetStats()
      const { waiting } = await waitBehindJava(() => locks.getLock(NAME).lock())
      // It looks once more when it is subscribed.
      await eventually(async () => ((await rig.server.commandStats()).get('evalsha') ?? 0) >= 2)
      // At one moment: the message goes to nobody.
      const results = await rig.admin
        .multi()
        .call('CLIENT', 'KILL', 'TYPE', 'pubsub')
        .del(NAME)
        .publish(CHANNEL, '0')
        .exec()
      expect(results?.map(([, result]) => result)).toEqual([1, 1, 0])
      const hold = await soon(waiting)
      expect(await hold.release()).toBe('released')
    }
  })

  it('it is subscribed again: later messages wake, and a force-release is heard', async () => {
    const locks = await rig.client({ resyncInterval: 20_000 })
    const { java, waiting } = await waitBehindJava(() => locks.getLock(NAME).lock())
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await rig.heard(NAME)
    await java.unlock(NAME)
    const hold = await soon(waiting)
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await eventually(async () => (await rig.listeners(`holdfast:client:${locks.clientId}`)) === 1)
    const lost = nextEvent(locks, 'lost')
    expect(await (await rig.client()).getLock(NAME).forceUnlock()).toBe(true)
    expect(await lost).toMatchObject({ owner: hold.owner, error: { reason: 'forced' } })
  })
})

describe('the process is busy for longer than commandTimeout', () => {
  it('a reply that arrived meanwhile counts: the command is not sent again (I3)', async () => {
    const locks = await rig.client({ commandTimeout: 200 })
    await locks.getLock(NAME).withLock(() => undefined)
    await rig.admin.config('RESETSTAT')
    const acquiring = locks.getLock(NAME).acquire()
    // Commands leave at the end of the turn; this runs after them.
    await new Promise<void>((resolve) => {
      process.nextTick(() => {
        const endsAt = performance.now() + 500
        while (performance.now() < endsAt);
        resolve()
      })
    })
    const hold = await soon(acquiring)
    expect(await rig.admin.info('commandstats')).toMatch(/cmdstat_evalsha:calls=1,/)
    expect(await hold.release()).toBe('released')
  })
})
