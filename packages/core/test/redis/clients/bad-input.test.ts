import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { Cluster, type Redis } from 'ioredis'
import { createRequire } from 'node:module'
import { inspect } from 'node:util'
import {
  InvalidArgumentError,
  LockClient,
  LockLostError,
  NotLockOwnerError,
  WrongTypeError,
  fencedSet,
  type CompoundHold,
  type Hold,
  type Lock,
  type LockClientOptions,
  type LockHold,
} from '../../../src/index.js'
import type { NodeRedisScripting } from '../../../src/redis/node-redis/client.js'
import { resolveOptions } from '../../../src/options.js'
import { openNodeRedis } from '../../../src/redis/open-port.js'
import { backgroundRuntime, systemRuntime } from '../../../src/runtime/runtime.js'
import type { IoredisClient } from '../../../src/redis/ioredis/client.js'
import { carrierOf } from '../support/carrier.js'
import { eventually, soon, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'

const NAME = 'order:42'
// Nothing here is typed by it: its types are not those that a client has to fit.
const nodeRedis4 = createRequire(import.meta.url)('redis4') as NodeRedis4
const createClient4 = (options?: object) => nodeRedis4.createClient(options)
const rig = useRig()
const warnings = useWarnings()
let redis: Redis
let locks: LockClient
let lock: Lock
let held: Hold

beforeEach(async () => {
  redis = rig.connection()
  locks = await rig.client({}, redis)
  lock = locks.getLock(NAME)
})

interface NodeRedis4 {
  createClient(
    options?: object,
  ): NodeRedisScripting & { connect(): Promise<void>; disconnect(): Promise<void> }
}

/** How often Redis got each command, whoever sent it; without these questions. */
async function commands(): Promise<string[]> {
  const stats = await rig.admin.info('commandstats')
  return stats.match(/^cmdstat_(?!info:).+?:calls=\d+/gm) ?? []
}

/** Rejects or throws INVALID_ARGUMENT that names the argument and the value, and asks Redis for nothing. */
async function expectRefused(call: () => unknown, argument: string, shown: string): Promise<void> {
  const before = await commands()
  const failure = await soon(Promise.resolve().then(call)).catch((error: unknown) => error)
  expect([shown, failure]).toEqual([shown, expect.any(InvalidArgumentError)])
  expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', argument })
  const { message } = failure as InvalidArgumentError
  expect(message).toContain(argument)
  expect(message.slice(message.lastIndexOf('got '))).toContain(shown)
  expect(inspect(failure)).not.toContain('secret')
  expect(await commands()).toEqual(before)
}

/** A value, and how a message shows it. */
type Bad = readonly [value: unknown, shown: string]
const bad = (...values: unknown[]): Bad[] =>
  values.map((value) => [value, typeof value === 'string' ? `"${value}"` : String(value)])

const notDurations: Bad[] = [
  ...bad(-1, -0.001, NaN, Infinity, -Infinity, '1000', null, 10n, 2 ** 31, Number.MAX_VALUE, true),
  [{ ms: 5 }, '{ ms }'],
]
const notLeases = [...notDurations, ...bad(0, -0, 1.5, 0.5)]
const notFunctions: Bad[] = [...bad(undefined, 'work'), [Promise.resolve(), '[Promise]'], [{}, '{}']]
const notOptions: Bad[] = [...bad(null, 5_000, 'now'), [[], '[]']]
const never = (): void => expect('a callback').toBe('not run')

type Calls = (value: never) => readonly (() => unknown)[]

/** Each argument: the values that it cannot have, and every call that takes it. */
const refused: Record<string, readonly [argument: string, values: Bad[], calls: Calls]> = {
  'a name': [
    'name',
    [
      ...bad('', 42, undefined, null, Symbol.iterator),
      [{}, '{}'],
      [['a'], '["a"]'],
      ['x'.repeat(1_025), '1025 characters'],
      ['ß'.repeat(513), '513 characters'],
      ['☃'.repeat(342), '342 characters'],
      ['😀'.repeat(257), '514 characters'],
    ],
    (name: string) => [() => locks.getLock(name), () => locks.thread().getLock(name)],
  ],
  'a wait': [
    'waitMs',
    // Infinity is a wait without a limit, on purpose.
    notDurations.filter(([value]) => value !== Infinity),
    (waitMs: number) => [
      () => lock.tryLock(waitMs),
      () => lock.tryLock(waitMs, 1_000),
      () => lock.acquire({ waitMs }),
      () => lock.tryAcquire({ waitMs }),
      () => lock.withLock(never, { waitMs }),
      () => locks.thread().getLock(NAME).tryLock(waitMs),
    ],
  ],
  'a lease': [
    'leaseMs',
    notLeases,
    (leaseMs: number) => [
      () => lock.lock(leaseMs),
      () => lock.tryLock(0, leaseMs),
      () => lock.tryLock(1_000, leaseMs),
      () => lock.acquire({ leaseMs }),
      () => lock.tryAcquire({ leaseMs }),
      () => lock.withLock(never, { leaseMs }),
    ],
  ],
  'an extension': ['ms', [...notLeases, ...bad(undefined)], (ms: number) => [() => held.extend(ms)]],
  'the time of an ensure': ['ms', notDurations, (ms: number) => [() => held.ensure(ms)]],
  'the grace of a close': ['graceMs', notDurations, (graceMs: number) => [() => locks.close({ graceMs })]],
  'a signal': [
    'signal',
    [
      ...bad('abort', null, 5),
      [{ aborted: false }, '{ aborted }'],
      [new AbortController(), 'AbortController {'],
    ],
    (signal: AbortSignal) => [
      () => lock.acquire({ signal }),
      () => lock.tryAcquire({ signal }),
      () => lock.withLock(never, { signal }),
      () => locks.run(never, { signal }),
    ],
  ],
  'a callback': [
    'callback',
    notFunctions,
    (work: () => void) => [() => lock.withLock(work), () => locks.run(work), () => locks.fork(work)],
  ],
  'a listener': [
    'listener',
    notFunctions,
    (listener: () => void) => [() => locks.on('lost', listener), () => locks.off('lost', listener)],
  ],
  'an event': [
    'event',
    bad('lots', '', undefined, 5),
    (event: 'lost') => [() => locks.on(event, never), () => locks.off(event, never)],
  ],
  detached: ['detached', bad('yes'), (detached: boolean) => [() => locks.fork(never, { detached })]],
  'the options of run, fork and close': [
    'options',
    notOptions,
    (options: object) => [
      () => locks.run(never, options),
      () => locks.fork(never, options),
      () => locks.close(options),
    ],
  ],
  'a thread id': [
    'threadId',
    bad('x', undefined, null, 0, 1.5),
    (id: number) => [
      () => lock.isHeldByThread(id),
      () => locks.getMultiLock(lock, locks.getLock('another')).isHeldByThread(id),
    ],
  ],
  'the hold of an unlock': [
    'hold',
    [...bad(null, 5), [{}, '{}']],
    (given: Hold & CompoundHold) => [
      () => lock.unlock(given),
      () => locks.getMultiLock(lock, locks.getLock('order:43')).unlock(given),
    ],
  ],
  'the options of a client': [
    'options',
    notOptions,
    (options: LockClientOptions) => [() => new LockClient(carrierOf(redis), options)],
  ],
  'the redis of a client': [
    'redis',
    [
      ...bad('redis://localhost:6379', undefined, null, 5),
      ['redis://:secret@localhost', '"redis://…@localhost"'],
      [{}, '{}'],
      [{ host: 'localhost', password: 'secret' }, '{ host, password }'],
      [{ evalsha: () => undefined }, '{ evalsha }'],
    ],
    (client: IoredisClient) => [() => new LockClient(client)],
  ],
  'the target of connect': [
    'target',
    [
      ...bad(undefined, null, 5, true, '', ' '),
      [() => undefined, '[Function'],
      [[], '[]'],
      [['redis://:secret@localhost'], '["redis://…@localhost"]'],
      [new Date(0), '1970-01-01T00:00:00.000Z'],
      [new Map(), 'Map(0) {}'],
      [Object.create({ host: 'localhost' }), '{}'],
    ],
    (target: string) => [() => LockClient.connect(target)],
  ],
}
describe('what is refused before Redis is asked for anything', () => {
  it.each(Object.entries(refused))(
    '%s, in every call that takes it',
    async (_what, [argument, values, calls]) => {
      // A renewal would be a command.
      held = await lock.acquire({ leaseMs: 600_000 })
      for (const [value, shown] of values) {
        for (const call of calls(value as never)) await expectRefused(call, argument, shown)
      }
      // It harms neither hold nor client.
      held.ensure()
      await held.verify()
      const free = locks.getLock('free')
      expect(await free.tryLock()).toBe(true)
      await free.unlock()
      expect(await held.release()).toBe('released')
    },
  )

  it('a refused call of an enclosing context leaves its hold alone', async () => {
    await locks.run(async () => {
      const outer = await lock.lock()
      await expectRefused(() => lock.lock(-1), 'leaseMs', '-1')
      await expectRefused(() => lock.withLock(never, { waitMs: -1 }), 'waitMs', '-1')
      expect(outer.count).toBe(1)
      await lock.unlock()
    })
  })

  it('at the edges is taken: no wait, a fraction of a wait, the longest wait and lease', async () => {
    const longest = 2 ** 31 - 1
    // The first answer has 250 ms by that clock, which is slow.
    const lock = (await rig.slow()).getLock(NAME)
    for (const waitMs of [0, -0, 0.5, 1e-9, longest]) {
      const taken = await lock.acquire({ waitMs, leaseMs: longest })
      expect(await rig.admin.pttl(NAME)).toBeGreaterThan(longest - 10_000)
      expect(await taken.release()).toBe('released')
    }
    const taken = await lock.acquire({ leaseMs: 1_000 })
    taken.ensure(0)
    await taken.extend(longest)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(longest - 10_000)
    await taken.release()
    const left = await lock.acquire({ waitMs: undefined, leaseMs: undefined, signal: undefined })
    await left.release()
  })
})

describe('an option of LockClient', () => {
  const positive = [...notDurations, ...bad(0)]
  const options: Partial<Record<keyof LockClientOptions, Bad[]>> = {
    clientName: [...bad('', 'a:b', '{a', 'a}', 5), ['x'.repeat(201), '201 characters'], [{}, '{}']],
    lockWatchdogTimeout: notLeases,
    watchdogBatchSize: bad(0, -1, 1.5, NaN, Infinity, '100', 10n),
    commandBatchSize: bad(0, 65, 1.5, '32'),
    resyncInterval: positive,
    commandTimeout: positive,
    unavailableTimeoutMs: positive,
    maxHoldMs: positive,
    waitMs: notDurations,
    leaseMs: notLeases,
    waitingThreshold: notDurations,
    describeHolds: [...bad(1, 'yes'), [{}, '{}']],
    bareCalls: bad('never', true),
    localPassing: bad('yes'),
    localReentry: bad(1),
    interop: bad('java'),
    runtime: [
      ...bad(5, 'system'),
      [{}, '{}'],
      [{ now: () => 0, random: () => 0 }, '{ now, random'],
      [{ random: 0.5, now: () => 0 }, '{ random, now'],
      [{ ...systemRuntime, microtask: undefined }, '{ now, wallNow'],
    ],
  }

  it.each(Object.entries(options))('%s is one that makes sense', async (option, values) => {
    for (const [value, shown] of values) {
      const given = { [option]: value } as LockClientOptions
      await expectRefused(() => new LockClient(carrierOf(redis), given), option, shown)
      await expectRefused(() => LockClient.connect(carrierOf(redis), given), option, shown)
      await expectRefused(() => LockClient.connect(rig.server.url, given), option, shown)
    }
  })

  const workedOut = ['background', 'heartbeatMs']
  const names = Object.keys(resolveOptions()).filter((name) => !workedOut.includes(name))

  it('none can be null, and undefined is its default', async () => {
    const client = (option: string, value: unknown) => new LockClient(carrierOf(redis), { [option]: value })
    // All before a client that is made, whose last commands Redis may count late.
    for (const option of names) await expectRefused(() => client(option, null), option, 'null')
    for (const option of names) {
      const unset = client(option, undefined)
      expect(await unset.getLock(NAME).tryLock()).toBe(true)
      await unset.close({ graceMs: 0 })
    }
  })

  it('all of them may be undefined in TypeScript as well: whoever passes on what is not set', async () => {
    const undefinedOnes = names.map((option) => [option, undefined] as const)
    const unset = Object.fromEntries(undefinedOnes) as Record<keyof LockClientOptions, undefined>
    const options: LockClientOptions = unset
    const client = new LockClient(carrierOf(redis), options)
    const both = client.getRedLock([client.getLock(NAME)], { nodeTimeoutMs: undefined })
    expect(await client.fork(() => both.tryLock(), { detached: undefined })).toBe(true)
    client.getReadWriteLock(NAME, { readersStandBack: undefined })
    await client.close({ graceMs: undefined })
  })

  it('a watchdog timeout under 100 ms is a process warning for each client', async () => {
    for (const lockWatchdogTimeout of [99, 100, 99]) {
      const client = new LockClient(carrierOf(redis), { lockWatchdogTimeout })
      await client.close()
    }
    const connected = await LockClient.connect(carrierOf(redis), { lockWatchdogTimeout: 98 })
    await connected.close()
    const told = (ms: number) => warnings.delivered('HOLDFAST_SHORT_LEASE', `lockWatchdogTimeout of ${ms} ms`)
    expect(await Promise.all([99, 100, 98].map(told))).toMatchObject([[{}, {}], [], [{}]])
  })
})

describe('a key that no option has', () => {
  const semaphore = () => locks.getSemaphore(NAME)
  const permits = () => locks.getPermitExpirableSemaphore(NAME)
  const several = () => locks.getMultiLock(lock)
  const readWrite = (options: object) => locks.getReadWriteLock(NAME, options)
  const client = (options: object) => new LockClient(carrierOf(redis), options)
  type Call = (options: never) => unknown
  const calls: Record<string, readonly [given: object, nearest: string, Call]> = {
    acquire: [{ waitMS: 100 }, 'waitMs', (options) => lock.acquire(options)],
    tryAcquire: [{ lease: 5 }, 'leaseMs', (options) => lock.tryAcquire(options)],
    withLock: [{ Signal: undefined }, 'signal', (options) => lock.withLock(never, options)],
    'acquire of several': [{ waitMsec: 1 }, 'waitMs', (options) => several().acquire(options)],
    'withLock of several': [{ wait: 1 }, 'waitMs', (options) => several().withLock(never, options)],
    run: [{ signals: 1 }, 'signal', (options) => locks.run(never, options)],
    fork: [{ detatched: true }, 'detached', (options) => locks.fork(never, options)],
    close: [{ grace: 1 }, 'graceMs', (options) => locks.close(options)],
    getFencedLock: [{ token: 'time' }, 'tokens', (options) => locks.getFencedLock(NAME, options)],
    getSpinLock: [{ backOff: {} }, 'backoff', (options) => locks.getSpinLock(NAME, options)],
    getReadWriteLock: [{ readersStandsBack: true }, 'readersStandBack', readWrite],
    getRedLock: [{ nodeTimeout: 5 }, 'nodeTimeoutMs', (options) => locks.getRedLock([lock], options)],
    'a semaphore': [{ permit: 5 }, 'permits', (options) => semaphore().acquire(options)],
    'tryAcquire of a semaphore': [{ wait: 5 }, 'waitMs', (options) => semaphore().tryAcquire(options)],
    withPermits: [{ leaseMs: 5 }, '', (options) => semaphore().withPermits(never, options)],
    'a permit': [{ leaseMS: 5 }, 'leaseMs', (options) => permits().acquire(options)],
    'no permit': [{ renew: true }, '', (options) => permits().tryAcquire(options)],
    'a held permit': [{ leaseMs: 5, renews: true }, 'renew', (options) => permits().acquirePermit(options)],
    'a latch': [{ timeout: 5 }, '', (options) => locks.getCountDownLatch(NAME).await(options)],
    inspectAll: [{ matches: '*' }, 'match', (options) => locks.inspectAll(options)],
    'a client': [{ lockWatchDogTimeout: 5 }, 'lockWatchdogTimeout', client],
    connect: [{ password: 'secret' }, '', (options) => LockClient.connect(rig.server.url, options)],
  }

  it.each(Object.entries(calls))(
    '%s refuses one, and tells the nearest',
    async (_what, [given, nearest, call]) => {
      const keys = Object.keys(given)
      await expectRefused(() => call(given as never), 'options', `{ ${keys.join(', ')} }`)
      const hint = nearest === '' ? 'known: ' : `did you mean ${nearest}?`
      const told = Promise.resolve().then(() => call(given as never))
      await expect(told).rejects.toThrow(`Unknown option "${keys.at(-1)!}" in options (${hint}`)
    },
  )

  it('is not what a signal in place of options is: it is refused', async () => {
    const { signal } = new AbortController()
    const shown = '[AbortSignal]'
    await expectRefused(() => locks.getLock(NAME).acquire(signal as object), 'options', shown)
    await expectRefused(() => locks.getSemaphore(NAME).acquire(signal as never), 'options', shown)
  })

  it('is refused in what stands inside options, too', async () => {
    await expectRefused(() => client({ replicas: { acks: 1, timeout: 5 } }), 'replicas', '{ acks, timeout }')
    const backoff = { kind: 'constant', initialMs: 5 } as never
    await expectRefused(() => locks.getSpinLock(NAME, { backoff }), 'backoff', '{ kind, initialMs }')
  })

  it('is none when it is inherited, a symbol, or not enumerable', async () => {
    const options = Object.create({ waitMS: 5 }, { hidden: { value: 5 } }) as object
    const hold = await lock.acquire(Object.assign(options, { [Symbol('mine')]: 5, waitMs: 20_000 }))
    await hold.release()
  })

  it('is any name that every object has', async () => {
    await expectRefused(() => lock.acquire({ constructor: 5 } as never), 'options', '{ constructor }')
    const options = JSON.parse('{ "__proto__": 5 }') as object
    await expectRefused(() => lock.acquire(options), 'options', '{ __proto__ }')
  })
})

describe('what LockClient is built on', () => {
  /** Also not in what is not printed. */
  const expectNotKept = async (target: string | URL | { url: string }, shown: string): Promise<void> => {
    await expectRefused(() => LockClient.connect(target), 'target', shown)
    const failure = await LockClient.connect(target).catch((error: unknown) => error)
    expect(inspect(failure, { showHidden: true, depth: 9 })).not.toContain('secret')
  }

  it.each([
    'not a url',
    'redis://:secret at localhost',
    'redis://:secret@localhost:99999',
    'redis://%zz:secret@h',
  ])('connect refuses the text %p, and tells nobody what it was', async (text) => {
    for (const target of [text, { url: text }]) await expectNotKept(target, 'an invalid URL')
  })

  it.each(['http://:secret@localhost', 'redis+sentinel://:secret@localhost', new URL('https://:secret@h')])(
    'connect refuses the scheme of %p, which ioredis would take for a host, and tells nobody the rest',
    async (target) => {
      const scheme = /^[a-z+]+:/.exec(String(target))![0]
      await expectNotKept(target, `"a URL that begins with ${scheme}//"`)
    },
  )

  it.each([
    [{ addresses: [{ host: 'localhost' }] }, '`addresses` is an option of Valkey GLIDE'],
    [
      { rootNodes: [{ url: 'redis://localhost' }] },
      "these are options of node-redis's createCluster, whose client can be given",
    ],
    [
      { name: 'primary', sentinelRootNodes: [] },
      "these are options of node-redis's createSentinel, whose client can be given",
    ],
  ])('connect refuses the options %p, with which ioredis would go to localhost', async (target, named) => {
    await expectRefused(() => LockClient.connect(target), 'target', `{ ${Object.keys(target)[0]!}`)
    await expect(LockClient.connect(target)).rejects.toThrow(named)
  })

  it.each([
    // The methods of @valkey/valkey-glide 2; its clients are no plain objects.
    ['Valkey GLIDE', new (class Glide { invokeScript(): void {} customCommand(): void {} })()], // prettier-ignore
    ['an older node-redis', new (class Old { evalsha(): void {} internal_send_command(): void {} })()], // prettier-ignore
    ['an older node-redis', createClient4()],
  ])('a client of %s is refused by name wherever a client is taken', async (named, client) => {
    await expect(LockClient.connect(client)).rejects.toThrow(named)
    await expectRefused(() => new LockClient(client as never), 'redis', '')
    expect(() => new LockClient(client as never)).toThrow(named)
  })

  it('a node-redis that is installed and too old is named, and opens nothing', async () => {
    const options = { url: 'redis://:secret@localhost' }
    const timing = { background: backgroundRuntime, commandTimeout: 3_000 }
    await expectRefused(
      () => openNodeRedis(nodeRedis4, options, timing),
      'target',
      'the node-redis that is installed',
    )
    expect(() => openNodeRedis(nodeRedis4, options, timing)).toThrow(
      /5\.5\.5 or newer.*this is an older node-redis/,
    )
    // 5.0 had the function, and no count of its sockets.
    const early = { ...nodeRedis4, createClientPool: () => undefined }
    await expectRefused(
      () => openNodeRedis(early, options, timing),
      'target',
      'the node-redis that is installed',
    )
  })

  it('fencedSet takes a client of node-redis 4, and refuses what runs no scripts as it does', async () => {
    const client = createClient4({ url: rig.server.url })
    await client.connect()
    rig.atEnd(() => client.disconnect())
    const write = { key: NAME, token: '7', value: 'paid' }
    expect(await fencedSet(client, write)).toEqual({ accepted: true, highestToken: '7' })
    await rig.admin.del(NAME)
    const glide = { invokeScript: () => undefined, customCommand: () => undefined }
    await expectRefused(() => fencedSet(glide as never, write), 'redis', '{ invokeScript')
  })

  it("connect takes a URL, also of Valkey's own scheme, a URL object, and options without a prototype", async () => {
    const { port, url } = rig.server
    const [valkey, upper] = ['valkey', 'VALKEY'].map((scheme) => url.replace(/^redis/, scheme)) as [
      string,
      string,
    ]
    const bare = Object.assign(Object.create(null) as object, { port })
    for (const target of [
      new URL(url),
      bare,
      { port },
      valkey,
      ` ${upper} `,
      new URL(valkey),
      { url: upper },
    ]) {
      const client = await LockClient.connect(target)
      expect(await client.getLock(NAME).tryLock()).toBe(true)
      expect(await rig.admin.exists(NAME)).toBe(1)
      await client.close({ graceMs: 0 })
    }
  })

  it('connect takes the database of each form of a target, and refuses what is none, or two', async () => {
    const { port } = rig.server
    const url = `redis://127.0.0.1:${port}`
    const socket = { port }
    for (const target of [
      `${url}/3`,
      `${url}?db=3`,
      `127.0.0.1:${port}/3`,
      { url: `${url}?db=3` },
      { port, db: 3 },
    ]) {
      const client = await LockClient.connect(target)
      await client.getLock(NAME).tryLock()
      expect(await rig.admin.info('keyspace')).toMatch(/db3:keys=1,/)
      await client.close({ graceMs: 0 })
    }
    for (const target of [
      `${url}/abc`,
      `${url}/1.5`,
      `${url}/2?db=3`,
      { url: `${url}/2`, database: 3 },
      { port, db: -1 },
    ]) {
      await expect(LockClient.connect(target)).rejects.toMatchObject({ argument: 'database' })
    }
    for (const target of [
      { port, database: 3 },
      { socket, db: 3 },
    ]) {
      await expect(LockClient.connect(target)).rejects.toMatchObject({ argument: 'target' })
    }
  })

  it('a value is there to be asked for, and not printed with its error', () => {
    const target = { host: 'localhost', password: 'secret' }
    const failure = new InvalidArgumentError('target', target, 'another')
    expect(failure.value).toBe(target)
    expect(inspect(failure)).not.toContain('secret')
    expect(failure.message).toBe('target must be another; got { host, password }.')
  })

  it('a Cluster of what is no cluster is unavailable, and its client can be closed', async () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: rig.server.port }], { lazyConnect: true })
    cluster.on('error', () => undefined)
    const connecting = LockClient.connect(cluster, { unavailableTimeoutMs: 300 })
    await expect(connecting).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    cluster.disconnect()
  })
})

describe('a key of another type under the lock’s name', () => {
  const foreign: [string, (name: string) => Promise<unknown>][] = [
    ['string', (name) => rig.admin.set(name, 'mine')],
    ['list', (name) => rig.admin.rpush(name, 'a', 'b')],
    ['set', (name) => rig.admin.sadd(name, 'a', 'b')],
    ['stream', (name) => rig.admin.xadd(name, '1-1', 'field', 'value')],
  ]

  const expectWrongType = async (call: () => Promise<unknown>): Promise<void> => {
    const failure = await soon(call()).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(WrongTypeError)
    expect(failure).toMatchObject({ code: 'WRONG_TYPE', lockName: NAME, key: NAME })
    expect((failure as Error).message).toContain(`"${NAME}"`)
    expect((failure as Error).message).toContain('WRONGTYPE Operation against a key')
  }

  describe.each(foreign)('%s', (_type, create) => {
    it('every method that takes or looks says WRONG_TYPE, and the value stays', async () => {
      await create(NAME)
      const before = await rig.admin.dumpBuffer(NAME)
      for (const call of [
        () => lock.lock(),
        () => lock.lock(1_000),
        () => lock.tryLock(),
        () => lock.tryLock(5_000),
        () => lock.tryLock(5_000, 1_000),
        () => lock.acquire(),
        () => lock.acquire({ waitMs: 5_000, leaseMs: 1_000 }),
        () => lock.tryAcquire(),
        () => lock.withLock(never),
        () => locks.run(() => lock.lock()),
        () => locks.run(() => lock.withLock(never)),
        () => locks.thread().getLock(NAME).lock(),
        () => lock.isLocked(),
        () => lock.remainTimeToLive(),
        () => lock.forceUnlock(),
      ]) {
        await expectWrongType(call)
      }
      // Nobody of this client can hold it, so there is nothing to ask Redis about.
      expect(await lock.getHoldCount()).toBe(0)
      expect(await lock.isHeldByCurrentContext()).toBe(false)
      expect(await lock.isHeldByThread(locks.thread().id)).toBe(false)
      await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
      expect(await rig.admin.dumpBuffer(NAME)).toEqual(before)
      expect(await rig.admin.pttl(NAME)).toBe(-1)
      await rig.admin.del(NAME)
    })

    it('put there over a hold: the hold is lost on every way to ask, and the value stays (I1)', async () => {
      const ways: [string, (hold: Hold) => Promise<unknown>][] = [
        ['verify', (hold) => expect(hold.verify()).rejects.toThrow(LockLostError)],
        ['extend', (hold) => expect(hold.extend(60_000)).rejects.toThrow(LockLostError)],
        ['re-enter', () => expect(lock.lock()).rejects.toThrow(LockLostError)],
        ['release', async (hold) => expect(await hold.release()).toBe('lost')],
        ['unlock', () => expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)],
      ]
      for (const [, ask] of ways) {
        await locks.run(async () => {
          const hold = await lock.lock()
          await rig.admin.del(NAME)
          await create(NAME)
          const before = await rig.admin.dumpBuffer(NAME)
          await ask(hold)
          expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
          expect(await hold.release()).toMatch(/^(lost|already-released)$/)
          expect(await rig.admin.dumpBuffer(NAME)).toEqual(before)
          await rig.admin.del(NAME)
        })
      }
    })
  })

  it('put there over a watched hold: lost at the next renewal, and the neighbours are renewed (I7)', async () => {
    const clock = new ManualClock()
    const watched = await rig.client({ runtime: clock, lockWatchdogTimeout: 30_000, commandTimeout: 60_000 })
    const lost = new Promise((resolve) => watched.on('lost', resolve))
    const [hold, neighbour] = [
      await watched.getLock(NAME).acquire(),
      await watched.getLock('neighbour').acquire(),
    ]
    await rig.admin.set(NAME, 'mine')
    await rig.admin.pexpire('neighbour', 15_000)
    await clock.advance(10_000)
    expect(await soon(lost)).toMatchObject({ lockName: NAME, owner: hold.owner, error: { reason: 'gone' } })
    await eventually(async () => (await rig.admin.pttl('neighbour')) > 15_000)
    expect(neighbour.signal.aborted).toBe(false)
    expect(await rig.admin.get(NAME)).toBe('mine')
    await rig.admin.del(NAME)
    await neighbour.release()
  })

  it('put there while somebody waits: the wait ends in WRONG_TYPE, and with it every wait behind', async () => {
    const holder = await (await rig.client()).getLock(NAME).acquire()
    const impatient = await rig.client({ resyncInterval: 50 })
    const waits = [impatient.getLock(NAME).lock(), impatient.getLock(NAME).tryLock(20_000)]
    const failures = waits.map((wait) => wait.catch((error: unknown) => error))
    await rig.heard(NAME)
    await rig.admin.set(NAME, 'mine')
    for (const failure of failures) {
      expect(await soon(failure)).toBeInstanceOf(WrongTypeError)
    }
    expect(await rig.admin.get(NAME)).toBe('mine')
    await rig.admin.del(NAME)
    expect(await holder.release()).toBe('lost')
  })
})

describe('unlock(hold) refuses a hold of another lock, and frees nothing', () => {
  const others: Record<string, [() => Promise<LockHold>, shown: string]> = {
    'a hold of another lock': [() => locks.getLock('order:43').acquire(), '"a hold of order:43"'],
    'a hold of another client': [
      async () => (await rig.client()).getLock(NAME).acquire(),
      `"a hold of ${NAME}"`,
    ],
    'a hold of readers of the same name': [
      () => locks.getReadWriteLock(NAME).readLock().acquire(),
      `"a hold of ${NAME}"`,
    ],
    'a hold of several locks': [
      () => locks.getMultiLock(lock, locks.getLock('order:43')).acquire(),
      `"a hold of ${NAME}, order:43"`,
    ],
  }
  it.each(Object.entries(others))('%s', async (_what, [take, shown]) => {
    const other = await take()
    await expectRefused(() => lock.unlock(other as never), 'hold', shown)
    await other.verify()
    await other.release()
  })

  it('a lock of several locks: a hold of one of them, and one of others', async () => {
    const [second, third] = [locks.getLock('order:43'), locks.getLock('order:44')]
    const several = locks.getMultiLock(lock, second)
    const hold = await lock.acquire()
    await expectRefused(() => several.unlock(hold as never), 'hold', `"a hold of ${NAME}"`)
    await hold.release()
    const both = await locks.getMultiLock(second, third).acquire()
    await expectRefused(() => several.unlock(both), 'hold', '"a hold of order:43, order:44"')
    await both.release()
  })

  it('unlock(hold) refuses a hold of another lock, and frees nothing, but not one of another object of the same lock', async () => {
    await lock.unlock(await locks.getLock(NAME).acquire())
    const [one, other] = [0, 1].map(() => locks.getMultiLock(locks.getLock(NAME), locks.getLock('order:43')))
    await one?.unlock(await other?.acquire())
    expect(await lock.isLocked()).toBe(false)
  })
})
