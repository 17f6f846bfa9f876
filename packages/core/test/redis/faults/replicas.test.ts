import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { ManualClock, RedisReplication } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { LockClient, type LockClientOptions, type LockHold } from '../../../src/index.js'
import { acquireScript } from '../../../src/scripts/lock.js'
import { allLuaSources } from '../support/all-lua-sources.js'
import { carrierOf, connectionTo } from '../support/carrier.js'
import { lockKinds } from '../support/lock-kinds.js'
import { nextLoss } from '../support/outcomes.js'
import { Opened } from '../support/opened.js'
import { eventually, soon } from '../support/rig.js'

const NAME = 'order:42'
const BOTH = { acks: 2, timeoutMs: 200 }

interface Graded {
  readonly replicas?: number | undefined
}

const OWNER = 'a~1:1'
const ID = '0a'.repeat(16)
// Lease, sequence, through which sequence copies are refused, how long: as every acquire is given them.
const TERMS = ['30000', '1', '0', '60000']
const PERMITS = ['P', 'E', 'O']

type Run = readonly [script: string, keys: readonly string[], args: readonly string[]]
const ACQUIRE: Run = ['lock/acquire', ['L', 'D'], [OWNER, '1', ...TERMS]]
const READ: Run = ['read-lock/acquire', ['L', 'D', 'W', 'T', 'N'], [OWNER, '1', ...TERMS, '', '0']]
const PERMIT: Run = ['permit-semaphore/acquire', PERMITS, ['1', '0', '60000', 'ch', 'PUBLISH', '30000', ID]]

/** Every script that may grant a lease, with what stands before: the lease is as long as it asks for, or longer. */
const GRANTING: readonly (readonly [Run, granted: unknown, ...before: (Run | readonly string[])[]])[] = [
  [ACQUIRE, 1],
  [['fenced-lock/acquire', ['L', 'D', 'N', 'K'], [OWNER, '1', ...TERMS, '', 'counter', '0']], ['1']],
  [
    [
      'fair-lock/acquire',
      ['L', 'fl', 'ft', 'fa', 'fh', 'D', 'N'],
      [OWNER, '1', ...TERMS, 'a~1', '20000', '5000', '-1', 'in:', 'ch', 'PUBLISH', '2:ab'],
    ],
    1,
  ],
  [READ, 1],
  [['write-lock/acquire', ['L', 'D', 'W', 'N'], [OWNER, '1', ...TERMS, '0']], 1],
  [['lock/renew', ['L'], ['3000', OWNER]], [], ACQUIRE],
  [['read-lock/renew', ['L', 'T'], ['3000', OWNER]], [], READ],
  [
    ['semaphore/acquire', ['P', 'O'], ['1', '0', '60000', '1']],
    [1, 4],
    ['SET', 'P', '5'],
  ],
  [PERMIT, [1, 4, expect.any(Number), -1], ['SET', 'P', '5']],
  [['permit-semaphore/renew', ['E'], ['3000', ID]], expect.any(Number), ['SET', 'P', '5'], PERMIT],
  [
    ['permit-semaphore/update-lease', PERMITS, ['2', '0', '60000', 'ch', 'PUBLISH', '30000', ID]],
    1,
    ['SET', 'P', '5'],
    PERMIT,
  ],
  [
    ['travel/adopt', ['L', 'D', 'N'], [OWNER, 'h~t:1', ...TERMS, '']],
    1,
    ['HSET', 'L', 'h~t:1', '1'],
    ['PEXPIRE', 'L', '30000'],
  ],
  [
    ['share/enter', ['L', 'D', 'N', 'H'], [OWNER, ...TERMS, '', '0', '0', '', '0', '1000']],
    [1, expect.any(Number)],
  ],
]

/** The holds of one lock, or of each member of several. */
const levelsOf = (hold: LockHold): readonly Graded[] => {
  const { holds } = hold as { holds?: readonly Graded[] }
  return holds ?? [hold as Graded]
}

describe('leases that replicas must have', () => {
  let group: RedisReplication
  const opened = new Opened()

  beforeAll(async () => {
    group = await RedisReplication.start({ replicas: 2 })
  })
  afterAll(() => group.stop())
  afterEach(async () => {
    await group.healReplication()
    await opened.close()
    const keys = (await group.primary.command('KEYS', '*')) as string[]
    expect(keys.filter((key) => !/^(holdfast:(latch|operations)|redisson_lock_token)/.test(key))).toEqual([])
    await eventually(
      async () => !String(await group.primary.command('CLIENT', 'LIST')).includes(' name=mine '),
    )
    await group.primary.command('FLUSHALL')
  })

  const client = (options: LockClientOptions = {}): Promise<LockClient> => {
    const named = { connectionName: 'mine', disconnectTimeout: 50, retryStrategy: () => 20 }
    const redis = opened.connection(connectionTo(group.primary.url, named))
    return opened.client(carrierOf(redis), { replicas: BOTH, ...options })
  }
  const holders = async (): Promise<unknown> => group.primary.command('HGETALL', NAME)
  const calls = async (command: string): Promise<number> => {
    const text = String(await group.primary.command('INFO', 'commandstats'))
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0)
  }

  /** From version 8 on, Redis counts a WAIT when it ends, so that its count says nothing of one that goes on. */
  const replicasAreWaitedFor = (): Promise<void> =>
    eventually(async () =>
      /^blocked_clients:[1-9]/m.test(String(await group.primary.command('INFO', 'clients'))),
    )

  const replicasOf = (hold: LockHold): Set<number | undefined> =>
    new Set(levelsOf(hold).map(({ replicas }) => replicas))

  it.each(lockKinds)('$name: a hold tells how many replicas have it, with the option only', async (kind) => {
    const [locks, others] = await Promise.all([client(), client({ replicas: undefined })])
    const hold = await kind.of(locks, NAME).acquire()
    expect(replicasOf(hold)).toEqual(new Set([2]))
    await hold.release()
    const other = await kind.of(others, NAME).acquire()
    expect(replicasOf(other)).toEqual(new Set([undefined]))
    await other.release()
  })

  it.each(lockKinds)(
    '$name: what too few replicas have is not granted, and nothing of it stays (I2, I8)',
    async (kind) => {
      const locks = await client()
      group.cutReplication()
      await expect(kind.of(locks, NAME).tryAcquire()).rejects.toMatchObject({
        code: 'REDIS_UNAVAILABLE',
        message: expect.stringContaining('Only 0 of 2 replicas acknowledged it within 200 ms'),
      })
      await eventually(async () => ((await holders()) as unknown[]).length === 0)
    },
  )

  it('a wait goes on until replicas are back', async () => {
    const locks = await client()
    group.cutReplication()
    const before = await calls('wait')
    const waiting = locks.getLock(NAME).acquire({ waitMs: 20_000 })
    await eventually(async () => (await calls('wait')) > before + 1)
    await group.healReplication()
    const hold = await soon(waiting, 20_000)
    expect(hold.replicas).toBe(2)
    expect(await hold.release()).toBe('released')
  })

  it('a level that too few have is taken back: the count is what it was (I2)', async () => {
    const locks = await client()
    await locks.run(async () => {
      const lock = locks.getLock(NAME)
      const hold = await lock.acquire()
      group.cutReplication()
      await expect(lock.tryAcquire()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
      await eventually(async () => ((await holders()) as string[])[1] === '1')
      expect(hold.count).toBe(1)
      expect(hold.lossError).toBeNull()
      await group.healReplication()
      expect(await hold.release()).toBe('released')
    })
  })

  it('renewals that too few have add no trust, nor does asking the primary: lost before the lease ends (I3)', async () => {
    const clock = new ManualClock()
    const locks = await client({ runtime: clock })
    const told = nextLoss(locks)
    const hold = await locks.getLock(NAME).acquire()
    group.cutReplication()
    const before = await calls('wait')
    await clock.advance(10_000)
    await eventually(async () => (await calls('wait')) > before)
    const trusted = hold.trustedForMs
    await hold.verify()
    expect(hold.trustedForMs).toBeLessThanOrEqual(trusted)
    await clock.advance(20_000)
    expect((await told).event).toMatchObject({ error: { reason: 'expired' } })
    expect(await hold.release()).toBe('lost')
  })

  it.each(GRANTING.map(([run, ...rest]) => [run[0], run, ...rest] as const))(
    '%s: whatever it grants is a write, also to a copy',
    async (_, run, granted, ...before) => {
      const { primary } = group
      const send = ([first, ...rest]: Run | readonly string[]): Promise<unknown> => {
        const [keys, args] = rest as [readonly string[], readonly string[]]
        const lua = allLuaSources[first as keyof typeof allLuaSources] as string | undefined
        return lua === undefined
          ? primary.command(first, ...(rest as string[]))
          : primary.command('EVAL', lua, keys.length, ...keys, ...args)
      }
      const written = async (): Promise<number> =>
        Number(/^master_repl_offset:(\d+)/m.exec(String(await primary.command('INFO', 'replication')))?.[1])
      for (const each of [...before, run]) {
        await send(each)
      }
      // WAIT asks for the last write of its connection, which may be new: without one it counts all replicas at once.
      const offset = await written()
      expect(await send(run)).toEqual(granted)
      expect(await written()).toBeGreaterThan(offset)
      await primary.command('FLUSHALL')
    },
  )

  it('a lease that the primary alone has longer adds no trust, also on a new connection (I1)', async () => {
    const clock = new ManualClock()
    const locks = await client({ runtime: clock })
    const told = nextLoss(locks)
    const hold = await locks.getLock(NAME).acquire()
    group.cutReplication()
    await expect(hold.extend(30_000)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    const list = String(await group.primary.command('CLIENT', 'LIST'))
    for (const [, id] of list.matchAll(/^id=(\d+) .* name=mine .* cmd=wait/gm)) {
      await group.primary.command('CLIENT', 'KILL', 'ID', String(id))
    }
    await clock.advance(30_000)
    expect((await soon(told)).event).toMatchObject({ error: { reason: 'expired' } })
    expect(await hold.release()).toBe('lost')
  })

  it('a caller that waits for replicas delays no release, and no other client (I7)', async () => {
    const [locks, others] = await Promise.all([
      client({ replicas: { acks: 2, timeoutMs: 3_000 } }),
      client({ replicas: undefined }),
    ])
    const hold = await locks.getLock('another').acquire()
    group.cutReplication()
    let over = false
    const abort = new AbortController()
    const waiting = locks
      .getLock(NAME)
      .acquire({ signal: abort.signal })
      .catch(() => (over = true))
    await eventually(async () => ((await holders()) as unknown[]).length > 0)
    await replicasAreWaitedFor()
    expect(await hold.release()).toBe('released')
    await (await others.getLock('a third').acquire()).release()
    expect(over).toBe(false)
    abort.abort()
    await waiting
  })

  it('what comes while replicas are waited for shares the next WAIT', async () => {
    const locks = await client({ replicas: { acks: 2, timeoutMs: 15_000 }, commandTimeout: 20_000 })
    const warm = await locks.getLock(NAME).acquire()
    await warm.release()
    const before = await calls('wait')
    const holds = await Promise.all(
      Array.from({ length: 100 }, (_, i) => locks.getLock(`order:${i}`).acquire()),
    )
    expect(holds.map(({ replicas }) => replicas)).toEqual(holds.map(() => 2))
    expect((await calls('wait')) - before).toBeLessThanOrEqual(4)
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('what is given up while others wait for replicas is not sent after them', async () => {
    const locks = await client({ replicas: { acks: 2, timeoutMs: 2_000 }, commandTimeout: 300 })
    await (await locks.getLock('warm').acquire()).release()
    const admin = new Redis(group.primary.url)
    const monitor = await admin.monitor()
    opened.atEnd(() => [admin, monitor].forEach((each) => each.disconnect()))
    const acquired: string[] = []
    monitor.on('monitor', (_, [, script, , key]: string[]) => {
      if (script === acquireScript.sha1) acquired.push(key as string)
    })
    group.cutReplication()
    const first = locks
      .getLock('first')
      .tryAcquire()
      .catch((error: unknown) => error)
    await replicasAreWaitedFor()
    const second = locks.getLock(NAME).tryAcquire()
    await expect(second).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'unknown' })
    await group.healReplication()
    await (await soon(locks.getLock('third').acquire())).release()
    expect(acquired).not.toContain(NAME)
    expect(await first).toMatchObject({ code: 'REDIS_UNAVAILABLE' })
  })

  it.each([
    ['no object', 5],
    ['no number of replicas', {}],
    ['none', { acks: 0 }],
    ['half a replica', { acks: 1.5 }],
    ['a wait without end', { acks: 1, timeoutMs: 0 }],
  ])('refuses %s', (_, replicas) => {
    const redis = new Redis(group.primary.url, { lazyConnect: true })
    expect(() => new LockClient(redis, { replicas: replicas as never })).toThrow(/replicas/)
  })
})
