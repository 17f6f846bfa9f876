import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RedisSentinels, type RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import type { LockClient, LockClientOptions } from '../../../src/index.js'
import { carrierOfSeveral, onNodeRedis } from '../support/carrier.js'
import { belief, BELIEVES, failureOf, nextLoss } from '../support/outcomes.js'
import { useOpened } from '../support/opened.js'
import { eventually, soon } from '../support/rig.js'

const NAME = 'order:42'
// A fail-over takes some seconds: nothing may end by itself meanwhile, and no tick may help.
const PATIENT = { unavailableTimeoutMs: 60_000, resyncInterval: 60_000 }
const FAIL_OVER_MS = 15_000

/** The client finds the primary. */
describe('behind the client’s own Sentinel support', () => {
  let group: RedisSentinels
  const opened = useOpened()

  beforeAll(async () => {
    // No machine is so busy that they replace a primary by themselves.
    group = await RedisSentinels.start({ replicas: 1, downAfterMs: 5_000 })
  })
  afterAll(() => group.stop())

  const open = (options: LockClientOptions, redisOptions: object = {}): Promise<LockClient> => {
    const redis = new Redis({
      sentinels: group.endpoints,
      name: group.name,
      sentinelRetryStrategy: () => 50,
      disconnectTimeout: 50,
      lazyConnect: onNodeRedis,
      ...redisOptions,
    })
    return opened.client(carrierOfSeveral(opened.connection(redis)), { ...PATIENT, ...options })
  }
  const channels = async (server: RedisServer): Promise<string[]> =>
    (await server.command('PUBSUB', 'CHANNELS')) as string[]
  const heard = async (server: RedisServer, clients: LockClient[]): Promise<void> =>
    eventually(async () => {
      const present = await channels(server)
      return clients.every(({ clientId }) => present.includes(`holdfast:client:${clientId}`))
    }, FAIL_OVER_MS)

  it('a planned fail-over keeps what was replicated before it began, with the failoverDetector of ioredis (I1, I4)', async () => {
    const follow = { failoverDetector: true }
    const [locks, others] = await Promise.all([open({}, follow), open({}, follow)])
    const hold = await locks.getLock(NAME).acquire()
    const waiting = others.getLock(NAME).acquire()
    const former = await group.primary()
    await eventually(async () => (await channels(former)).includes(`redisson_lock__channel:{${NAME}}`))
    await group.healReplication()
    const primary = await group.failOver()
    await heard(primary, [locks, others])
    await hold.verify()
    await eventually(() => hold.trustedForMs > 0)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await primary.command('HGETALL', NAME)).toEqual([hold.owner, '1'])
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
    await group.healReplication()
    await group.settle()
  })

  it('a crash before the replica had the lock: others get in, verify tells the holder, messages follow (I1, I4)', async () => {
    const [locks, others] = await Promise.all([open({ lockWatchdogTimeout: 120_000 }), open({})])
    const former = await group.primary()
    await group.cutReplication()
    const hold = await locks.getLock(NAME).acquire()
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await channels(former)).includes(`redisson_lock__channel:{${NAME}}`))
    const told = nextLoss(locks, FAIL_OVER_MS)
    await former.kill()
    const primary = await group.failOver()
    const next = await soon(waiting, FAIL_OVER_MS)
    // The second connection of each client is at the new primary as well.
    await heard(primary, [locks, others])
    // No renewal is due for long.
    expect(await failureOf(hold.verify())).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    expect((await told).event).toMatchObject({ owner: hold.owner })
    expect(await hold.release()).toBe('lost')
    await next.verify()

    const forced = nextLoss(others)
    expect(await locks.getLock(NAME).forceUnlock()).toBe(true)
    expect((await forced).event).toMatchObject({ owner: next.owner, error: { reason: 'forced' } })
  })
})
