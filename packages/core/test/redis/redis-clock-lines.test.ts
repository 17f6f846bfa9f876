import { expect } from '@jest/globals'
import type { LockClientOptions } from '../../src/index.js'
import { setClockBack } from './support/clock-steps.js'
import { FairLine, served } from './support/fair-line.js'
import { failureOf } from './support/losses.js'
import { eventually, soon } from './support/rig.js'
import { describe, it, own, useRig } from './support/together.js'

// The clock of Redis is set back while callers wait. Who of them lives must not depend on that: see
// docs/decisions/0043-clocks-that-are-set-back.md.

const NAME = 'order:42'
const RESYNC_MS = 150
const STEPS = [20_000, 3_600_000]

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
    const id = await lost!.acquire({ leaseMs: 500 })
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
    const error = await failureOf(waiting.getLock(NAME).acquire({ waitMs: 300 }))
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect((error as Error).message).toMatch(
      /60 min \d+ s of lease left, longer than any lease of this client/,
    )
    await hold.release()
  })
})
