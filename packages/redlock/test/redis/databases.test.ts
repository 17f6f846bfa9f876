import { describe, expect, it, jest } from '@jest/globals'
import { createClient, createClientPool, createCluster } from 'redis'
import { eventually, useRig } from '../../../core/test/redis/support/rig.js'
import Redlock, { ExecutionError, type Settings } from '../../src/index.js'

const once = { retryCount: 0 }

describe('Redlock with a database', () => {
  const harness = useRig({ redis: 'all' })
  const CONNECTION = 'databases-test'

  const given = (options: object = {}) => harness.connection({ connectionName: CONNECTION, ...options })
  const make = (settings: Partial<Settings>): Redlock => new Redlock([given()], { ...once, ...settings })
  /** How many connections to a database there are of those that a test has given or caused. */
  const connectionsTo = async (db: number): Promise<number> => {
    const list = String(await harness.admin.client('LIST'))
    const lines = list.split('\n')
    return lines.filter((line) => line.includes(`name=${CONNECTION} `) && line.includes(` db=${db} `)).length
  }

  it('has its locks in that database, whatever that of the client is (I1)', async () => {
    const two = harness.connection({ db: 2 })
    const lock = await make({ db: 2 }).acquire([harness.name()], 60_000)
    expect(await two.exists(harness.name())).toBe(1)
    expect(await harness.admin.exists(harness.name())).toBe(0)
    await expect(make({ db: 2 }).acquire([harness.name()], 60_000)).rejects.toThrow(ExecutionError)
    const [atTwo] = [new Redlock([two], once)]
    await expect(atTwo.acquire([harness.name()], 60_000)).rejects.toThrow(ExecutionError)
    const other = await new Redlock([two], { ...once, db: 0 }).acquire([harness.name()], 60_000)
    expect(await harness.admin.exists(harness.name())).toBe(1)
    await other.release()
    await (await lock.extend(90_000)).release()
    expect(await two.exists(harness.name())).toBe(0)
  })

  it('says which database that is, and that of the client without the setting', () => {
    expect(make({ db: 3 }).settings.db).toBe(3)
    expect(new Redlock([given({ db: 4 })]).settings.db).toBe(4)
    expect(make({}).settings.db).toBe(0)
  })

  it('shares one connection among redlocks of a client, and ends it with the client', async () => {
    const redis = given()
    const redlocks = [1, 2].map(() => new Redlock([redis], { ...once, db: 5 }))
    for (const redlock of redlocks) await (await redlock.acquire([harness.name()], 60_000)).release()
    // One for commands, one for messages.
    await eventually(async () => (await connectionsTo(5)) === 2)
    await (await redlocks[0]!.acquire([harness.name()], 60_000)).release()
    expect(await connectionsTo(5)).toBe(2)
    redis.disconnect()
    await eventually(async () => (await connectionsTo(5)) === 0)
    const error = await redlocks[0]!.acquire([harness.name()], 60_000).catch((each: unknown) => each)
    const [stats] = await Promise.all((error as ExecutionError).attempts)
    expect([...stats!.votesAgainst.values()].map(({ message }) => message)).toEqual(['Connection is closed.'])
  })

  it('ends what it has opened in quit, before it resolves', async () => {
    const redlock = make({ db: 6 })
    await (await redlock.acquire([harness.name()], 60_000)).release()
    await redlock.quit()
    await eventually(async () => (await connectionsTo(6)) === 0)
    expect([...redlock.clients].map((each) => (each as { status?: string }).status)).toEqual(['end'])
  })

  it('opens a client of node-redis for it too, whose URL names another', async () => {
    const url = new URL(harness.url)
    url.pathname = '/3'
    const client = createClient({ url: url.href })
    client.on('error', () => undefined)
    await client.connect()
    const redlock = new Redlock([client], { ...once, db: 7 })
    const lock = await redlock.acquire([harness.name()], 60_000)
    const seven = harness.connection({ db: 7 })
    expect(await seven.exists(harness.name())).toBe(1)
    await lock.release()
    await redlock.quit()
    expect(client.isOpen).toBe(false)
  })

  it('refuses what has no other database, or cannot be opened once more', () => {
    const cluster = createCluster({ rootNodes: [{ url: harness.url }] })
    const pool = createClientPool({ url: harness.url })
    const make = (client: unknown, db: number) => () => new Redlock([client as never], { db })
    expect(make(cluster, 2)).toThrow(/^db must be 0 with a cluster/)
    expect(make(cluster, 0)).not.toThrow()
    expect(make({ isCluster: true }, 1)).toThrow(/^db must be 0 with a cluster/)
    expect(make(pool, 0)).toThrow(/^db must be left out with a pool/)
  })

  it.each([-1, 16, 0.5, 'two'])('says that it ignores %j', (db) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    try {
      expect(make({ db: db as number }).settings.db).toBe(0)
      const [said, options] = warn.mock.lastCall ?? []
      expect(said).toContain(`ignores db: ${JSON.stringify(db)},`)
      expect(options).toMatchObject({ type: 'HoldfastWarning', code: 'HOLDFAST_REDLOCK_DB' })
    } finally {
      warn.mockRestore()
    }
  })
})

describe('a duration that is no whole number', () => {
  const harness = useRig({ redis: 'all' })

  it("is refused in redlock's words, and names the value all the same", async () => {
    const redlock = new Redlock([harness.connection()])
    const error = (await redlock.acquire(['a'], 1.5).catch((each: unknown) => each)) as Error
    expect(error).toMatchObject({
      name: 'InvalidArgumentError',
      message: 'Duration must be an integer value in milliseconds.',
      argument: 'duration',
      value: 1.5,
      cause: { message: expect.stringContaining('got 1.5') as unknown },
    })
  })
})
