import { expect } from '@jest/globals'
import { commandsIn, ManualClock, WorkerProcess } from '@holdfast/faults/harness'
import {
  ClientClosedError,
  LockError,
  LockLostError,
  NotLockOwnerError,
  RedisUnavailableError,
  type AcquireOptions,
  type LockClientOptions,
} from '../../../src/index.js'
import { renewScript } from '../../../src/scripts/lock.js'
import { atOnce } from '../support/at-once.js'
import { renewed, rises } from '../support/outcomes.js'
import { stateOf } from '../support/carrier.js'
import { eventually, redisUrl } from '../support/rig.js'
import { reentrantKinds } from '../support/lock-kinds.js'
import { describe, it, itAtOnce, useRig } from '../support/together.js'

// Redisson's own tests assert this of renewal, and of owners and servers that fail (RedissonLockTest,
// -ExpirationRenewalTest, and the like of other kinds).

describe('conformance, renewal, of each kind of lock', () => {
  const rig = useRig({ redis: 'all' })

  it('a lock whose owner process was killed is free within the watchdog time-out', async () => {
    const locks = await rig.client()
    const worker = await WorkerProcess.start(new URL('../support/holder.worker.mjs', import.meta.url))
    const all = reentrantKinds.map((kind) => {
      const name = rig.name(kind.name)
      return { kind: kind.name, calls: kind.calls, name, lock: kind.rivalOf(locks, name) }
    })
    try {
      const options = { lockWatchdogTimeout: 2_000, clientName: 'killed' }
      for (const { calls, name } of all) {
        expect(await worker.call('hold', redisUrl, { calls, name }, options)).toMatch(/^killed~/)
      }
      // They live on renewals, as long as their owner does.
      await Promise.all(all.map(({ name }) => rises(() => rig.admin.pttl(name))))
      for (const { kind, lock } of all) expect([kind, await lock.tryLock()]).toEqual([kind, false])
      for (const { kind, name } of all) expect([kind, await worker.call('held', name)]).toEqual([kind, true])
    } finally {
      await worker.kill()
    }
    for (const { name } of all) expect(await rig.admin.pttl(name)).toBeLessThanOrEqual(2_000)
    for (const { lock } of all) {
      await lock.lock()
      await lock.unlock()
    }
  })

  it.each<AcquireOptions>([{}, { leaseMs: 900, renew: true }])(
    'an owner whose connection has ended for good stops trusting the lock before it is free for others, of each kind: %j (I3)',
    (request) =>
      atOnce(reentrantKinds, async (kind) => {
        const [redis, name] = [rig.connection(), rig.name(kind.name)]
        const one = await rig.client({ lockWatchdogTimeout: 900, commandTimeout: 300 }, redis)
        const hold = await kind.of(one, name).acquire(request)
        const order: string[] = []
        hold.signal.addEventListener('abort', () => order.push('lost'))
        redis.disconnect()
        const next = await kind.rivalOf(await rig.client(), name).acquire()
        order.push('taken')
        expect(order).toEqual(['lost', 'taken'])
        expect(hold.signal.reason).toBeInstanceOf(LockLostError)
        await next.release()
      }),
  )

  itAtOnce(
    'lock, lock, unlock, unlock: a later owner is renewed like the first',
    reentrantKinds,
    async (kind) => {
      const client = () => rig.client({ lockWatchdogTimeout: 2_400 })
      const [one, other] = [await client(), await client()]
      const name = rig.name(kind.name)
      const lock = kind.of(one, name)
      await one.run(async () => {
        await lock.lock()
        await lock.lock()
        await lock.unlock()
        await lock.unlock()
      })
      for (const next of [one, other]) {
        const hold = await kind.of(next, name).acquire()
        await renewed(hold)
        await hold.verify()
        expect(await hold.release()).toBe('released')
      }
    },
  )
})

describe('conformance, the server fails, with each kind of lock', () => {
  const redis = useRig({ redis: 'test' })

  it('tryLock against a stopped server throws, at once and with a wait: false would be a lie', async () => {
    const locks = await redis.client({ commandTimeout: 200 })
    const all = reentrantKinds.map((kind) => kind.of(locks, kind.name))
    await redis.server.stop()
    await Promise.all(
      all.map(async (lock) => {
        await expect(lock.tryLock()).rejects.toThrow(RedisUnavailableError)
        await expect(lock.tryLock(500)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
        await expect(lock.isLocked()).rejects.toThrow(LockError)
      }),
    )
    await locks.close({ graceMs: 0 })
    for (const lock of all) await expect(lock.tryLock()).rejects.toThrow(ClientClosedError)
  })

  it('an empty server after a restart: unlock throws, and a new lock is renewed', async () => {
    const connection = redis.connection()
    const locks = await redis.client({ lockWatchdogTimeout: 2_400, commandTimeout: 3_000 }, connection)
    const all = reentrantKinds.map((kind) => kind.of(locks, kind.name))
    await locks.run(async () => {
      const holds = await Promise.all(all.map((lock) => lock.lock()))
      await redis.server.restart({ empty: true })
      await eventually(() => stateOf(connection) === 'ready')
      for (const lock of all) await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
      expect(holds.map(({ signal }) => signal.aborted)).toEqual(all.map(() => true))

      const again = await Promise.all(all.map((lock) => lock.lock()))
      await Promise.all(again.map(renewed))
      for (const lock of all) {
        expect(await lock.getHoldCount()).toBe(1)
        await lock.unlock()
      }
    })
    const names = reentrantKinds.map(({ name }) => name)
    expect(await redis.server.command('EXISTS', ...names)).toBe(0)
  })
})

describe('renewals of one row', () => {
  const rig = useRig()
  const SCRIPT_SIZE = 5

  const holdMany = async (scripts: number, leaseMs: number, options: LockClientOptions = {}) => {
    const proxy = await rig.proxy()
    const client = await rig.client(
      { lockWatchdogTimeout: leaseMs, watchdogBatchSize: SCRIPT_SIZE, ...options },
      // It sends no command again that has no answer when the connection breaks.
      rig.connection({ autoResendUnfulfilledCommands: false }, proxy),
    )
    const lost: string[] = []
    client.on('lost', ({ lockName }) => lost.push(lockName))
    const names = Array.from({ length: scripts * SCRIPT_SIZE }, (_, i) => `order:${i}`)
    const holds = await Promise.all(names.map((name) => client.getLock(name).acquire()))
    return { proxy, client, lost, holds }
  }

  it('leave one script on the answer of the other', async () => {
    // On its clock no answer takes so long that the rest would leave without it.
    const clock = new ManualClock()
    const { proxy, holds, lost } = await holdMany(4, 30_000, { runtime: clock })
    let requests = 0
    let atOnce = 0
    proxy.loseReply((bytes) => {
      const inThisWrite = bytes.toString('latin1').split(renewScript.sha1).length - 1
      requests += inThisWrite
      atOnce = Math.max(atOnce, inThisWrite)
      return false
    })
    await clock.advance(10_000)
    await eventually(() => requests >= 4)
    expect([atOnce, lost]).toEqual([1, []])
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('what was answered counts, and what comes behind a lost answer is asked again', async () => {
    const clock = new ManualClock()
    const { proxy, holds, lost } = await holdMany(4, 30_000, { runtime: clock, commandTimeout: 1_000 })
    // By the first lock that each is about.
    const asked: string[] = []
    const isSecond = (bytes: Buffer): boolean => {
      const renewals = commandsIn(bytes).filter(([, code]) => code === renewScript.sha1)
      asked.push(...renewals.map((command) => command[3]!))
      return renewals.length > 0 && asked.length === 2
    }
    // Armed for a second time that never comes, so that it sees each chunk.
    const fault = proxy.loseReply(isSecond, 2)
    await clock.advance(10_000)
    await eventually(() => fault.count === 1)
    // No answer, for too long.
    await clock.advance(1_000)
    await eventually(() => asked.length >= 4)
    await eventually(async () => {
      await clock.advance(10)
      return asked.length >= 5
    })
    // Each script, and once more the one that had no answer.
    const first = asked.slice(0, 5)
    expect([first.filter((each) => each === first[1]), new Set(first).size]).toEqual([
      [first[1], first[1]],
      4,
    ])
    expect(lost).toEqual([])
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('leave together where Redis is far away: none is lost', async () => {
    const clock = new ManualClock()
    const { proxy, holds, lost } = await holdMany(16, 30_000, { runtime: clock })
    let requests = 0
    proxy.loseReply((bytes) => {
      requests += bytes.toString('latin1').split(renewScript.sha1).length - 1
      return false
    })
    await rig.server.resetStats()
    await rig.server.pause()
    await clock.advance(10_000)
    await eventually(() => requests === 1)
    // A tenth of the time between two renewals: one behind the other, some would come too late.
    await clock.advance(1_000)
    await eventually(() => requests === 16)
    rig.server.resume()
    const renewed = async () => (await rig.server.commandStats()).get('pexpireat')
    await eventually(async () => (await renewed()) === 16 * SCRIPT_SIZE)
    expect([lost, holds.every(({ signal }) => !signal.aborted)]).toEqual([[], true])
    await Promise.all(holds.map((hold) => hold.release()))
  })
})
