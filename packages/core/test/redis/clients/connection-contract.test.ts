import { describe, expect, it } from '@jest/globals'
import { LockClient, type Hold, type LockClientOptions } from '../../../src/index.js'
import { INBOX_PREFIX } from '../../../src/keys.js'
import { nextEvent, outcomeOf } from '../support/outcomes.js'
import { carrierOf, carrierPackage, onNodeRedis } from '../support/carrier.js'
import { kinds, usePlace, type Kind, type Place, type Settings } from '../support/places.js'
import { eventually, soon } from '../support/rig.js'
import { useWarnings, type Warnings } from '../support/warnings.js'

const NAME = 'order:42'

interface Fault {
  /** The events that a user sees. */
  readonly shows: string
  /** Every kind, unless they are named. */
  readonly on?: readonly Kind[]
  readonly run: (at: Place, warnings: Warnings) => Promise<void>
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

const listeners = (at: Place, locks: LockClient): Promise<number> =>
  at.listeners(`${INBOX_PREFIX}${locks.clientId}`)

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
const says =
  (what: RegExp) =>
  (bytes: Buffer): boolean =>
    what.test(bytes.toString('latin1'))
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
      const told = /Redis refuses its database \((99|that of its options)\): give one that it has/
      // It connects again every 20 ms, and is refused.
      await eventually(async () => {
        const failure = await outcomeOf(locks.getLock(NAME).tryLock())
        expect(failure).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'not-sent' })
        return told.test(String(failure))
      }, 15_000)
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
    shows: 'what replicas acknowledge is in the database that was selected, also after a break',
    on: ['sentinel'],
    run: async (at) => {
      // A client of node-redis for Sentinel has no select().
      const connection = at.connection(onNodeRedis ? { db: 3 } : {})
      if (!onNodeRedis) await connection.select(3)
      const locks = await at.connect(connection, { replicas: { acks: 1, timeoutMs: 2_000 } })
      for (const isBroken of [false, true]) {
        if (isBroken) at.proxies.forEach((proxy) => proxy.cutAll())
        const hold = await soon(locks.getLock(NAME).acquire(), 15_000)
        expect(await at.databases()).toEqual(['db3'])
        expect(await hold.release()).toBe('released')
      }
    },
  },
  {
    shows:
      'the right to select that is taken away and granted again: nothing runs in database 0, and the client goes on',
    on: ['single', 'sentinel'],
    run: async (at) => {
      await at.each(...takes('>old'))
      const [one, other] = await pair(at, { ...APP, db: 3 }, { commandTimeout: 500 })
      await handsOver(one, other, at)
      await at.each(...takes('>old', '-select'))
      at.proxies.forEach((proxy) => proxy.cutAll())
      const refused = async () => /select/i.test(String(await outcomeOf(one.getLock(NAME).tryLock())))
      await eventually(refused, 15_000)
      expect((await at.databases()).filter((each) => each !== 'db3')).toEqual([])
      await at.each(...takes('>old'))
      await eventually(() => worksAgain(one), 15_000)
      await handsOver(one, other, at)
    },
  },
  {
    shows: 'a server that takes no more clients says so, and the client connects when there is room',
    run: async (at) => {
      await at.each('CONFIG', 'SET', 'maxclients', 1)
      const why =
        'ERR max number of clients reached. Close connections that are not needed, or raise maxclients.'
      await eventually(async () => {
        const failure = await outcomeOf(at.client({}, { unavailableTimeoutMs: 1_000 }))
        expect(failure).toMatchObject({ code: 'REDIS_UNAVAILABLE', transient: true })
        return at.kind !== 'single' || String(failure).includes(why)
      }, 15_000)
      const connecting = at.client({}, { unavailableTimeoutMs: 20_000 })
      await at.each('CONFIG', 'SET', 'maxclients', 10_000)
      await handsOver(await soon(connecting, 20_000), await at.client(), at)
    },
  },
  {
    shows: 'a password that was changed is told, and the old one, set again, is taken',
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
  {
    shows: 'a user without channels has its locks, and waiters find out by themselves',
    run: async (at, warnings) => {
      await at.each(...takes('>old', 'resetchannels'))
      const [one, other] = await pair(at, APP, { resyncInterval: 200 })
      const hold = await one.getLock(NAME).acquire()
      const parked = nextEvent(other, 'waiting')
      const waiting = soon(other.getLock(NAME).acquire(), 15_000)
      await parked
      // Behind a caller that was refused: the end of its wait needs no answer.
      expect(await other.getLock(NAME).tryLock(20)).toBe(false)
      expect(await hold.release()).toBe('released')
      expect(await (await waiting).release()).toBe('released')
      expect((await warnings.delivered('HOLDFAST_NO_CHANNELS')).length).toBeGreaterThan(0)
    },
  },
  {
    shows: 'an error of a proxy after the script ran is an unknown outcome, and nobody keeps the lock',
    run: async (at) => {
      const [one, other] = await pair(at)
      await handsOver(one, other, at)
      const unknown = { code: 'REDIS_UNAVAILABLE', outcome: 'unknown', transient: true }
      const faults = at.proxies.map((each) => each.lie(says(/evalsha/i), 'upstream failure'))
      expect(await outcomeOf(one.getLock(NAME).tryAcquire())).toMatchObject(unknown)
      faults.forEach((each) => each.cancel())
      await handsOver(one, other, at)
    },
  },
  {
    shows: 'a server that says MOVING is followed or not: a waiter is woken, and who hangs is told why',
    run: async (at) => {
      const [one, other] = await pair(at, {}, { pushedGrants: false, commandTimeout: 500 })
      await handsOver(one, other, at)
      at.proxies.forEach((each) => each.announceMoving(each))
      await handsOver(one, other, at)
      at.proxies.forEach((each) => each.cutAll())
      if (carrierPackage === 'redis' && at.kind === 'single') {
        // The user's own client has followed, and does not come back from a break after that.
        const why = "give it maintNotifications: 'disabled'"
        const isTold = async () => String(await outcomeOf(one.getLock(NAME).tryLock())).includes(why)
        await eventually(isTold, 15_000)
      } else {
        await handsOver(one, other, at)
      }
    },
  },
  {
    shows: 'half-open connections for messages are replaced when a SUBSCRIBE is not confirmed (I4)',
    run: async (at, warnings) => {
      const locks = await at.client({}, { commandTimeout: 300, pushedGrants: false })
      const other = await at.other()
      // The first of a cluster are opened by who waits.
      await handsOver(other, locks, at)
      at.proxies.forEach((each) => each.halfOpenAll('subscribers'))
      await handsOver(other, locks, at)
      expect(warnings.of('HOLDFAST_HALF_OPEN')).toEqual([])
    },
  },
  {
    shows: 'half-open connections for messages that are idle: a holder still hears of a forced release',
    run: async (at) => {
      const locks = await at.client({}, { commandTimeout: 300, lockWatchdogTimeout: 3_000 })
      const hold = await locks.getLock(NAME).acquire()
      await eventually(async () => (await listeners(at, locks)) >= 1)
      at.proxies.forEach((each) => each.halfOpenAll('subscribers'))
      // The servers forget them, as after an idle time: who listens then is what took their place.
      await at.each('CLIENT', 'KILL', 'TYPE', 'pubsub')
      const lost = nextEvent(locks, 'lost')
      // Renewals ask the connection, about once a second.
      await eventually(async () => (await listeners(at, locks)) >= 1, 15_000)
      await (await at.other()).getLock(NAME).forceUnlock()
      expect(await lost).toMatchObject({ owner: hold.owner, error: { reason: 'forced' } })
    },
  },
  {
    shows: 'connections that close at SUBSCRIBE are tried ever more rarely, and one warning says so',
    run: async (at, warnings) => {
      const faults = at.proxies.map((each) => each.loseRequest(says(/subscribe/i), Infinity))
      const locks = await at.client({}, { commandTimeout: 300, pushedGrants: false })
      await eventually(() => warnings.of('HOLDFAST_NO_MESSAGES').length === 1, 15_000)
      // Not connections: those of a cluster's client to its other nodes come besides.
      const tried = (): number => faults.reduce((sum, each) => sum + each.count, 0)
      const [before, startMs] = [tried(), performance.now()]
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      await eventually(() => tried() > before, 15_000)
      // After the third pause at the earliest: 400 ms to 800 ms, then 800 ms to 1,600 ms, then up to 2 s.
      // So many pauses fit into that time, with a try before the first and one behind each.
      const mostPerSecond = 2
      const seconds = (performance.now() - startMs) / 1_000
      expect(tried() - before).toBeLessThanOrEqual(Math.floor(mostPerSecond * seconds) + 1)
      faults.forEach((each) => each.cancel())
      await handsOver(await at.other(), locks, at)
      expect(await warnings.delivered('HOLDFAST_NO_MESSAGES')).toHaveLength(1)
    },
  },
  {
    shows: 'half-open connections that Holdfast opened: calls succeed again, and nothing is lost',
    on: onNodeRedis ? kinds : ['single'],
    run: async (at, warnings) => {
      const options = { commandTimeout: 300, lockWatchdogTimeout: 9_000 }
      const locks = await (at.kind === 'single' ? at.connected(options) : at.client({}, options))
      const hold = await locks.getLock('held').acquire()
      const before = at.accepted
      at.proxies.forEach((each) => each.halfOpenAll())
      const next = await locks.getLock(NAME).acquire({ waitMs: 20_000 })
      expect(await hold.release()).toBe('released')
      expect(await next.release()).toBe('released')
      // A probe for both, and what takes the places of both; a cluster's for messages are opened by who waits.
      await eventually(() => at.accepted >= before + (at.kind === 'cluster' ? 2 : 3), 15_000)
      expect(warnings.of('HOLDFAST_HALF_OPEN')).toEqual([])
    },
  },
  {
    shows: 'a half-open connection that was given: one warning names the option of the client that ends that',
    // With several servers, node-redis's are connections of Holdfast's own.
    ...(onNodeRedis ? { on: ['single'] as const } : {}),
    run: async (at, warnings) => {
      const locks = await at.client({}, { commandTimeout: 300 })
      at.proxies.forEach((each) => each.halfOpenAll())
      const outcomes: unknown[] = []
      await eventually(async () => {
        outcomes.push(await outcomeOf(locks.getLock(NAME).tryLock()))
        return warnings.of('HOLDFAST_HALF_OPEN', 'socketTimeout').length === 1
      }, 15_000)
      expect(outcomes).not.toContain(true)
      expect(warnings.of('HOLDFAST_HALF_OPEN', onNodeRedis ? 'pingInterval' : 'ioredis')).toHaveLength(1)
      at.proxies.forEach((each) => each.cutAll())
      await eventually(() => worksAgain(locks), 15_000)
      expect(await warnings.delivered('HOLDFAST_HALF_OPEN')).toHaveLength(1)
    },
  },
  {
    shows:
      'a server that is blocked for three time limits: 50 clients make one new connection each at most, and keep the old',
    on: ['single'],
    run: async (at) => {
      const commandTimeout = 2_000
      const clients = await Promise.all(
        Array.from({ length: 50 }, () => at.connected({ commandTimeout, lockWatchdogTimeout: 60_000 })),
      )
      const holds = await Promise.all(clients.map((each, i) => each.getLock(`held:${i}`).acquire()))
      await eventually(async () => {
        const counts = await Promise.all(clients.map((each) => listeners(at, each)))
        return counts.every((count) => count === 1)
      }, 20_000)
      const before = at.accepted
      // Everything is accepted, and nothing is answered.
      at.proxies[0]!.blackHole()
      const startMs = performance.now()
      while (performance.now() - startMs < 3 * commandTimeout) {
        await Promise.all(clients.map((each, i) => outcomeOf(each.getLock(`other:${i}`).tryLock())))
      }
      const most = at.accepted
      at.proxies[0]!.pass()
      expect(most - before).toBeGreaterThan(0)
      expect(most - before).toBeLessThanOrEqual(clients.length)
      await Promise.all(holds.map(async (hold) => expect(await hold.release()).toBe('released')))
      // Their old connections: none was dropped.
      expect(at.accepted).toBeLessThanOrEqual(before + clients.length)
    },
  },
  ...(onNodeRedis
    ? []
    : [
        {
          shows:
            'what ioredis has gathered to pipeline is written before the release that was called behind it',
          run: async (at: Place) => {
            const heard: string[] = []
            // Before the client: what comes with the answer to MONITOR ioredis takes for answers.
            const monitor = await (await at.adminOf(NAME)).monitor()
            at.atEnd(() => monitor.disconnect())
            const connection = at.connection({ enableAutoPipelining: true })
            const locks = await at.connect(connection)
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
  const warnings = useWarnings()
  const faults = FAULTS.filter(({ on }) => on?.includes(kind) ?? true)
  it.each(faults)('$shows', ({ run }) => run(at, warnings))
})
