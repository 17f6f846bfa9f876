import { describe, expect, it } from '@jest/globals'
import { LockClient, type Hold, type LockClientOptions } from '../../src/index.js'
import { outcomeOf } from './support/behind.js'
import { carrierOf, carrierPackage, onNodeRedis } from './support/carrier.js'
import { eventually } from './support/harness.js'
import { kinds, usePlace, type Kind, type Place, type Settings } from './support/places.js'
import { soon } from './support/rig.js'

const NAME = 'order:42'

interface Fault {
  /** What a user sees. */
  readonly shows: string
  /** Every kind, unless they are named. */
  readonly on?: readonly Kind[]
  readonly run: (at: Place) => Promise<void>
}

/** Whether the second client, which waits, is woken by the release of the first. Nothing else would end its wait. */
async function handsOver(one: LockClient, other: LockClient, at: Place, prefix = ''): Promise<void> {
  const hold = await soon(one.getLock(NAME).acquire())
  const waiting = other.getLock(NAME).acquire()
  waiting.catch(() => undefined)
  await at.heard(prefix + NAME)
  expect(await hold.release()).toBe('released')
  expect(await (await soon(waiting)).release()).toBe('released')
}

async function worksAgain(locks: LockClient): Promise<boolean> {
  const hold = (await outcomeOf(locks.getLock(NAME).tryAcquire())) as Hold | Error | null
  return hold !== null && !(hold instanceof Error) && (await hold.release()) === 'released'
}

async function pair(at: Place, settings: Settings = {}, options: LockClientOptions = {}) {
  return [await at.client(settings, options), await at.client(settings, options)] as const
}

// On a cluster of Redis there is only 0.
const REFUSED = { db: 99 }
const APP = { username: 'app', password: 'old' }
const takes = (...rights: string[]) =>
  ['ACL', 'SETUSER', 'app', 'reset', 'on', '~*', '&*', '+@all', ...rights] as const
const knowsPrefix = carrierPackage !== 'redis5'

const FAULTS: readonly Fault[] = [
  {
    shows:
      'a database that Redis refuses is refused before anything ran in database 0, also by a client that is there',
    run: async (at) => {
      const connection = at.connection(REFUSED)
      const named = { argument: 'database', code: 'INVALID_ARGUMENT' }
      expect(await outcomeOf(at.connect(connection))).toMatchObject(named)
      const locks = new LockClient(carrierOf(connection), { commandTimeout: 300 })
      at.atEnd(() => locks.close({ graceMs: 0 }))
      const failure = await outcomeOf(locks.getLock(NAME).tryLock())
      expect(failure).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'not-sent' })
      expect(String(failure)).toMatch(
        /Redis refuses its database \((99|that of its options)\): give one that it has/,
      )
      expect(await outcomeOf(at.connect(connection))).toMatchObject(named)
      expect(await at.databases()).toEqual([])
    },
  },
  {
    shows: 'a database that Redis lets its user select has the locks, also after a break',
    on: ['single', 'sentinel'],
    run: async (at) => {
      const [one, other] = await pair(at, { db: 3 })
      await handsOver(one, other, at)
      at.proxies.forEach((proxy) => proxy.cutAll())
      const hold = await one.getLock(NAME).acquire()
      expect(await at.databases()).toEqual(['db3'])
      await hold.release()
      await handsOver(one, other, at)
    },
  },
  {
    shows:
      'the right to select that is taken away and given back: nothing runs in database 0, and the client goes on',
    on: ['single', 'sentinel'],
    run: async (at) => {
      await at.each(...takes('>old'))
      const [one, other] = await pair(at, { ...APP, db: 3 }, { commandTimeout: 500 })
      await handsOver(one, other, at)
      await at.each(...takes('>old', '-select'))
      at.proxies.forEach((proxy) => proxy.cutAll())
      await eventually(async () => /select/i.test(String(await outcomeOf(one.getLock(NAME).tryLock()))))
      expect((await at.databases()).filter((each) => each !== 'db3')).toEqual([])
      await at.each(...takes('>old'))
      await eventually(() => worksAgain(one))
      await handsOver(one, other, at)
    },
  },
  {
    shows: 'a server that takes no more clients says so, and the client connects when there is room',
    run: async (at) => {
      await at.each('CONFIG', 'SET', 'maxclients', 1)
      const failure = await outcomeOf(at.client({}, { unavailableTimeoutMs: 1_000 }))
      expect(failure).toMatchObject({ code: 'REDIS_UNAVAILABLE', transient: true })
      if (at.kind === 'single') {
        expect(String(failure)).toContain(
          'ERR max number of clients reached. Close connections that are not needed, or raise maxclients.',
        )
      }
      const connecting = at.client({}, { unavailableTimeoutMs: 20_000 })
      await at.each('CONFIG', 'SET', 'maxclients', 10_000)
      await handsOver(await soon(connecting, 20_000), await at.client(), at)
    },
  },
  {
    shows: 'a password that was changed is told, and one that is given back is taken',
    run: async (at) => {
      await at.each(...takes('>old'))
      const [one, other] = await pair(at, APP, { commandTimeout: 500 })
      await handsOver(one, other, at)
      await at.each(...takes('>new'))
      at.proxies.forEach((proxy) => proxy.cutAll())
      // A cluster says of several nodes that none is there.
      const told = at.kind === 'cluster' ? /^RedisUnavailableError/ : /WRONGPASS/
      await eventually(async () => told.test(String(await outcomeOf(one.getLock(NAME).tryLock()))), 20_000)
      await at.each(...takes('>old'))
      await eventually(() => worksAgain(one), 20_000)
      await handsOver(one, other, at)
    },
  },
  {
    shows: 'the prefix of a client is part of the name, and of no channel but that',
    run: async (at) => {
      const [one, other] = await pair(at, knowsPrefix ? { keyPrefix: 'app:' } : {})
      await handsOver(one, other, at, knowsPrefix ? 'app:' : '')
    },
  },
  {
    shows: 'a slot that moves at once takes its locks and its waiters with it',
    on: ['cluster'],
    run: async (at) => {
      // ioredis 5 and iovalkey keep to themselves that the server has ended a subscription: the next resync finds out.
      const isTold = onNodeRedis || carrierPackage === 'ioredis'
      const [one, other] = await pair(at, {}, isTold ? {} : { resyncInterval: 500 })
      const hold = await one.getLock(NAME).acquire()
      const waiting = other.getLock(NAME).acquire()
      await at.heard(NAME)
      await at.moveAtOnce(NAME)
      await hold.verify()
      await at.heard(NAME)
      expect(await hold.release()).toBe('released')
      expect(await (await soon(waiting, 15_000)).release()).toBe('released')
    },
  },
  ...(onNodeRedis
    ? []
    : [
        {
          shows:
            'what ioredis has gathered to pipeline is written before the release that was called behind it',
          run: async (at: Place) => {
            const connection = at.connection({ enableAutoPipelining: true })
            const locks = await at.connect(connection)
            const heard: string[] = []
            const monitor = await (await at.adminOf(NAME)).monitor()
            at.atEnd(() => monitor.disconnect())
            monitor.on('monitor', (_at: string, [command]: string[], source: string) =>
              source === 'lua' ? undefined : heard.push(command!.toLowerCase()),
            )
            const hold = await locks.getLock(NAME).acquire()
            const written = [connection.set(`{${NAME}}a`, 1)]
            // One that waits for the answer to a pipeline before it.
            await new Promise(setImmediate)
            written.push(connection.set(`{${NAME}}b`, 1))
            await Promise.all([hold.release(), ...written])
            await eventually(() => heard.filter((each) => each === 'set').length === 2)
            await eventually(() => heard.lastIndexOf('evalsha') > heard.lastIndexOf('set'))
            await connection.del(`{${NAME}}a`, `{${NAME}}b`)
          },
        },
      ]),
]

describe.each(kinds)('the connections of a client, on %s', (kind) => {
  const at = usePlace(kind)
  const faults = FAULTS.filter(({ on }) => on?.includes(kind) ?? true)
  it.each(faults)('$shows', ({ run }) => run(at))
})
