import { describe, expect, it } from '@jest/globals'
import { commandsIn, RedisServer } from '@holdfast/faults/harness'
import { createClient, createClientPool } from 'redis'
import { LockClient, RedisUnavailableError, fencedSet } from '../../../src/index.js'
import type { NodeRedisClient } from '../../../src/redis/node-redis/client.js'
import { OwnNodeRedis } from '../../../src/redis/node-redis/client.js'
import { NodeRedisPort } from '../../../src/redis/node-redis/port.js'
import { backgroundRuntime } from '../../../src/runtime/runtime.js'
import { acquireScript } from '../../../src/scripts/lock.js'
import { nextEvent, outcomeOf, waitBehind } from '../support/outcomes.js'
import { runsOf } from '../support/requests.js'
import { eventually, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'
const SET = "return redis.call('SET', KEYS[1], ARGV[1])"
const rig = useRig()
const hasEnded = {
  code: 'REDIS_UNAVAILABLE',
  message: expect.stringMatching(/^The Redis connection has ended\. Its client was closed/) as unknown,
  outcome: 'not-sent',
  transient: false,
}

/** A client as its user makes it: nobody has connected it. */
function made(
  { socket = {}, ...options }: { socket?: object; RESP?: 2 | 3 } = {},
  at = rig.server as { port: number },
) {
  const client = createClient({
    name: rig.connectionName,
    ...options,
    socket: { host: '127.0.0.1', port: at.port, reconnectStrategy: 20, ...socket },
  })
  client.on('error', () => undefined)
  rig.atEnd(() => (client.isOpen ? client.destroy() : undefined))
  return client
}

const POOLED = 2

/** A pool as its user makes it. */
function pooled(at = rig.server as { port: number }, options: object = {}) {
  const pool = createClientPool(
    { name: rig.connectionName, ...options, socket: { port: at.port, reconnectStrategy: 20 } },
    { minimum: POOLED, maximum: POOLED, acquireTimeout: 200 },
  )
  pool.on('error', () => undefined)
  rig.atEnd(() => (pool.isOpen ? pool.destroy() : undefined))
  return pool
}

type At = { port: number } | undefined
const ways = [
  ['a client', (at: At) => made({}, at)],
  ['a pool', (at: At) => pooled(at)],
] as const

async function portOn(at?: { port: number }) {
  const client = made({}, at)
  await client.connect()
  const port = new NodeRedisPort(client, null, { background: backgroundRuntime, commandTimeout: 3_000 })
  rig.atEnd(() => port.close())
  return { client, port }
}

const evaluated = (
  port: NodeRedisPort,
  lua: string,
  [keys, args]: readonly [string[], string[]],
  isWanted = () => false,
): Promise<unknown> =>
  new Promise((answered, failed) =>
    port.run({ script: { lua, sha1: '' }, keys, args }, 'eval', { isWanted, answered, failed }),
  )

describe('a node-redis client that is not connected', () => {
  it.each(ways)(
    'is waited for by a client made of it, whose errors say what to call: %s',
    async (_, open) => {
      const client = open(undefined)
      const locks = rig.connectNow(client, { commandTimeout: 100 })
      await expect(locks.getLock(NAME).tryLock()).rejects.toThrow(
        'No connection to Redis within 100 ms. The node-redis client was never opened: call its connect().',
      )
      const waiting = locks.getLock(NAME).acquire({ waitMs: 20_000 })
      await client.connect()
      expect(await (await soon(waiting)).release()).toBe('released')
    },
  )

  it('is connected by LockClient.connect, and left open and without listeners (I5)', async () => {
    const client = made()
    const events = ['connect', 'ready', 'reconnecting', 'end', 'error']
    const before = events.map((event) => client.listenerCount(event))
    const locks = await LockClient.connect(client)
    expect(await rig.connections()).toBe(2)
    expect(client.listenerCount('error')).toBe(1)
    await locks.close()
    expect(events.map((event) => client.listenerCount(event))).toEqual(before)
    expect(client.isReady).toBe(true)
    await eventually(async () => (await rig.connections()) === 1)
  })

  it.each(['destroy', 'close'] as const)(
    'any more, after its %s: every call says so at once, and a wait under way; opened again, it works again',
    async (end) => {
      const client = made()
      const locks = await rig.connect(client)
      const theirs = await (await rig.client()).getLock(NAME).acquire()
      const { waiting } = await waitBehind(rig, NAME, () => locks.getLock(NAME).lock())
      await client[end]()
      for (const call of [waiting, locks.getLock('free').tryLock(), locks.getLock(NAME).isLocked()]) {
        expect(await outcomeOf(call)).toMatchObject(hasEnded)
      }
      await client.connect()
      await theirs.release()
      expect(await locks.getLock(NAME).withLock(() => 'done')).toBe('done')
    },
  )
})

describe('a command under way on node-redis when the connection breaks', () => {
  it.each(ways)(
    'is sent again, of %s: a single try gets its answer, and nothing is taken twice (I2)',
    async (_, open) => {
      const proxy = await rig.proxy()
      const locks = await rig.connect(open(proxy))
      const lost = proxy.loseReply(runsOf(acquireScript))
      const hold = await soon(locks.getLock(NAME).tryAcquire())
      expect(lost.count).toBe(1)
      expect(await rig.admin.hgetall(NAME)).toEqual({ [hold!.owner]: '1' })
      expect(await hold!.release()).toBe('released')
    },
  )

  it('is not sent again when nobody waits for it any more', async () => {
    const proxy = await rig.proxy()
    const { port, client } = await portOn(proxy)
    let wanted = true
    const lost = proxy.loseRequest((bytes) => bytes.includes(SET))
    const sending = outcomeOf(evaluated(port, SET, [['late'], ['1']], () => wanted))
    const epoch = port.connectionEpoch
    await lost.happened
    proxy.refuse()
    await eventually(() => port.connectionEpoch > epoch)
    wanted = false
    proxy.pass()
    expect(await sending).toMatchObject({ message: 'Socket closed unexpectedly' })
    await eventually(() => client.isReady)
    expect(await evaluated(port, SET, [['next'], ['1']])).toBe('OK')
    expect(await rig.admin.keys('*')).toEqual(['next'])
    await rig.admin.del('next')
  })

  it('is known to have been cut before anybody hears of it', async () => {
    const proxy = await rig.proxy()
    const { port } = await portOn(proxy)
    const before = port.connectionEpoch
    proxy.loseReply((bytes) => bytes.includes(SET))
    const heard = evaluated(port, SET, [['cut'], ['1']]).catch(() => port.connectionEpoch)
    expect(await soon(heard)).toBeGreaterThan(before)
    expect(await rig.admin.del('cut')).toBe(1)
  })

  it('a command under way on node-redis when the connection breaks, and was not yet written never arrives, although node-redis would keep it for the next', async () => {
    const proxy = await rig.proxy()
    const { port, client } = await portOn(proxy)
    // Written by setImmediate: what is asked for in one is written in the next, and the reset is known before that.
    const sending = new Promise((resolve) => {
      setImmediate(() => {
        proxy.resetAll()
        resolve(outcomeOf(evaluated(port, SET, [['late'], ['1']])))
      })
    })
    expect(await sending).toMatchObject({ message: 'The command was aborted' })
    await eventually(() => client.isReady)
    expect(await evaluated(port, SET, [['next'], ['1']])).toBe('OK')
    expect(await rig.admin.keys('*')).toEqual(['next'])
    await rig.admin.del('next')
  })

  it('is a subscription: it is made on the next connection, and heard', async () => {
    const proxy = await rig.proxy()
    const client = made({}, proxy)
    await client.connect()
    const locks = rig.connectNow(client)
    const cut = proxy.loseReply((bytes) => commandsIn(bytes).some(([name]) => name === 'subscribe'))
    const hold = await locks.getLock(NAME).acquire()
    await soon(cut.happened)
    // Redis may not have noticed the end of the connection yet: who listens after this has come since.
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    // No call of ours asks for it again.
    await eventually(async () => (await rig.admin.pubsub('CHANNELS')).length === 1)
    const lost = nextEvent(locks, 'lost')
    expect(await (await rig.client()).getLock(NAME).forceUnlock()).toBe(true)
    expect(await lost).toMatchObject({ owner: hold.owner, error: { reason: 'forced' } })
  })
})

describe('an error of node-redis', () => {
  it('is Redis’s answer, or it is not: told by its form', async () => {
    const { client, port } = await portOn()
    await rig.admin.lpush('list', '1')
    const failed = async (args: string[], options: object = {}): Promise<unknown> =>
      port.isErrorReply(await client.sendCommand(args, options).catch((error: unknown) => error))
    expect(await failed(['EVALSHA', '0'.repeat(40), '0'])).toBe(true)
    expect(await failed(['GET', 'list'])).toBe(true)
    expect(await failed(['NO-SUCH-COMMAND'])).toBe(true)
    expect(await failed(['EVAL', "return redis.error_reply('OWN of a script')", '0'])).toBe(true)
    const [inside] = (await evaluated(port, "return { redis.error_reply('OWN of a script') }", [[], []])) as [
      Error,
    ]
    expect(port.isErrorReply(inside)).toBe(true)

    expect(await failed(['PING'], { abortSignal: AbortSignal.abort() })).toBe(false)
    const cut = failed(['BLPOP', 'empty', '0'])
    await eventually(async () => String(await rig.admin.client('LIST')).includes('cmd=blpop'))
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    expect(await cut).toBe(false)
    // Destroyed while it reconnects, node-redis would leave the new connection open.
    await eventually(() => client.isReady)
    client.destroy()
    expect(await failed(['PING'])).toBe(false)
    expect(port.isErrorReply(new AggregateError([], 'ECONNREFUSED of all'))).toBe(false)
    await rig.admin.del('list')
  })

  it('NOSCRIPT is answered with the script, and a key that is no lock named', async () => {
    const locks = await rig.connect(made())
    await rig.admin.script('FLUSH')
    expect(await locks.getLock(NAME).withLock(() => 'done')).toBe('done')
    await rig.admin.set('text', '1')
    await expect(locks.getLock('text').tryLock()).rejects.toMatchObject({ code: 'WRONG_TYPE', key: 'text' })
    await rig.admin.del('text')
  })
})

describe.each([2, 3] as const)('what a node-redis client is configured with, RESP%i', (RESP) => {
  it('does not reach the commands of Holdfast: types, a time limit, an abort, a place in its queue', async () => {
    const client = made({ RESP })
    await client.connect()
    const odd = client.withCommandOptions({
      // Blobs, simple strings and integers.
      typeMapping: { 36: Buffer, 43: Buffer, 58: String },
      timeout: 1,
      abortSignal: AbortSignal.abort(),
      asap: true,
    } as never) as unknown as NodeRedisClient
    const locks = rig.connectNow(odd)
    const lock = locks.getFencedLock(NAME)
    const hold = await lock.acquire({ leaseMs: 60_000 })
    expect(hold.token).toBe('1')
    expect(await lock.remainTimeToLive()).toBeGreaterThan(50_000)
    const { waiting } = await waitBehind(rig, NAME, () => lock.acquire())
    // Behind a caller that was refused: the end of its wait needs no answer.
    await expect(lock.acquire({ waitMs: 20 })).rejects.toMatchObject({
      holder: { owner: hold.owner, holds: 1, leaseLeftMs: expect.any(Number) as unknown },
    })
    expect(await hold.release()).toBe('released')
    const next = await soon(waiting)
    const lost = nextEvent(locks, 'lost')
    expect(await (await rig.client()).getFencedLock(NAME).forceUnlock()).toBe(true)
    expect(await lost).toMatchObject({ owner: next.owner, error: { reason: 'forced' } })
  })

  it('is kept to by fencedSet, which runs on anything of node-redis', async () => {
    const client = made({ RESP })
    await client.connect()
    const pool = createClientPool({ RESP, socket: { host: '127.0.0.1', port: rig.server.port } })
    pool.on('error', () => undefined)
    await pool.connect()
    rig.atEnd(() => pool.destroy())
    const typed = client.withTypeMapping({ 36: Buffer, 58: String } as never) as unknown as NodeRedisClient
    for (const [redis, token] of [
      [typed, '5'],
      [pool, '6'],
    ] as const) {
      const write = { key: 'data', token, value: `of ${token}` }
      expect(await fencedSet(redis, write)).toEqual({ accepted: true, highestToken: token })
    }
    expect(await fencedSet(typed, { key: 'data', token: '5', value: 'old' })).toEqual({
      accepted: false,
      highestToken: '6',
    })
    await rig.admin.del('data')
  })
})

describe('LockClient.connect with options of node-redis', () => {
  it.each(['url', 'socket'])('opens a connection for a `%s`, and closes it (I5)', async (how) => {
    const { url, port } = rig.server
    const where = how === 'url' ? { url } : { socket: { host: '127.0.0.1', port } }
    const locks = await LockClient.connect({ ...where, name: rig.connectionName })
    expect(await rig.connections()).toBe(2)
    await locks.close()
    await eventually(async () => (await rig.connections()) === 0)
  })

  it('gives up a server that accepts and does not answer, and leaves nothing open (I5)', async () => {
    const proxy = await rig.proxy()
    proxy.blackHole()
    const connecting = LockClient.connect({ url: proxy.url }, { unavailableTimeoutMs: 100 })
    await expect(connecting).rejects.toThrow(RedisUnavailableError)
    proxy.pass()
    await eventually(() => proxy.connections === 0)
  })

  it('a connection that is given up while its socket is on the way does not stay open (I5)', async () => {
    const client = made()
    const ends = new Promise((resolve) => client.once('end', resolve))
    new OwnNodeRedis(client).end()
    await soon(ends)
    await eventually(async () => (await rig.connections()) === 0)
    expect(client.isOpen).toBe(false)
  })
})

describe('a client that was made without options', () => {
  it('has none in @redis/client 5.5, and is one as well', async () => {
    const client = Object.defineProperty(made(), 'options', { value: undefined })
    const locks = rig.connectNow(client, { commandTimeout: 50 })
    await expect(locks.getLock(NAME).tryLock()).rejects.toThrow('call its connect()')
  })
})

describe('what Holdfast cannot use of node-redis', () => {
  it('legacy is refused, with what to use', async () => {
    const other = createClient().legacy() as unknown as NodeRedisClient
    const message = "redis must be a client from createClient: node-redis's legacy() is not supported"
    expect(() => new LockClient(other)).toThrow(message)
    await expect(LockClient.connect(other)).rejects.toThrow(message)
  })
})

describe('a server that announces its move (MOVING)', () => {
  const open = async ({ RESP = 3 as const, ...options }: { RESP?: 3; database?: number } = {}) => {
    const [before, after] = [await rig.proxy(), await rig.proxy()]
    const client = createClient({
      ...{ RESP, name: rig.connectionName, ...options },
      socket: { host: '127.0.0.1', port: before.port },
    })
    client.on('error', () => undefined)
    rig.atEnd(() => (client.isOpen ? client.destroy() : undefined))
    await client.connect()
    return { before, after, client }
  }

  it('is followed with a client that follows it: waiters are woken by message, at once (I4)', async () => {
    const { before, after, client } = await open()
    const locks = rig.connectNow(client, { resyncInterval: 60_000, pushedGrants: false })
    const other = await rig.client()
    const hold = await other.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => locks.getLock(NAME).acquire())
    before.announceMoving(after)
    // The client's, and ours for messages.
    await eventually(() => after.accepted >= 2)
    before.cutAll()
    await rig.heard(NAME)
    await hold.release()
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('to a server without the newest writes is noticed as after a reconnect: the hold is lost at once (I1)', async () => {
    const { before, client } = await open()
    const elsewhere = await RedisServer.start()
    rig.atEnd(() => elsewhere.stop())
    // No renewal asks the other one before the test is over.
    const locks = rig.connectNow(client, { lockWatchdogTimeout: 90_000 })
    const hold = await locks.getLock(NAME).acquire()
    const lost = nextEvent(locks, 'lost')
    before.announceMoving(elsewhere)
    expect(await lost).toMatchObject({ owner: hold.owner })
    await locks.close({ graceMs: 0 })
    await rig.admin.del(NAME)
  })

  it('leaves the client in the database that it has selected', async () => {
    const { before, after, client } = await open({ database: 2 })
    await client.select(3)
    const locks = rig.connectNow(client)
    await (await locks.getLock(NAME).acquire()).release()
    before.announceMoving(after)
    await eventually(() => after.accepted >= 2)
    const hold = await locks.getLock(NAME).acquire()
    const keyspace = await rig.admin.info('keyspace')
    expect([...keyspace.matchAll(/^(db\d+):/gm)].map(([, db]) => db)).toEqual(['db3'])
    expect(await hold.release()).toBe('released')
  })

  it('does not move a connection that Holdfast opened: the next one leads to where it is', async () => {
    const [before, after] = [await rig.proxy(), await rig.proxy()]
    const socket = { host: '127.0.0.1', port: before.port }
    const locks = await rig.connect({ socket, RESP: 3, name: rig.connectionName })
    before.announceMoving(after)
    await (await locks.getLock(NAME).acquire()).release()
    before.cutAll()
    await (await locks.getLock(NAME).acquire()).release()
    expect(after.accepted).toBe(0)
  })
})

describe('a pool of node-redis', () => {
  it('is opened, lends its options to two connections, and is left as it was (I5)', async () => {
    const pool = pooled()
    const locks = await rig.connect(pool)
    expect(await locks.getLock(NAME).withLock(() => rig.admin.hlen(NAME))).toBe(1)
    expect(await rig.connections()).toBe(POOLED + 2)
    expect([pool.clientsInUse, pool.listenerCount('error')]).toEqual([0, 1])
    await locks.close()
    await eventually(async () => (await rig.connections()) === POOLED)
    expect(await pool.get(NAME)).toBeNull()
  })

  it('a pool of node-redis whose clients are all in use delays no lock (I7)', async () => {
    const pool = pooled()
    const [locks, other] = [await rig.connect(pool), await rig.client()]
    const blocked = Array.from({ length: POOLED }, () => pool.execute((client) => client.blPop('nothing', 0)))
    const hold = await other.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => locks.getLock(NAME).acquire())
    await hold.release()
    expect(await (await soon(waiting)).release()).toBe('released')
    await rig.admin.rpush('nothing', ...blocked.map(String))
    await Promise.all(blocked)
  })

  it('a pool of node-redis that its user has closed ends: every call says so at once', async () => {
    const pool = pooled()
    const locks = await rig.connect(pool)
    await pool.close()
    expect(await outcomeOf(locks.getLock(NAME).tryLock())).toMatchObject(hasEnded)
  })

  it('messages are heard again after every connection was cut (I4)', async () => {
    const proxy = await rig.proxy()
    const [locks, other] = [await rig.connect(pooled(proxy), { resyncInterval: 60_000 }), await rig.client()]
    const hold = await other.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => locks.getLock(NAME).acquire())
    proxy.cutAll()
    await rig.heard(NAME)
    await hold.release()
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('its keyPrefix goes before the name of a lock, in node-redis 6', async () => {
    // node-redis 5 has none.
    const pool = pooled(rig.server, { keyPrefix: 'app:' })
    const hasPrefix = '_keyPrefix' in pool
    const hold = await (await rig.connect(pool)).getLock(NAME).acquire()
    expect(await rig.admin.exists(hasPrefix ? `app:${NAME}` : NAME)).toBe(1)
    await hold.release()
  })

  it('wrong credentials are told by connect at once', async () => {
    const connecting = LockClient.connect(pooled(rig.server, { username: 'app', password: 'wrong' }))
    await expect(connecting).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: expect.stringContaining('WRONGPASS'),
    })
  })
})
