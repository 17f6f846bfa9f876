import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { Cluster, Redis } from 'ioredis'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createClient } from 'redis'
import { LockClient, RedisUnavailableError } from '../../../src/index.js'
import { endConnection } from '../../../src/redis/ioredis/client.js'
import { OwnNodeRedis } from '../../../src/redis/node-redis/client.js'
import { atOnce } from '../support/at-once.js'
import { onNodeRedis } from '../support/carrier.js'
import { outcomeOf } from '../support/outcomes.js'
import { eventually, soon } from '../support/rig.js'
import { useTlsRig } from '../support/tls-rig.js'

const NAME = 'order:42'
// A call that does not fail at once would outlast the test.
const PATIENT = { unavailableTimeoutMs: 120_000 }

const { rig, tlsPort } = await useTlsRig()

// The output here is expected, and would look like a mistake in the output of the tests.
let warned: string[] = []
let printed: unknown[][] = []
beforeEach(() => {
  warned = []
  printed = []
  jest.spyOn(console, 'error').mockImplementation((...words: unknown[]) => void printed.push(words))
  jest.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
    warned.push(`${(options as { code?: string }).code}: ${String(message)}`)
  })
})
afterEach(() => void jest.restoreAllMocks())

interface Settings {
  readonly host?: string
  readonly port?: number
  readonly username?: string
  readonly password?: string
  readonly tls?: boolean
}

/** A client of the caller's own, which nobody listens to but in the way that the caller's client demands. */
function open(settings: Settings) {
  const { host = '127.0.0.1', port = rig.server.port, tls, ...user } = settings
  if (onNodeRedis) {
    const client = createClient({
      ...user,
      name: rig.connectionName,
      socket: { host, port, reconnectStrategy: 20, ...(tls && { tls }) } as object,
    })
    const own = new OwnNodeRedis(client)
    rig.atEnd(() => own.end())
    return client
  }
  const { connectionName } = rig
  const redis = new Redis({
    ...{ host, port, connectionName, retryStrategy: () => 20, disconnectTimeout: 50 },
    ...user,
    ...(tls && { tls: {} }),
  })
  redis.on('error', () => undefined)
  rig.atEnd(() => endConnection(redis))
  return redis
}

async function failureOf(call: () => Promise<LockClient>): Promise<RedisUnavailableError> {
  const outcome = await soon(call()).catch((error: unknown) => error)
  if (outcome instanceof LockClient) {
    await outcome.close()
  }
  expect(outcome).toBeInstanceOf(RedisUnavailableError)
  return outcome as RedisUnavailableError
}

const WRONG_PASSWORD = 'WRONGPASS invalid username-password pair or user is disabled'

describe('connect() fails at once, and says why', () => {
  beforeEach(async () => {
    await rig.admin.acl('SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all')
    await rig.admin.acl('SETUSER', 'few', 'on', '>secret', '~*', '&*', '+@all', '-evalsha')
  })

  const cases: Record<string, [Settings, string]> = {
    'a wrong password': [{ username: 'app', password: 'wrong' }, WRONG_PASSWORD],
    'an unknown user': [{ username: 'nobody', password: 'secret' }, WRONG_PASSWORD],
    'an unknown host': [{ host: 'no-such-host.invalid' }, 'getaddrinfo ENOTFOUND no-such-host.invalid'],
  }

  it.each(Object.keys(cases))('%s', async (name) => {
    const [settings, why] = cases[name]!
    const error = await failureOf(() => LockClient.connect(open(settings), PATIENT))
    expect(error).toMatchObject({ outcome: 'not-sent', transient: false })
    expect(error.message).toContain(
      `Cannot connect to Redis: ${why}. Another attempt would fail alike: correct`,
    )
    expect((error.cause as Error).message).toContain(why)
  })

  it('a connection of its own, by URL', async () => {
    const url = `redis://app:wrong@127.0.0.1:${rig.server.port}`
    const error = await failureOf(() => LockClient.connect(url, PATIENT))
    expect(error.message).toContain(WRONG_PASSWORD)
    expect(error.message).not.toContain(':wrong@')
  })

  it('a user that may not run scripts', async () => {
    const few = { username: 'few', password: 'secret' }
    const error = await failureOf(() => LockClient.connect(open(few), PATIENT))
    expect(error).toMatchObject({ outcome: 'refused', transient: false })
    expect(error.message).toMatch(/NOPERM .*evalsha/)
  })

  it('no password where one is required', async () => {
    await rig.admin.config('SET', 'requirepass', 'secret')
    try {
      const error = await failureOf(() => LockClient.connect(open({}), PATIENT))
      expect(error.transient).toBe(false)
      expect(error.message).toContain('NOAUTH')
    } finally {
      await rig.admin.config('SET', 'requirepass', '')
    }
  })

  it('a certificate that nobody vouches for', async () => {
    const error = await failureOf(() => LockClient.connect(open({ port: tlsPort, tls: true }), PATIENT))
    expect(error).toMatchObject({ transient: false, cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } })
  })

  /** The port of a server that does this with each connection. */
  const portOf = async (meet: (socket: Socket) => unknown): Promise<number> => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined))
      meet(socket)
    }).listen(0, '127.0.0.1')
    rig.atEnd(() => {
      sockets.forEach((socket) => socket.destroy())
      server.close()
    })
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  it('a port where no Redis answers, but something else', async () => {
    const port = await portOf((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const error = await failureOf(() => LockClient.connect(open({ port }), PATIENT))
    expect(error.transient).toBe(false)
    expect(error.message).toMatch(/Protocol error|Unknown RESP type/)
  })

  it('ignores that a server cannot speak TLS for the moment', async () => {
    // An alert, fatal, "internal error": as a proxy that has no certificate yet.
    const alert = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x50])
    const port = await portOf((socket) => socket.once('data', () => socket.end(alert)))
    const client = open({ port, tls: true })
    const [clock, failed] = [new ManualClock(), once(client, 'error')]
    // The time is over when the client has been told why.
    const connecting = LockClient.connect(client, { runtime: clock, unavailableTimeoutMs: 300 })
    connecting.catch(() => undefined)
    await soon(failed.catch(() => undefined))
    await clock.advance(300)
    const error = await failureOf(() => connecting)
    expect(error).toMatchObject({ outcome: 'not-sent', transient: true })
    expect(error.message).toMatch(/^No connection to Redis within 300 ms: .*alert internal error/)
  })

  // A client of ioredis, whatever the project.
  it.each(['a cluster', 'Sentinel'])('a wrong password of %s', async (kind) => {
    const at = { host: '127.0.0.1', port: rig.server.port }
    const redis =
      kind === 'Sentinel'
        ? new Redis({ sentinels: [at], name: 'main', sentinelUsername: 'app', sentinelPassword: 'wrong' })
        : new Cluster([at], { redisOptions: { username: 'app', password: 'wrong' } })
    redis.on('error', () => undefined)
    rig.atEnd(() => redis.disconnect())
    const error = await failureOf(() => LockClient.connect(redis, PATIENT))
    expect(error).toMatchObject({ outcome: 'not-sent', transient: false })
    expect(error.message).toContain(WRONG_PASSWORD)
  })
})

describe('connect() to a refused connection', () => {
  it('says so while it is tried on, and succeeds when Redis comes', async () => {
    const locks = LockClient.connect(open({}), PATIENT)
    await soon(locks).then((client) => client.close())
    expect(warned).toEqual([])
    await rig.server.kill()
    const connecting = LockClient.connect(open({}), PATIENT)
    // Another test's server may have taken the port.
    const connected = connecting.then(
      (client) => `connected to a Redis at ${rig.server.port}: ${client.clientId}`,
    )
    const told = eventually(() => warned.length > 0, 20_000).then(() => 'warned')
    expect(await Promise.race([told, connected])).toBe('warned')
    const why = `connect ECONNREFUSED 127.0.0.1:${rig.server.port}`
    expect(warned).toEqual([
      `HOLDFAST_CONNECTING: No connection to Redis for 2000 ms: ${why}. ` +
        'Check that Redis runs, and the host, port and password that were given. Retrying until 120000 ms have passed (unavailableTimeoutMs).',
    ])
    await rig.server.restart()
    await soon(connecting).then((client) => client.close())
  })
})

describe('a wait that ends while Redis is down', () => {
  /** A client of the project, with no listener of 'error', which node-redis does not allow. */
  const silentClient = async (options = {}) => {
    if (onNodeRedis) {
      return rig.client(options)
    }
    const redis = new Redis(rig.server.url, {
      ...{ connectionName: rig.connectionName, retryStrategy: () => 20, disconnectTimeout: 50 },
    })
    rig.atEnd(() => endConnection(redis))
    await once(redis, 'ready')
    return rig.connect(redis, options)
  }
  const refused = () => ({ code: 'ECONNREFUSED', port: rig.server.port })
  /** The error of a single try, once its client knows that nobody listens any more. */
  const knownRefused = async (locks: LockClient): Promise<unknown> => {
    let error: unknown
    await eventually(async () => {
      error = await outcomeOf(locks.getLock(NAME).tryLock())
      return ((error as Error).cause as { code?: string } | undefined)?.code === 'ECONNREFUSED'
    })
    return error
  }

  const calls: Record<string, (locks: LockClient) => Promise<unknown>> = {
    'lock()': (locks) => locks.getLock(NAME).lock(),
    'tryLock() with a wait': (locks) => locks.getLock(NAME).tryLock(600),
    'acquire() with waitMs': (locks) => locks.getLock(NAME).acquire({ waitMs: 600 }),
    'withLock() with waitMs': (locks) => locks.getLock(NAME).withLock(() => undefined, { waitMs: 600 }),
    'a fair lock': (locks) => locks.getFairLock(NAME).acquire({ waitMs: 600 }),
    'a multi lock': (locks) =>
      locks.getMultiLock(locks.getLock(NAME), locks.getLock('other')).acquire({ waitMs: 600 }),
    'a semaphore': (locks) => locks.getSemaphore(NAME).acquire({ waitMs: 600 }),
    'a latch': (locks) => locks.getCountDownLatch(NAME).await({ waitMs: 600 }),
  }

  it(`its error has why, and how long it waited: ${Object.keys(calls).join(', ')}`, async () => {
    const waits = []
    for (const [name, call] of Object.entries(calls)) {
      waits.push({
        name,
        call,
        locks: await silentClient({ unavailableTimeoutMs: 600, commandTimeout: 200 }),
      })
    }
    await rig.server.kill()
    await Promise.all(waits.map(({ locks }) => knownRefused(locks)))
    await atOnce(waits, async ({ call, locks }) => {
      const startedAt = performance.now()
      const outcome = await soon(call(locks)).catch((error: unknown) => error)
      const passedMs = performance.now() - startedAt
      expect(outcome).toBeInstanceOf(RedisUnavailableError)
      const error = outcome as RedisUnavailableError
      expect(error.cause).toMatchObject(refused())
      expect(error.waitedMs).toBeGreaterThanOrEqual(590)
      expect(error.waitedMs).toBeLessThanOrEqual(passedMs)
      const ms = Math.round(error.waitedMs!)
      const why = `connect ECONNREFUSED 127.0.0.1:${rig.server.port}`
      expect(error.message).toContain(`No connection to Redis within ${ms} ms: ${why}.`)
    })
    await rig.server.restart()
  })

  it('a try has the reason, too', async () => {
    const locks = await silentClient({ commandTimeout: 300 })
    await rig.server.kill()
    expect(await knownRefused(locks)).toMatchObject({ outcome: 'not-sent', cause: refused() })
    await rig.server.restart()
  })

  it('a server that is killed in the middle of a wait', async () => {
    const locks = await silentClient({ commandTimeout: 200 })
    const holder = await rig.client({ lockWatchdogTimeout: 120_000 })
    await holder.getLock(NAME).acquire()
    const parked = new Promise((resolve) => locks.on('waiting', resolve))
    const waiting = locks.getLock(NAME).acquire({ waitMs: 3_000 })
    await soon(parked)
    await rig.server.kill()
    const error = await soon(waiting).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(RedisUnavailableError)
    expect(error).toMatchObject({ cause: refused() })
    expect((error as RedisUnavailableError).waitedMs).toBeGreaterThanOrEqual(2_990)
    await rig.server.restart({ empty: true })
  })
})

describe('a client of ioredis without a listener of its own', () => {
  it('is printed as ever, once, whoever else listens for Holdfast', async () => {
    const redis = new Redis(rig.server.url, {
      connectionName: rig.connectionName,
      retryStrategy: () => 60_000,
    })
    rig.atEnd(() => endConnection(redis))
    const locks = [await LockClient.connect(redis), await LockClient.connect(redis)]
    const failed = new Error('of the connection')
    const emit = (): unknown => Reflect.apply(Reflect.get(redis, 'silentEmit'), redis, ['error', failed])
    emit()
    expect(printed).toEqual([['[ioredis] Unhandled error event:', failed.stack]])
    redis.on('error', () => undefined)
    emit()
    expect(printed).toHaveLength(1)
    await Promise.all(locks.map((each) => each.close()))
    expect(redis.listenerCount('error')).toBe(1)
  })
})
