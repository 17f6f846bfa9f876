import { expect } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { LockClient, type AnyLock, type LockClientOptions } from '../../../src/index.js'
import { carrierOf } from '../support/carrier.js'
import { eventually, sleep, soon } from '../support/rig.js'
import { exclusiveKinds } from '../support/lock-kinds.js'
import { SlowClock } from '../support/slow-clock.js'
import { describe, it, useRig } from '../support/together.js'

const CALLERS = 1_000

describe('waiting', () => {
  const rig = useRig({ redis: 'all' })

  it('1,000 callers on one held lock cost one resync per second and nothing else, and all pass after the unlock', async () => {
    const server = await RedisServer.start()
    const connections = [new Redis(server.url), new Redis(server.url)]
    const [holding, waiting] = await Promise.all(
      connections.map((redis) => LockClient.connect(carrierOf(redis), { bareCalls: 'allow' })),
    )
    const hold = await holding!.getLock('hot').acquire()
    let inside = 0
    let passed = 0
    const callers = Array.from({ length: CALLERS }, async () => {
      const mine = await waiting!.getLock('hot').acquire()
      inside += 1
      expect(inside).toBe(1)
      passed += 1
      inside -= 1
      await mine.release()
    })
    // The line is formed when the head is subscribed and refused twice.
    await eventually(
      async () =>
        ((await server.command('PUBSUB', 'NUMSUB', 'redisson_lock__channel:{hot}')) as unknown[])[1] === 1,
    )
    await sleep(200)

    const [startedAt, tries] = [
      performance.now(),
      async () => (await server.commandStats()).get('evalsha') ?? 0,
    ]
    await server.resetStats()
    await sleep(4_000)
    // A machine that stands still makes them late.
    await eventually(async () => (await tries()) >= 3)
    const sent = await server.commandStats()
    expect(sent.get('evalsha')).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000 + 1)
    // Everything clients send counts, so that nothing hides in a command nobody thought of.
    const allowed = new Set([
      'evalsha',
      'exists',
      'zcard',
      'zscore',
      'get',
      'hget',
      'hgetall',
      'pttl',
      'pexpire',
      'time',
      'zadd',
      'hdel',
      'info',
      'config',
      'config|resetstat',
    ])
    expect([...sent.keys()].filter((command) => !allowed.has(command))).toEqual([])

    await hold.release()
    await Promise.all(callers)
    expect(passed).toBe(CALLERS)
    await Promise.all([holding!.close(), waiting!.close()])
    connections.forEach((redis) => redis.disconnect())
    await server.stop()
  })

  it('the waiters of a client share one subscription, which goes with the last of them', async () => {
    const locks = await rig.client()
    const lock = locks.getLock(rig.name())
    const hold = await (await rig.client()).getLock(rig.name()).acquire()
    const ended = new AbortController()
    const waits = Array.from({ length: 20 }, () =>
      lock.acquire({ signal: ended.signal }).catch(() => 'aborted'),
    )
    await rig.heard(rig.name())
    ended.abort()
    expect(await Promise.all(waits)).toEqual(waits.map(() => 'aborted'))
    await rig.heard(rig.name(), 0)
    await hold.release()
  })
})

describe.each(exclusiveKinds)('waiting: $name', (kind) => {
  const rig = useRig({ redis: 'all' })

  it('callers of one client pass in the order in which they came', async () => {
    const locks = await rig.client()
    const lock = kind.of(locks, rig.name())
    const hold = await lock.acquire()
    const order: number[] = []
    const callers = Array.from({ length: 50 }, async (_, i) => {
      const mine = await lock.acquire()
      order.push(i)
      await mine.release()
    })
    await hold.release()
    await Promise.all(callers)
    expect(order).toEqual(order.map((_, i) => i))
  })

  it('an unlock wakes a waiter of another client long before the next resync (I4)', async () => {
    const [first, second] = await Promise.all([rig.client(), rig.client({ resyncInterval: 60_000 })])
    for (let i = 0; i < 50; i++) {
      const hold = await kind.of(first, rig.name()).acquire()
      const waiting = kind.of(second, rig.name()).acquire({ waitMs: 20_000 })
      await sleep(i % 5)
      await hold.release()
      await (await waiting).release()
    }
  })

  it('a lost message costs at most one resync (I4)', async () => {
    const [first, second] = await Promise.all([rig.client(), rig.client({ resyncInterval: 200 })])
    const owner = await kind.of(first, rig.name()).acquire()
    const waiting = kind.of(second, rig.name()).acquire()
    await eventually(async () => (await kind.waiting(rig.admin, rig.name())) > 0)
    // A lost message looks like this: the key goes, nobody says so.
    await kind.vanish(rig.admin, rig.name())
    await (await waiting).release()
    expect(await owner.release()).toBe('lost')
  })
})

const NAME = 'order:42'

// Who tries first where no grants are made. See docs/decisions/0073-nobody-starves.md.
describe.each<[string, (locks: LockClient) => AnyLock, LockClientOptions]>([
  ['a fenced lock', (locks) => locks.getFencedLock(NAME), {}],
  ['a write lock', (locks) => locks.getReadWriteLock(NAME).writeLock(), {}],
  [
    'a plain lock without grants and passing',
    (locks) => locks.getLock(NAME),
    // With passing, a caller does not ask Redis for 5 ms, which is nearly a hold that counts.
    { pushedGrants: false, localPassing: false },
  ],
])('a client that has had %s', (_what, lockOf, options) => {
  const rig = useRig()
  const listeners = async (): Promise<number> => {
    const channels = (await rig.admin.pubsub('CHANNELS', `redisson_*{${NAME}}`)) as string[]
    return channels[0] === undefined ? 0 : Number((await rig.admin.pubsub('NUMSUB', channels[0]))[1])
  }

  /** It has had the lock for some ms, and wants it again; another one that is further away waits. */
  async function wantedAgain(heldMs: number) {
    // The time for which it stands back, some ms, takes seconds.
    const clock = new SlowClock(true, 1_000)
    const near = await rig.client({ ...options, runtime: clock })
    const had = await lockOf(near).acquire()
    const again = lockOf(near).acquire()
    const proxy = await rig.proxy()
    const far = await rig.client(options, rig.connection({}, proxy))
    const theirs = lockOf(far).acquire()
    await eventually(async () => (await listeners()) === 2)
    await near.getLock('else').isLocked()
    await far.getLock('else').isLocked()
    proxy.delay(20)
    clock.skip(heldMs)
    await had.release()
    return { near: again, far: theirs, proxy }
  }

  it('stands back for one that is further away, and has the lock after it', async () => {
    const { near, far, proxy } = await wantedAgain(200)
    const first = await soon(Promise.race([near, far]))
    expect(first).toBe(await soon(far))
    proxy.pass()
    await first.release()
    await (await soon(near)).release()
  })

  it('does not after a short hold: the nearest has it', async () => {
    const { near, far, proxy } = await wantedAgain(1)
    const first = await soon(Promise.race([near, far]))
    expect(first).toBe(await soon(near))
    proxy.pass()
    await first.release()
    await (await soon(far)).release()
  })
})
