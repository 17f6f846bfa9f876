import { describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import {
  ClientClosedError,
  LockClient,
  LockError,
  LockLostError,
  NotLockOwnerError,
  RedisUnavailableError,
} from '../../src/index.js'
import { carrierOf, stateOf } from './support/carrier.js'
import { eventually, redisUrl, signalled, sleep, useHarness } from './support/harness.js'
import { reentrantKinds } from './support/lock-kinds.js'
import { usePrivateServer } from './support/private-server.js'

// What Redisson's own tests assert of renewal, and of owners and servers that fail (RedissonLockTest,
// -ExpirationRenewalTest, and the like of other kinds).

describe.each(reentrantKinds)('conformance, renewal: $name', (kind) => {
  const harness = useHarness()
  const clients = (count: number, options = {}): Promise<LockClient[]> =>
    Promise.all(Array.from({ length: count }, () => harness.client(options)))

  it('a lock whose owner process was killed is free within the watchdog time-out', async () => {
    const lock = kind.rivalOf(await harness.client(), harness.name())
    const worker = await WorkerProcess.start(new URL('./support/holder.worker.mjs', import.meta.url))
    try {
      const options = { lockWatchdogTimeout: 900, clientName: 'killed' }
      const owner = (await worker.call(
        'hold',
        redisUrl,
        { calls: kind.calls, name: harness.name() },
        options,
      )) as string
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
    const one = await LockClient.connect(carrierOf(redis), { lockWatchdogTimeout: 900, commandTimeout: 300 })
    const hold = await kind.of(one, harness.name()).acquire()
    const order: string[] = []
    hold.signal.addEventListener('abort', () => order.push('lost'))
    redis.disconnect()
    const next = await kind.rivalOf(await harness.client(), harness.name()).acquire()
    order.push('taken')
    expect(order).toEqual(['lost', 'taken'])
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
    await next.release()
    await one.close({ graceMs: 0 })
  })

  it('a wait that was aborted is not renewed: the lock is free once its holder has gone (I8)', async () => {
    const [one, other] = (await clients(2, { lockWatchdogTimeout: 600 })) as [LockClient, LockClient]
    const lock = kind.rivalOf(other, harness.name())
    const held = await kind.of(one, harness.name()).acquire()
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
})

describe.each(reentrantKinds)('conformance, renewal after re-entry: $name', (kind) => {
  const harness = useHarness()

  it('lock, lock, unlock, unlock: a later owner is renewed like the first', async () => {
    const options = { lockWatchdogTimeout: 450 }
    const [one, other] = [await harness.client(options), await harness.client(options)]
    const lock = kind.of(one, harness.name())
    await one.run(async () => {
      await lock.lock()
      await lock.lock()
      await lock.unlock()
      await lock.unlock()
    })
    for (const later of [one, other]) {
      const hold = await kind.of(later, harness.name()).acquire()
      await sleep(700)
      expect(hold.signal.aborted).toBe(false)
      await hold.verify()
      expect(await hold.release()).toBe('released')
    }
  })
})

describe.each(reentrantKinds)('conformance, the server fails: $name', (kind) => {
  const redis = usePrivateServer()

  it('tryLock against a stopped server throws, at once and with a wait: false would be a lie', async () => {
    const locks = await redis.client({ commandTimeout: 200 })
    const lock = kind.of(locks, 'lock')
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
    const lock = kind.of(locks, 'lock')
    await locks.run(async () => {
      const hold = await lock.lock()
      await redis.server.restart({ empty: true })
      await eventually(() => stateOf(connection) === 'ready')
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
