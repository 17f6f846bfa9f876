import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis as Client } from 'ioredis'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from '../../../core/test/redis/support/rig.js'
import Redlock, { ExecutionError, ResourceLockedError } from '../../src/index.js'

// The calls of redlock 5's README, in its order: only the import is another one.
describe("redlock 5's README, with the import of @holdfast/redlock", () => {
  let servers: RedisServer[]
  let redlock: Redlock
  const done: string[] = []
  const something = (what = 'something'): Promise<void> => (done.push(what), Promise.resolve())

  beforeAll(async () => {
    servers = await Promise.all([RedisServer.start(), RedisServer.start(), RedisServer.start()])
  })
  afterAll(async () => {
    await redlock.quit()
    await Promise.all(servers.map((server) => server.stop()))
  })

  it('Configuration: three nodes, and every setting', async () => {
    const [redisA, redisB, redisC] = servers.map(({ url }) => new Client(url)) as [Client, Client, Client]
    redlock = new Redlock([redisA, redisB, redisC], {
      driftFactor: 0.01,
      retryCount: 10,
      retryDelay: 200,
      retryJitter: 200,
      automaticExtensionThreshold: 500,
    })
    expect(redlock.settings).toMatchObject({ retryCount: 10, automaticExtensionThreshold: 500 })
    await Promise.all([redisA, redisB, redisC].map((redis) => redis.ping()))
  })

  it('Usage: using', async () => {
    done.length = 0
    await redlock.using(['foo', 'bar'], 5000, async (signal) => {
      await something('foo')
      if (signal.aborted) {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- as it stands there
        throw signal.error
      }
      await something('bar')
    })
    expect(done).toEqual(['foo', 'bar'])
  })

  it('Usage: acquire, extend and release', async () => {
    let lock = await redlock.acquire(['a'], 5000)
    const { expiration } = lock
    try {
      await something()
      lock = await lock.extend(5000)
      expect(lock.expiration).toBeGreaterThanOrEqual(expiration)
      await something()
    } finally {
      await lock.release()
    }
    // A release waits for most of the servers.
    await eventually(async () => (await servers[0]!.command('EXISTS', 'a')) === 0)
  })

  it('Use in CommonJS Projects', async () => {
    const program =
      "const { default: Redlock } = require('@holdfast/redlock'); console.log(typeof Redlock.prototype.using)"
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    })
    expect(stdout.trim()).toBe('function')
  })

  it('Error Handling: the event, and the attempts of locks and errors', async () => {
    const logged: Error[] = []
    let locked = 0
    redlock.on('error', (error: Error) => {
      if (error instanceof ResourceLockedError) {
        locked += 1
        return
      }
      logged.push(error)
    })
    const lock = await redlock.acquire(['b'], 5000)
    const refused = await redlock
      .acquire(['b'], 5000, { retryCount: 0 })
      .catch((error: unknown) => error as ExecutionError)
    expect(refused).toBeInstanceOf(ExecutionError)
    const [attempt] = (await Promise.all(refused.attempts)) as { votesAgainst: Map<unknown, Error> }[]
    expect(attempt!.votesAgainst.size).toBe(3)
    expect(await Promise.all(lock.attempts)).toMatchObject([{ membershipSize: 3, quorumSize: 2 }])
    expect(locked).toBe(3)
    expect(logged).toEqual([])
    await lock.release()
  })
})
