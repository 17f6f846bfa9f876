import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  fencedSet,
  InvalidArgumentError,
  LockClient,
  LockLostError,
  LockTimeoutError,
  RedisUnavailableError,
} from '@holdfast/core'
import { getShare } from '@holdfast/core/share'
import { luaSources } from '../../../core/src/redis/lua-sources.js'
import type { RedisPort } from '../../../core/src/redis/redis-port.js'
import type { Port } from '../../src/client/port.js'
import { TestRedis } from '../../src/index.js'

/** Fails to compile when core needs more of a connection than a TestRedis has. */
export const portOfCore = (port: Port): RedisPort => port

let redis: TestRedis
let clients: LockClient[]

beforeEach(() => {
  redis = new TestRedis({ time: 'manual' })
  clients = []
})

afterEach(async () => {
  redis.start()
  redis.condition = 'well'
  await during(Promise.all(clients.map((each) => each.close({ graceMs: 0 }))))
})

/** Lets time pass until it is settled: manual time does not by itself. */
async function during<T>(promise: Promise<T>): Promise<T> {
  const state = { isSettled: false }
  const settle = (): void => void (state.isSettled = true)
  promise.then(settle, settle)
  while (!state.isSettled) {
    await redis.advance(100)
  }
  return promise
}

function client(options: object = {}): LockClient {
  const made = new LockClient(redis, { bareCalls: 'allow', ...options })
  clients.push(made)
  return made
}

describe('a LockClient on a TestRedis', () => {
  it('locks out another, and lets it in by a message when it releases', async () => {
    const [one, other] = [client(), client()]
    const hold = await one.getLock('x').acquire()
    expect(await other.getLock('x').tryLock()).toBe(false)
    const waiting = other.getLock('x').acquire()
    await redis.settle()
    expect(await hold.release()).toBe('released')
    // Manual time has not passed: nothing but the message can have woken it.
    expect((await waiting).owner).toContain(other.clientId)
  })

  it.each(['getLock', 'getFairLock', 'getSpinLock', 'getFencedLock', 'getNonReentrantLock'] as const)(
    '%s serves ten callers of two clients, one at a time',
    async (kind) => {
      const names = [client(), client()]
      let inside = 0
      let most = 0
      const calls = Array.from({ length: 10 }, (_, i) =>
        names[i % 2]![kind]('x').withLock(async () => {
          inside += 1
          most = Math.max(most, inside)
          await redis.settle()
          inside -= 1
        }),
      )
      await during(Promise.all(calls))
      expect(most).toBe(1)
    },
  )

  it('lets a share run right after a lease of which Redis has said that 0 ms are left', async () => {
    const locks = client({ resyncInterval: 3_600_000 })
    const key = 'share:report:42'
    // A client of a process that has died.
    await redis.command('HSET', key, 'dead:1', 1)
    await redis.command('PEXPIRE', key, 1_000)
    const run = getShare(locks, 'report').run('42', () => 'made')
    await redis.settle()
    await redis.advance(1_000)
    expect(await redis.command('PTTL', key)).toBe(0)
    await redis.advance(1)
    expect(await run).toBe('made')
  })

  it('counts permits and latches, and gives out growing tokens', async () => {
    const one = client()
    const semaphore = one.getSemaphore('s')
    await semaphore.trySetPermits(2)
    expect([await semaphore.tryAcquire(), await semaphore.availablePermits()]).toEqual([expect.anything(), 1])
    const latch = one.getCountDownLatch('l')
    await latch.trySetCount(1)
    await latch.countDown()
    expect(await latch.getCount()).toBe(0)
    const first = await one.getFencedLock('f').acquire()
    await first.release()
    const second = await one.getFencedLock('f').acquire()
    expect(BigInt(second.token) > BigInt(first.token)).toBe(true)
    expect(await fencedSet(redis, { key: 'value', token: second.token, value: 'written' })).toMatchObject({
      accepted: true,
    })
    await second.release()
    await redis.command('DEL', 's', 'value')
  })
})

describe('time', () => {
  it('renews what is watched, for hours, and ends what is not', async () => {
    const one = client()
    const watched = await one.getLock('watched').acquire()
    const leased = await one.getLock('leased').acquire({ leaseMs: 10_000 })
    await redis.advance(10_001)
    expect(leased.signal.aborted).toBe(true)
    expect(await redis.command('EXISTS', 'leased')).toBe(0)
    await redis.advance(7_200_000)
    expect(watched.signal.aborted).toBe(false)
    expect(await redis.command('PTTL', 'watched')).toBeGreaterThan(19_000)
  })

  it('lets a wait run out, and a waiter take over from an owner that died', async () => {
    const [one, other] = [client(), client()]
    await one.getLock('x').acquire({ leaseMs: 60_000 })
    const timedOut = other.getLock('x').acquire({ waitMs: 5_000 })
    const refused = expect(timedOut).rejects.toThrow(LockTimeoutError)
    await redis.advance(5_000)
    await refused
    const later = other.getLock('x').acquire({ waitMs: 120_000 })
    await redis.advance(55_100)
    await expect(later).resolves.toBeDefined()
  })

  it('passes by itself too, unless it is manual', async () => {
    redis = new TestRedis()
    const [one, other] = [client(), client()]
    await one.getLock('x').acquire({ leaseMs: 3_600_000 })
    await expect(other.getLock('x').acquire({ waitMs: 500 })).rejects.toThrow(LockTimeoutError)
    await redis.advance(3_600_000)
    expect(await other.getLock('x').tryLock()).toBe(true)
  })

  it('goes on beside faked timers, which it leaves to the test', async () => {
    jest.useFakeTimers()
    try {
      redis = new TestRedis()
      const hold = await client().getLock('x').acquire()
      await redis.advance(60_000)
      expect(hold.signal.aborted).toBe(false)
      await hold.release()
    } finally {
      jest.useRealTimers()
    }
  })
})

describe('what goes wrong', () => {
  it('drop: the holder hears of it at its next renewal, and the next caller gets the lock', async () => {
    const [one, other] = [client(), client()]
    const hold = await one.getLock('x').acquire()
    expect(redis.drop('x')).toBe(true)
    expect(redis.drop('x')).toBe(false)
    expect(() => redis.drop(undefined as never)).toThrow('a name or argument must be text or bytes')
    expect(await other.getLock('x').tryLock()).toBe(true)
    expect(hold.signal.aborted).toBe(false)
    await redis.advance(10_500)
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
  })

  it('stop and start: an outage is survived within the lease, with the lock', async () => {
    const one = client()
    const hold = await one.getLock('x').acquire()
    redis.stop()
    await redis.advance(15_000)
    expect(hold.signal.aborted).toBe(false)
    redis.start()
    await redis.advance(15_000)
    expect(hold.signal.aborted).toBe(false)
    expect(await hold.release()).toBe('released')
  })

  it('stop: a lock is lost before its lease ends, and a wait ends as unavailable', async () => {
    const one = client()
    const hold = await one.getLock('x').acquire()
    redis.stop()
    const refused = expect(one.getLock('y').acquire()).rejects.toThrow(RedisUnavailableError)
    await redis.advance(30_000)
    await refused
    expect(hold.signal.aborted).toBe(true)
  })

  it('start({ empty: true }): a restart that keeps nothing is found out long before the next renewal', async () => {
    const one = client()
    const hold = await one.getLock('x').acquire()
    // A lease of the very moment of the restart would count as one taken after it.
    await redis.advance(1_000)
    redis.start({ empty: true })
    await redis.advance(500)
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
  })

  it('a waiter whose messages were cut off hears of the release after all', async () => {
    const [one, other] = [client(), client()]
    const hold = await one.getLock('x').acquire()
    const waiting = other.getLock('x').acquire()
    await redis.settle()
    redis.stop()
    redis.start()
    await redis.settle()
    await hold.release()
    await expect(waiting).resolves.toBeDefined()
  })

  it.each([
    [{ error: "OOM command not allowed when used memory > 'maxmemory'." }, RedisUnavailableError],
    [{ error: 'NOPERM this user has no permissions' }, RedisUnavailableError],
  ])('failNext(%j) refuses one call, and the next goes through', async (failure, error) => {
    const one = client()
    redis.failNext(failure)
    await expect(one.getLock('x').tryAcquire()).rejects.toThrow(error)
    expect(await one.getLock('x').tryLock()).toBe(true)
  })

  it.each(['before', 'after'] as const)(
    'failNext({ cut: %j }): the command is sent again and counts once',
    async (cut) => {
      const one = client()
      await redis.command('SCRIPT', 'LOAD', luaSources['lock/acquire'])
      redis.failNext({ cut }, { script: 'lock/acquire' })
      const hold = await one.getLock('x').acquire()
      expect(hold.count).toBe(1)
      expect(Object.values((await redis.command('HGETALL', 'x')) as object)[1]).toBe('1')
      await hold.release()
      expect(await redis.command('EXISTS', 'x')).toBe(0)
    },
  )

  it.each(['before', 'after'] as const)(
    'failNext({ silence: %j }): the caller hears that it is unknown',
    async (silence) => {
      const one = client()
      redis.failNext({ silence })
      const refused = expect(one.getLock('x').tryAcquire()).rejects.toThrow(RedisUnavailableError)
      await redis.advance(3_000)
      await refused
      await redis.advance(60_000)
      expect(await redis.command('EXISTS', 'x')).toBe(0)
    },
  )

  it.each(['loading', 'read only', 'out of memory'] as const)(
    '%s: locks are refused until it is well',
    async (condition) => {
      const one = client()
      redis.condition = condition
      const refused = expect(one.getLock('x').tryAcquire()).rejects.toThrow(RedisUnavailableError)
      await redis.advance(20_000)
      await refused
      redis.condition = 'well'
      expect(await one.getLock('x').tryLock()).toBe(true)
    },
  )

  const insisted: [string, (locks: LockClient) => Promise<() => Promise<unknown>>][] = [
    [
      'the release of a lock',
      async (locks) => {
        const hold = await locks.getLock('x').acquire()
        return () => hold.release()
      },
    ],
    [
      'the release of a semaphore',
      async (locks) => {
        const semaphore = locks.getSemaphore('x')
        await semaphore.trySetPermits(0)
        return () => semaphore.release()
      },
    ],
  ]
  it.each(insisted)(
    'close ends the pauses of %s that is tried again: no time has to pass',
    async (_, begin) => {
      const one = client()
      const release = await begin(one)
      redis.condition = 'loading'
      const released = release()
      await redis.settle()
      redis.condition = 'well'
      const closed = jest.fn()
      const closing = one.close().then(closed)
      await redis.settle()
      expect(closed).toHaveBeenCalled()
      await Promise.all([released, closing])
    },
  )

  it('restrict: a user without rights on the keys is told so', async () => {
    const one = client()
    redis.restrict({ keys: ['*mine:*'] })
    await expect(one.getLock('x').tryAcquire()).rejects.toThrow(/NOPERM/)
    expect(await one.getLock('mine:x').tryLock()).toBe(true)
    redis.restrict(null)
    expect(await one.getLock('x').tryLock()).toBe(true)
  })
})

it('refuses what it does not know', async () => {
  expect(() => new TestRedis({ time: 'virtual' as never })).toThrow(
    /time must be 'real' or 'manual', but is "virtual"/,
  )
  await expect(redis.advance(-1)).rejects.toThrow(/ms must be a finite number from 0 on, but is -1/)
  expect(() => redis.failNext({ cut: 'later' } as never)).toThrow(/failure must be .* but is {"cut":"later"}/)
  await expect(redis.command('GEOADD', 'a')).rejects.toThrow(/unknown command/)
})

const fail = (given: never): void => redis.failNext(given)
const failSo = (given: never): void => redis.failNext({ error: 'OOM' }, given)
it.each<[string, (given: never) => unknown, unknown, RegExp]>([
  ['a failure of two kinds', fail, { error: 'OOM', cut: 'after' }, /failure must be/],
  ['no failure', fail, null, /failure must be .* but is null/],
  ['of failNext', failSo, { time: 3 }, /options has no time, only times, script/],
  ['times', failSo, { times: 0 }, /times must be a whole number from 1/],
  ['script', failSo, { script: 7 }, /script must be the name/],
  ['of TestRedis', (given) => new TestRedis(given), { clock: 'manual' }, /options has no clock, only time/],
  ['of start', (given) => redis.start(given), { empties: true }, /options has no empties, only empty/],
  ['of listen', (given) => redis.listen(given), { ports: 1 }, /options has no ports, only port, host/],
  ['of restrict', (given) => redis.restrict(given), { key: ['a'] }, /permissions has no key, only denied/],
  ['condition', (given) => (redis.condition = given), 'full', /condition must be one of well.*but is full/],
])('an option that would do nothing is a TypeError: %s', async (_, call, given, said) => {
  const failure = await Promise.resolve()
    .then(() => call(given as never))
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(TypeError)
  expect((failure as TypeError).message).toMatch(said)
})

describe('in an environment that has signals of its own, as jsdom', () => {
  const { AbortController: ofNode } = globalThis
  afterEach(() => {
    globalThis.AbortController = ofNode
  })

  it('a client says how to choose that of Node', () => {
    globalThis.AbortController = class {
      signal = { aborted: false, addEventListener: () => undefined }
    } as never
    const make = () => new LockClient(redis)
    expect(make).toThrow(InvalidArgumentError)
    expect(make).toThrow(/AbortSignal must be that of Node.*jsdom.*"@jest-environment node"/)
  })
})
