import { expect } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { FairLine, served } from '../support/fair-line.js'
import { eventually, sleep, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

// Who of the waiters lives, and what becomes of those who were taken for dead.

const NAME = 'order:42'
const HEARTBEAT_MS = 150

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
const holder = own(async () => line.lockOf(await rig.client()).acquire())

const client = (options = {}) => rig.client({ resyncInterval: HEARTBEAT_MS, ...options })

/** A client whose heart beats when the test says so: to Redis a process that stands still. */
async function stillClient(resyncInterval = HEARTBEAT_MS) {
  const clock = new ManualClock()
  const locks = await client({ runtime: clock, resyncInterval })
  const beat = () => clock.advance(resyncInterval)
  return { locks, beat }
}

describe('a client that was taken for dead', () => {
  it('comes back to its place, also when another of its waiters spoke first (I10)', async () => {
    const still = await stillClient(20_000)
    const early = await line.join('early', still.locks)
    const later = await line.join('later', await client({ resyncInterval: 600 }))
    // Redis counts a client as dead that has been silent for too long.
    await rig.admin.hset(line.keys.heartbeats, still.locks.clientId, '1 1')
    await eventually(async () => !(await line.owners()).includes(early.owner))

    const last = await line.join('last', still.locks)
    await still.beat()
    await eventually(async () => (await line.owners()).length === 3)
    expect(await line.owners()).toEqual([early.owner, later.owner, last.owner])
    await holder.release()
    await soon(served([early, later, last]))
    expect(line.served).toEqual(['early', 'later', 'last'])
  })
})

describe('a wait that lasts longer than Redisson gives a waiter', () => {
  it('keeps its place, and so do those behind (I10)', async () => {
    // The keys of the queue last for four heartbeats without one: for longer than a machine stands still.
    const options = { fairLockWaitTimeout: 100, resyncInterval: 4 * HEARTBEAT_MS }
    const [one, two] = [await client(options), await client(options)]
    const standing = await line.joinAll(['a', 'b', 'c'], (label) => (label === 'b' ? two : one))
    const owners = standing.map(({ owner }) => owner)
    for (let i = 0; i < 15; i += 1) {
      await sleep(100)
      expect(await line.arrivals()).toEqual(owners)
      expect(await line.owners()).toEqual(owners)
    }
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b', 'c'])
  })
})

describe('a slow wire', () => {
  it('a slow wire whose round trip takes longer than two heartbeats costs nobody a place (I10)', async () => {
    const proxy = await rig.proxy()
    const far = await rig.client({ resyncInterval: HEARTBEAT_MS }, rig.connection({}, proxy))
    const near = await client()
    proxy.delay(1.5 * HEARTBEAT_MS)
    const standing = await line.joinAll(['far', 'near'], (label) => (label === 'far' ? far : near))
    const owners = standing.map(({ owner }) => owner)
    const endsAt = performance.now() + 10 * HEARTBEAT_MS
    while (performance.now() < endsAt) {
      await sleep(20)
      expect(await line.owners()).toEqual(owners)
    }
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['far', 'near'])
  })
})

describe('what is not a sign of life', () => {
  it.each([0, 1.7 * HEARTBEAT_MS])(
    'a try of the same client that does not wait, every %i ms, keeps no dead waiter in the queue',
    async (pauseMs) => {
      const still = await stillClient()
      const dead = await line.join('dead', still.locks)
      await eventually(async () => {
        expect(await line.lockOf(still.locks).tryLock()).toBe(false)
        await sleep(pauseMs)
        return (await line.length()) === 0
      })
      await holder.release()
      await still.beat()
      await soon(dead.done)
    },
  )

  it('a silence that is long for another client takes nothing from one with a slow heart (I10)', async () => {
    const slow = await line.join('slow', await rig.client({ resyncInterval: 20_000 }))
    const abort = new AbortController()
    const quick = await line.join('quick', await rig.client({ resyncInterval: 50 }), { signal: abort.signal })
    abort.abort()
    await expect(quick.done).rejects.toBe(abort.signal.reason)
    await sleep(150)
    expect(await line.lockOf(await rig.client()).tryLock()).toBe(false)
    await sleep(150)
    await holder.release()
    await soon(slow.done)
  })

  it('clients that have gone are forgotten while the queue goes on', async () => {
    const waiting = await line.join('waiting', await client())
    for (let i = 0; i < 40; i += 1) {
      const passing = await rig.client({ resyncInterval: 20 })
      const leaving = await line.join('leaving', passing)
      await passing.close()
      await expect(leaving.done).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
    }
    await eventually(async () => (await rig.admin.hlen(line.keys.heartbeats)) < 25)
    await holder.release()
    await waiting.done
  })
})

describe('something of another type under the name of the lock', () => {
  it('ends the waits, and leaves nothing of them in the queue (I8)', async () => {
    const waiting = await client()
    const standing = await line.joinAll(['a', 'b'], () => waiting)
    await rig.admin.set(NAME, 'something else')
    await holder.release()
    for (const { done } of standing) {
      await expect(soon(done)).rejects.toMatchObject({ code: 'WRONG_TYPE' })
    }
    await eventually(async () => (await rig.admin.dbsize()) === 1, 1_000)
    expect(await rig.admin.getdel(NAME)).toBe('something else')
  })
})

describe('Redis is out of memory', () => {
  it('those in the queue keep their places (I10)', async () => {
    const [one, two] = [await client(), await client()]
    const standing = await line.joinAll(['a', 'b', 'c'], (label) => (label === 'b' ? two : one))
    const owners = standing.map(({ owner }) => owner)
    await rig.outOfMemory(async () => {
      await sleep(4 * HEARTBEAT_MS)
      expect(await line.owners()).toEqual(owners)
    })
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b', 'c'])
  })
})
