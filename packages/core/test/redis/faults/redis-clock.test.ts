import { expect } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import type { LockClientOptions } from '../../../src/index.js'
import { setClockBack } from '../support/clock-steps.js'
import { FairLine, served } from '../support/fair-line.js'
import { belief, BELIEVES, failureOf, KNOWS_BETTER, nextLoss, waitBehind } from '../support/outcomes.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

// The clock of Redis is set back while callers wait. Who of them lives must not depend on that: see
// docs/decisions/0043-clocks-that-are-set-back.md.

const NAME = 'order:42'
const HOUR_MS = 3_600_000
const RESYNC_MS = 150
const STEPS = [20_000, HOUR_MS]

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))

const client = (options: LockClientOptions = {}, connection = rig.connection()) =>
  rig.client({ resyncInterval: RESYNC_MS, ...options }, connection)

/** A client, and what makes a stopped process of it as far as Redis can tell: it is connected, and says nothing more. */
async function mortal() {
  const proxy = await rig.proxy()
  const locks = await client({}, rig.connection({}, proxy))
  rig.atEnd(() => proxy.pass())
  return { locks, stop: () => proxy.blackHole() }
}

/** Who stands in the queue of the plain lock. */
const places = () => rig.admin.zrange(`holdfast:line:{${NAME}}`, '0', '+inf', 'BYSCORE')

const heartbeats = () => rig.admin.hgetall(line.keys.heartbeats)

/** It notes when it looked, and does not see that the clock was set back. */
async function lookAsOlder(): Promise<number> {
  const [seconds] = await rig.admin.time()
  const nowMs = Number(seconds) * 1_000
  await rig.admin.hset(line.keys.heartbeats, ':heard', nowMs)
  return nowMs
}

describe.each(STEPS)('the clock of Redis is set back by %i ms', (stepMs) => {
  it('a dead waiter of a fair lock delays the next by two heartbeats, and not by the step (I10)', async () => {
    const holder = await line.lockOf(await rig.client()).acquire()
    const [one, other] = [await mortal(), await mortal()]
    await line.joinAll(['dead', 'as dead'], (label) => (label === 'dead' ? one : other).locks)
    const clients = [await client(), await client()]
    const living = await line.joinAll(['first', 'second'], (label) => clients[Number(label === 'second')]!)
    one.stop()
    other.stop()
    await setClockBack(rig.admin, stepMs)
    await holder.release()
    await soon(served(living))
    expect(line.served).toEqual(['first', 'second'])
  })

  it('the living keep their places in the queue of a fair lock, and whoever comes stands behind them (I10)', async () => {
    const holder = await line.lockOf(await rig.client()).acquire()
    // Clients that do not say that they live before the others look.
    const seldom = await client({ resyncInterval: 4_000 })
    const standing = await line.joinAll(['a', 'b'], () => seldom)
    await setClockBack(rig.admin, stepMs)
    standing.push(await line.join('c', await client()))
    expect(await line.owners()).toEqual(standing.map(({ owner }) => owner))
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b', 'c'])
  })

  it('a plain lock is not granted to a dead waiter for as long (I4)', async () => {
    const holder = await (await rig.client()).getLock(NAME).acquire()
    const dead = await mortal()
    const waiting = dead.locks.getLock(NAME).acquire()
    waiting.catch(() => undefined)
    await eventually(async () => (await places()).length === 1)
    const living = (await client({ resyncInterval: 20_000 })).getLock(NAME).acquire()
    await eventually(async () => (await places()).length === 2)
    dead.stop()
    await setClockBack(rig.admin, stepMs)
    await holder.release()
    await (await soon(living)).release()
  })

  it('no waiter is forgotten when others asked again since then (I4)', async () => {
    const holder = await (await rig.client()).getLock(NAME).acquire()
    const dead = await mortal()
    const waiting = dead.locks.getLock(NAME).acquire()
    waiting.catch(() => undefined)
    await eventually(async () => (await places()).length === 1)
    const [place] = await places()
    const living = (await client()).getLock(NAME).acquire()
    await eventually(async () => (await places()).length === 2)
    dead.stop()
    await setClockBack(rig.admin, stepMs)
    await eventually(async () => !(await places()).includes(place!))
    await holder.release()
    await (await soon(living)).release()
  })

  it('a fair lock that a dead client alone waits for is not its own for as long (I10)', async () => {
    const holder = await line.lockOf(await rig.client()).acquire()
    const dead = await mortal()
    await line.join('dead', dead.locks)
    dead.stop()
    await setClockBack(rig.admin, stepMs)
    await holder.release()
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(2 * RESYNC_MS)
    await (await soon(line.lockOf(await client()).acquire())).release()
  })
})

describe('the clock of Redis is set back by an hour', () => {
  it('readers do not stand back for a writer that died', async () => {
    const names = (await rig.client()).getReadWriteLock(NAME)
    const holder = await names.readLock().acquire()
    const dead = await mortal()
    const waiting = dead.locks.getReadWriteLock(NAME).writeLock().acquire()
    waiting.catch(() => undefined)
    await eventually(async () => (await rig.admin.zcard(`holdfast:writers:{${NAME}}`)) === 1)
    dead.stop()
    await setClockBack(rig.admin, STEPS[1]!)
    const reader = await soon((await client()).getReadWriteLock(NAME).readLock().acquire())
    await reader.release()
    await holder.release()
  })

  it('the clock of Redis is set back by an hour, and an older Holdfast was the first to look before a release: the dead are granted nothing', async () => {
    const holder = await line.lockOf(await rig.client()).acquire()
    const dead = await mortal()
    await line.join('dead', dead.locks)
    dead.stop()
    await setClockBack(rig.admin, STEPS[1]!)
    await lookAsOlder()
    await holder.release()
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('permits of the dead come back when their set is removed and they are counted anew', async () => {
    const [lost, seats] = [await client(), await client()].map((each) =>
      each.getPermitExpirableSemaphore('seats'),
    )
    await seats!.trySetPermits(2)
    const id = await lost!.acquire({ leaseMs: 20_000 })
    await setClockBack(rig.admin, STEPS[1]!)
    expect(await seats!.availablePermits()).toBe(1)
    await rig.admin.del('{seats}:timeout')
    await seats!.setPermits(2)
    expect(await lost!.tryRelease(id)).toBe(false)
    expect(await seats!.availablePermits()).toBe(2)
    await rig.admin.del('seats')
  })

  it('the clock of Redis is set back by an hour, and an older Holdfast was the first to look: the dead go, the living come back to their places (I10)', async () => {
    const holder = await line.lockOf(await rig.client()).acquire()
    const dead = await mortal()
    await line.join('dead', dead.locks)
    const first = await line.join('first', await client())
    const last = await line.join('last', await client())
    dead.stop()
    await setClockBack(rig.admin, STEPS[1]!)
    const nowMs = await lookAsOlder()
    await eventually(async () =>
      Object.values(await heartbeats()).every((life) => Number.parseInt(life) < nowMs + 60_000),
    )
    await holder.release()
    await soon(served([first, last]))
    expect(line.served).toEqual(['first', 'last'])
  })

  it('a wait that ends says why the lease may be longer than any that this client takes', async () => {
    const [holding, waiting] = [await rig.client(), await client()]
    const hold = await holding.getLock(NAME).acquire()
    await setClockBack(rig.admin, STEPS[1]!)
    const abort = new AbortController()
    const head = waitBehind(rig, NAME, () => waiting.getLock(NAME).acquire({ signal: abort.signal }))
    const { waiting: first } = await head
    // Behind a caller that was refused: the end of its wait needs no answer.
    const error = await failureOf(waiting.getLock(NAME).acquire({ waitMs: 20 }))
    abort.abort()
    await failureOf(first)
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect((error as Error).message).toMatch(
      /60 min \d+ s of lease left, longer than any lease of this client/,
    )
    await hold.release()
  })
})

// Redis keeps the end of a lease on its wall clock. A step of that clock and a move of the end are the same thing.
const stepForward = async (ms: number): Promise<void> => moveEnd(-ms)
const stepBack = async (ms: number): Promise<void> => moveEnd(ms)

async function moveEnd(ms: number): Promise<void> {
  const left = await rig.admin.pttl(NAME)
  const [seconds, micros] = (await rig.admin.time()).map(Number) as [number, number]
  await rig.admin.pexpireat(NAME, Math.floor(seconds * 1_000 + micros / 1_000) + left + ms)
}

describe('the clock of Redis steps forward', () => {
  const locks = own(() => rig.client())

  it('past the lease: verify sees it at once, and nothing local does (I1)', async () => {
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    await stepForward(HOUR_MS)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await failureOf(hold.verify())).toMatchObject({ reason: 'gone' })
    expect(belief(hold)).toEqual(KNOWS_BETTER)
  })

  it('within the lease: the next renewal makes it whole again', async () => {
    const clock = new ManualClock()
    const locks = await rig.client({ runtime: clock, commandTimeout: 60_000 })
    const hold = await locks.getLock(NAME).acquire()
    await stepForward(15_000)
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(15_000)
    await clock.advance(10_000)
    await eventually(async () => (await rig.admin.pttl(NAME)) > 15_000)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await hold.release()).toBe('released')
  })

  it('within a fixed lease: verify shortens trust to what is left (I3)', async () => {
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    await stepForward(30_000)
    expect(hold.trustedForMs).toBeGreaterThan(30_000)
    await hold.verify()
    expect(hold.trustedForMs).toBeLessThanOrEqual(30_000 - 350)
    expect(hold.trustedForMs).toBeGreaterThan(20_000)
    expect(await hold.release()).toBe('released')
  })
})

describe('the clock of Redis steps back', () => {
  const locks = own(() => rig.client())
  const others = own(() => rig.client({ resyncInterval: 20_000 }))

  it('changes nothing for a holder: its trust does not grow, and its release lets others in at once (I3, I4)', async () => {
    const hold = await locks.getLock(NAME).acquire()
    await stepBack(HOUR_MS)
    expect(hold.trustedForMs).toBeLessThanOrEqual(30_000)
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', `*{${NAME}}`)).length === 1)
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('a fixed lease still ends when its holder thinks so, and not an hour later (I3)', async () => {
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 500 })
    const told = nextLoss(locks)
    await stepBack(HOUR_MS)
    const next = await soon(others.getLock(NAME).acquire())
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'expired' } })
    expect(await next.release()).toBe('released')
  })

  it('a holder that crashes keeps others out longer by the step, and no longer', async () => {
    const connection = rig.connection({ retryStrategy: () => null })
    const locks = await rig.client({ lockWatchdogTimeout: 1_500 }, connection)
    locks.on('lost', () => undefined)
    await locks.getLock(NAME).acquire()
    // No word of it reaches Redis any more.
    connection.disconnect()
    const crashedAt = performance.now()
    await stepBack(900)
    // No longer than that: otherwise only the tick of the waiter would end it, after 20 s.
    const next = await soon(others.getLock(NAME).acquire())
    expect(performance.now() - crashedAt).toBeGreaterThan(900)
    expect(await next.release()).toBe('released')
  })
})
