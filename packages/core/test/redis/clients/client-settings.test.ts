import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { RedisReplication } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { createClient } from 'redis'
import { LockClient, type LockClientOptions } from '../../../src/index.js'
import { endConnection } from '../../../src/redis/ioredis/client.js'
import { OwnNodeRedis } from '../../../src/redis/node-redis/client.js'
import { nextEvent, renewed, waitBehind } from '../support/outcomes.js'
import { carrierPackage, onNodeRedis } from '../support/carrier.js'
import { eventually, soon } from '../support/rig.js'
import { useTlsRig } from '../support/tls-rig.js'

const NAME = 'order:42'
const APP = { username: 'app', password: 'p:ss w@rd/%' }

const { rig, tlsPort, cert } = await useTlsRig()
beforeEach(async () => {
  await rig.admin.acl('SETUSER', APP.username, 'on', `>${APP.password}`, '~*', '&*', '+@all')
})

interface Settings {
  readonly ioredis?: object
  readonly nodeRedis?: { readonly socket?: object | undefined; readonly [option: string]: unknown }
  readonly port?: number
  /** The text before its keys. */
  readonly prefix?: string
}

/** A service that has configured its client so, and hears of a lock by message or not at all. */
async function service(settings: Settings, options: LockClientOptions = {}): Promise<LockClient> {
  const { ioredis, nodeRedis, port = rig.server.port } = settings
  const target = onNodeRedis ? openNodeRedis(port, nodeRedis) : openIoredis(port, ioredis)
  return rig.connect(target, { resyncInterval: 20_000, ...options })
}

function openIoredis(port: number, options: object = {}): Redis {
  const { connectionName } = rig
  const redis = new Redis({ host: '127.0.0.1', port, connectionName, retryStrategy: () => 20, ...options })
  redis.on('error', () => undefined)
  rig.atEnd(() => endConnection(redis))
  return redis
}

function openNodeRedis(port: number, { socket, ...options }: Settings['nodeRedis'] = {}) {
  const address = { host: '127.0.0.1', port, reconnectStrategy: 20, ...socket }
  const client = createClient({ name: rig.connectionName, socket: address, ...(options as object) })
  const own = new OwnNodeRedis(client)
  rig.atEnd(() => own.end())
  return client
}

const knowsPrefix = carrierPackage !== 'redis5'
const settings: Record<string, Settings> = {
  'nothing but where Redis is': {},
  RESP2: { ioredis: { protocol: 2 }, nodeRedis: { RESP: 2 } },
  RESP3: { ioredis: { protocol: 3 }, nodeRedis: { RESP: 3 } },
  'a key prefix': {
    ioredis: { keyPrefix: 'app:' },
    nodeRedis: knowsPrefix ? { keyPrefix: 'app:' } : {},
    prefix: knowsPrefix ? 'app:' : '',
  },
  'numbers as strings, and strings as buffers': {
    ioredis: { stringNumbers: true },
    nodeRedis: { commandOptions: { typeMapping: { 36: Buffer, 58: String } } },
  },
  'auto-pipelining': { ioredis: { enableAutoPipelining: true } },
  'no auto-pipelining': { ioredis: { enableAutoPipelining: false } },
  'no offline queue': { ioredis: { enableOfflineQueue: false }, nodeRedis: { disableOfflineQueue: true } },
  'a cache of its own': { nodeRedis: { RESP: 3, clientSideCache: { ttl: 60_000, maxEntries: 100 } } },
  'another database': { ioredis: { db: 5 }, nodeRedis: { database: 5 } },
  'a user with a password': { ioredis: APP, nodeRedis: APP },
  'TLS, with a certificate that it trusts': {
    ...{ ioredis: { tls: { ca: cert } }, nodeRedis: { socket: { tls: true, ca: cert } }, port: tlsPort },
  },
}

const usable = async (prefix: string, database: number): Promise<unknown> => {
  await rig.admin.select(database)
  const held = await rig.admin.exists(prefix + NAME)
  await rig.admin.select(0)
  return held
}

describe.each(Object.entries(settings))('a client that is configured with %s', (name, given) => {
  const { prefix = '' } = given
  const database = name === 'another database' ? 5 : 0

  it('locks, is refused, waits and is woken, and hears of a forced release', async () => {
    const [one, other] = [await service(given), await service(given)]
    const holds = await Promise.all([NAME, 'second'].map((each) => one.getLock(each).acquire()))
    const [hold] = holds as [(typeof holds)[0], (typeof holds)[0]]
    expect(await usable(prefix, database)).toBe(1)
    const { waiting } = await waitBehind(rig, prefix + NAME, () => other.getLock(NAME).acquire())
    // Behind a caller that was refused: the end of its wait needs no answer.
    await expect(other.getLock(NAME).acquire({ waitMs: 20 })).rejects.toMatchObject({
      holder: { owner: hold.owner, holds: 1 },
    })
    expect(await Promise.all(holds.map((each) => each.release()))).toEqual(['released', 'released'])
    const next = await soon(waiting)
    // Behind the question for the lease that it wants: its answer would tell of the loss before the message does.
    await setImmediate()
    await next.extend(1_000)
    const lost = nextEvent(other, 'lost')
    expect(await one.getLock(NAME).forceUnlock()).toBe(true)
    expect(await lost).toMatchObject({ owner: next.owner, error: { reason: 'forced' } })
  })

  it('goes on when its connections break, and is told by messages again', async () => {
    const [one, other] = [await service(given), await service(given)]
    const hold = await one.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, prefix + NAME, () => other.getLock(NAME).acquire())
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
    await eventually(async () => (await rig.admin.pubsub('CHANNELS')).length === 3)
    expect(await soon(hold.release())).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
  })
})

it('what all of these hold at once is renewed', async () => {
  const open = (given: Settings) => service(given, { lockWatchdogTimeout: 3_000 })
  const all = await Promise.all(Object.values(settings).map(open))
  const take = (locks: LockClient, i: number) =>
    Promise.all([`${i}`, `${i} too`].map((name) => locks.getLock(name).acquire()))
  const holds = (await Promise.all(all.map(take))).flat()
  await Promise.all(holds.map(renewed))
  await Promise.all(holds.map((hold) => hold.verify()))
  expect(await Promise.all(holds.map((hold) => hold.release()))).toEqual(holds.map(() => 'released'))
})

describe('leases that a replica must have', () => {
  const BOUND = { username: 'bound', password: 'secret' }
  let group: RedisReplication
  beforeAll(async () => {
    group = await RedisReplication.start()
    const rights = ['~*', '&*', '+@all', '-client|info']
    await group.primary.command('ACL', 'SETUSER', BOUND.username, 'on', `>${BOUND.password}`, ...rights)
  })
  afterAll(() => group.stop())

  const ofUrl = { ioredis: { db: 5 }, nodeRedis: { url: 'URL/5', socket: {} } }
  const bound = { ioredis: { ...BOUND, db: 5 }, nodeRedis: { ...BOUND, database: 5 } }

  it.each<[string, Settings, selected: number | null, database: number]>([
    ['where select() has moved it', {}, 3, 3],
    ['where select() has moved it back', ofUrl, 0, 0],
    ['of its URL', ofUrl, null, 5],
    ['of its options, where it may not ask', bound, null, 5],
  ])('are in the database of their client: %s (I1)', async (_, given, selected, database) => {
    const { primary } = group
    const { url, ...nodeRedis } = (given.nodeRedis ?? {}) as { readonly url?: string }
    const address = url === undefined ? {} : { url: url.replace('URL', primary.url), socket: undefined }
    const client = onNodeRedis
      ? openNodeRedis(primary.port, { ...nodeRedis, ...address })
      : openIoredis(primary.port, given.ioredis)
    if (selected !== null) await client.select(selected)
    const name = `named-${database}`
    if (onNodeRedis)
      await (client as ReturnType<typeof openNodeRedis>).sendCommand(['CLIENT', 'SETNAME', name])
    else await (client as Redis).client('SETNAME', name)
    const locks = await rig.connect(client, { replicas: { acks: 1, timeoutMs: 2_000 } })
    const plain = await service({ ioredis: { db: database }, nodeRedis: { database }, port: primary.port })
    const hold = await soon(locks.getLock(NAME).acquire())
    expect(String(await primary.command('INFO', 'keyspace')).match(/^db\d+/gm)).toEqual([`db${database}`])
    expect(await plain.getLock(NAME).tryAcquire()).toBeNull()
    expect(await hold.release()).toBe('released')
    const list = String(await primary.command('CLIENT', 'LIST'))
    expect(/^.* cmd=wait .*$/m.exec(list)?.[0]).toContain(` db=${database} `)
    if (!('username' in (given.ioredis ?? {}))) {
      expect(list.match(new RegExp(`^.* name=${name} `, 'gm'))).toHaveLength(2)
    }
    await primary.command('FLUSHALL')
  })
})

it('a connection of ioredis that ends in the middle of its TLS handshake does not end the process', async () => {
  for (let i = 0; i < 20; i += 1) {
    const redis = new Redis({ host: '127.0.0.1', port: tlsPort, tls: {} })
    redis.on('error', () => undefined)
    while (!(redis.stream as object | undefined)) await setImmediate()
    if (redis.stream.connecting) await once(redis.stream, 'connect')
    await endConnection(redis)
  }
})
