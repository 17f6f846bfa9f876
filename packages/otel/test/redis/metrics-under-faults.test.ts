import { describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { FaultProxy, RedisServer } from '@holdfast/faults/harness'
import { LockClient } from '../../../core/src/index.js'
import { sleep } from '../../../core/test/redis/support/rig.js'
import { seededRandom } from '../../../faults/src/harness/seeded-random.js'
import { forceUnlock, LOCK_KINDS, lockNames } from '../../../faults/src/workload/lock-kinds.js'
import { CountingCaller, POOL, SEATS } from './support/counting-caller.js'
import { differences, exported } from './support/exported.js'
import { sum, Tally } from './support/tally.js'
import { Telemetry } from './support/telemetry.js'

const NAMES = lockNames(12, LOCK_KINDS)
const CALLERS = 10
const LEASE_MS = 900
const FAULTS = 12
const LONG_MS = 60_000

describe.each(['api', 'producer'] as const)('metrics of three clients through the %s', (metrics) => {
  it(
    'clients that are cut off and robbed of locks count all calls and losses as their callers do',
    async () => {
      const random = seededRandom(1)
      const telemetry = new Telemetry({ metrics })
      const tally = new Tally()
      const server = await RedisServer.start()
      const proxies = [
        await FaultProxy.start(server),
        await FaultProxy.start(server),
        await FaultProxy.start(server),
      ]
      const connections = proxies.map(
        ({ port }) => new Redis({ port, retryStrategy: () => 30, disconnectTimeout: 50 }),
      )
      const clients = connections.map((redis) => {
        redis.on('error', () => undefined)
        const limits = { commandTimeout: 400, unavailableTimeoutMs: 2_000, resyncInterval: 300 }
        const locks = new LockClient(redis, { lockWatchdogTimeout: LEASE_MS, bareCalls: 'allow', ...limits })
        locks.on('lost', ({ error }) => tally.lost(error.reason))
        return locks
      })
      const [observer] = clients as [LockClient]
      await observer.getSemaphore(POOL).trySetPermits(3)
      await observer.getPermitExpirableSemaphore(SEATS).trySetPermits(3)
      const callers = Array.from({ length: clients.length * CALLERS }, (_, i) => {
        const locks = clients[i % clients.length]!
        return new CountingCaller({ locks, names: NAMES, tally, leaseMs: LEASE_MS, random: seededRandom(i) })
      })
      const running = Promise.all(callers.map((caller) => caller.run()))
      const problems: string[] = []
      /** Between what core publishes and what its caller does next there are only microtasks: none is left here. */
      const look = async (atRest = false): Promise<void> => {
        await sleep(1)
        const counted = structuredClone({ calls: tally.calls, losses: tally.losses })
        problems.push(...differences(counted, exported(await telemetry.text()), atRest))
      }
      for (let i = 0; i < FAULTS; i += 1) {
        const proxy = random.pick(proxies)
        random.pick([
          () => proxy.cutAll(),
          () => proxy.loseReply((bytes) => bytes.includes('evalsha'), 3),
          () => proxy.blackHole(),
          () => void forceUnlock(observer, random.pick(NAMES)).catch(() => undefined),
        ])()
        await sleep(random.between(100, 700))
        proxy.pass()
        await look()
      }
      callers.forEach((caller) => caller.stop())
      await running
      await look(true)
      const kinds = ['acquired remote', 'acquired reentrant', 'timeout', 'aborted']
      const seen = kinds.map((kind) => sum(tally.calls, (key) => key.endsWith(kind)) > 0)
      await Promise.all(clients.map((locks) => locks.close({ graceMs: 0 })))
      connections.forEach((redis) => redis.disconnect())
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await server.stop()
      await telemetry.stop()
      expect(problems).toEqual([])
      expect([...seen, sum(tally.losses) > 0]).toEqual([true, true, true, true, true])
    },
    LONG_MS,
  )
})
