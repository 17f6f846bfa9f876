import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Hold, LockClient, LockClientOptions } from '../../src/index.js'
import { releaseScript } from '../../src/scripts/fair-lock.js'
import { FairLine, served, type Standing } from './support/fair-line.js'
import { lastingWork } from './support/lasting-work.js'
import { staysByDesign } from './support/lasting-keys.js'
import { outdatedLives, repeatedRuns } from './support/grant-cases.js'
import { passer } from './support/passing.js'
import { eventually, soon, useRig } from './support/rig.js'
import { useSeen } from './support/seen.js'

// A fair lock that is granted to a waiter by the release before it.

const NAME = 'order:42'
const HEARTBEAT_MS = 20_000
const LIFE_MS = 2 * HEARTBEAT_MS

const rig = useRig()
let line: FairLine
let locks: LockClient
let holder: Hold

beforeEach(async () => {
  line = new FairLine(rig.admin, NAME)
  // No heartbeat helps within a test, unless it is about heartbeats.
  locks = await rig.client({ resyncInterval: HEARTBEAT_MS })
  holder = await line.lockOf(locks).acquire()
})

/** A client, and what it has sent since the last look. */
async function receiver(options: LockClientOptions = {}, connection = rig.connection()) {
  const { locks: client, ...rest } = await passer(
    rig,
    { resyncInterval: HEARTBEAT_MS, ...options },
    connection,
  )
  return { client, ...rest }
}

/** Its hold, as soon as it has the lock, and what lets it release the lock. */
async function waitFor(client: LockClient, options: { leaseMs?: number; signal?: AbortSignal } = {}) {
  const { begun, end: finish, work } = lastingWork()
  const standing: Standing = await line.join('waiting', client, { ...options, work })
  const end = async (): Promise<void> => {
    finish()
    await soon(standing.done)
  }
  return { standing, begun, end }
}

const owners = () => rig.admin.hgetall(NAME)

describe('a release grants the lock to the next waiter', () => {
  it('a release grants the lock to the next waiter, which has it without asking, at one script for each hand-off', async () => {
    const { client, sent } = await receiver()
    const { client: other, sent: sentByOther } = await receiver()
    const standing = await line.joinAll(['a', 'b', 'c', 'd'], (label) =>
      'ac'.includes(label) ? client : other,
    )
    sent()
    sentByOther()
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b', 'c', 'd'])
    expect(sent()).toEqual(['release', 'release'])
    expect(sentByOther()).toEqual(['release', 'release'])
    expect(await rig.contents()).toEqual({})
  })

  describe('as telemetry has it', () => {
    const seen = useSeen()

    it('a grant is reported on the path `granted`, at once', async () => {
      const { client } = await receiver()
      const waiting = await line.join('a', client)
      seen.clear()
      await holder.release()
      await soon(waiting.done)
      expect(seen.ended).toMatchObject([
        { outcome: 'acquired', path: 'granted', hasWaited: true, handOffMs: 0 },
      ])
      expect(seen.holds.filter(({ owner }) => owner === waiting.owner)).toMatchObject([
        { phase: 'begun', kind: 'fair' },
        { phase: 'ended', outcome: 'released' },
      ])
    })
  })

  it.each([
    ['renewed one', {}, 30_000],
    ['fixed one', { leaseMs: 90_000 }, 90_000],
  ])(
    'a release grants the lock to the next waiter, which asks for the lease it wants, a %s, when it keeps the lock',
    async (_what, options, leaseMs) => {
      const { client, sent } = await receiver({ resyncInterval: 5_000 })
      const { standing, begun, end } = await waitFor(client, options)
      sent()
      await holder.release()
      const hold = await soon(begun)
      expect(await owners()).toEqual({ [standing.owner]: '1' })
      await eventually(async () => (await rig.admin.pttl(NAME)) > leaseMs - 1_000)
      expect(sent()).toEqual(['renew'])
      await eventually(() => hold.trustedForMs > leaseMs - 2_000)
      await end()
      expect(sent()).toEqual(['release'])
    },
  )

  it('a release grants the lock to the next waiter, which re-enters it like any other', async () => {
    const { client } = await receiver()
    const done = client.run(async () => {
      const lock = line.lockOf(client)
      await lock.lock()
      await lock.lock()
      expect(await lock.getHoldCount()).toBe(2)
      await lock.unlock()
      await lock.unlock()
    })
    await eventually(async () => (await line.length()) === 1)
    await holder.release()
    await soon(done)
    expect(await rig.contents()).toEqual({})
  })

  it('a release grants the lock to the next waiter, which describes it, where its client does', async () => {
    const { client } = await receiver({ describeHolds: true })
    const { begun, end } = await waitFor(client)
    await holder.release()
    await soon(begun)
    await eventually(async () => (await line.lockOf(locks).inspect())?.holders[0]?.heldForMs !== undefined)
    await end()
  })

  it('a waiter that wants a shorter lease than the grant acquires by a command of its own', async () => {
    const { client, sent } = await receiver()
    const { begun, end } = await waitFor(client, { leaseMs: 5_000 })
    sent()
    await holder.release()
    expect((await soon(begun)).trustedForMs).toBeLessThanOrEqual(5_000)
    expect(sent()).toEqual(['acquire'])
    await end()
  })

  it('a waiter with pushedGrants: false is told of the release, and tries', async () => {
    const { client, sent } = await receiver({ pushedGrants: false })
    const { begun, end } = await waitFor(client)
    sent()
    await holder.release()
    await soon(begun)
    expect(sent()).toEqual(['acquire'])
    await end()
  })

  it('a release grants nothing where replicas count: the primary alone cannot', async () => {
    const { client } = await receiver({ replicas: { acks: 1, timeoutMs: 50 } })
    const abort = new AbortController()
    const waiting = await line.join('waiting', client, { signal: abort.signal })
    await holder.release()
    expect(await owners()).toEqual({})
    abort.abort()
    await expect(waiting.done).rejects.toBe(abort.signal.reason)
    await eventually(async () => (await rig.admin.keys('*')).every((key) => staysByDesign(key)))
  })
})

describe('trust in a lock that was granted', () => {
  it('is counted from the sign of life before it, not from the message (I3)', async () => {
    const { client, clock } = await receiver()
    const { begun, end } = await waitFor(client)
    clock.skip(LIFE_MS / 2)
    let trustedForMs = 0
    void begun.then((hold) => (trustedForMs = hold.trustedForMs))
    await holder.release()
    await soon(begun)
    expect(trustedForMs).toBeGreaterThan(LIFE_MS / 3)
    expect(trustedForMs).toBeLessThan(LIFE_MS / 2)
    await end()
  })

  it.each(outdatedLives(LIFE_MS))('is not had when %s: Redis is asked first (I3)', async (_what, pass) => {
    const { client, clock, sent } = await receiver()
    const { begun, end } = await waitFor(client)
    sent()
    pass(clock)
    await holder.release()
    const hold = await soon(begun)
    expect(sent()).toContain('acquire')
    await eventually(() => hold.trustedForMs > 25_000)
    await end()
  })

  it('is not had for a message about a life that this client knows nothing of', async () => {
    const { client, sent } = await receiver()
    const { standing, begun, end } = await waitFor(client)
    sent()
    await rig.admin.publish(`holdfast:client:${client.clientId}`, `grant:1:${standing.owner}`)
    await eventually(() => sent().includes('acquire'))
    expect(await line.owners()).toEqual([standing.owner])
    await holder.release()
    await soon(begun)
    await end()
  })
})

describe('a lock that is granted to nobody', () => {
  it('a lock that is granted to nobody because its caller left meanwhile goes on to the next at once (I8)', async () => {
    const proxy = await rig.proxy()
    const { client } = await receiver({}, rig.connection({}, proxy))
    const abort = new AbortController()
    const leaving = await line.join('leaving', client, { signal: abort.signal })
    const next = await line.join('next', locks)
    proxy.delay(50)
    await holder.release()
    expect(await owners()).toEqual({ [leaving.owner]: '1' })
    abort.abort()
    await expect(leaving.done).rejects.toBe(abort.signal.reason)
    await soon(next.done)
    expect(line.served).toEqual(['next'])
    proxy.pass()
    expect(await rig.contents()).toEqual({})
  })

  it('a lock that is granted to nobody because its process is dead goes on when that is known, within two heartbeats (I10)', async () => {
    const [proxy, near] = [await rig.proxy(), await rig.client({ resyncInterval: 300 })]
    const { client } = await receiver({ resyncInterval: 300 }, rig.connection({}, proxy))
    const dead = await line.join('dead', client)
    const next = await line.join('next', near)
    proxy.blackHole()
    await holder.release()
    expect(await owners()).toEqual({ [dead.owner]: '1' })
    const leftMs = await rig.admin.pttl(NAME)
    expect(leftMs).toBeGreaterThan(0)
    expect(leftMs).toBeLessThanOrEqual(600)
    await soon(next.done)
    expect(line.served).toEqual(['next'])
    proxy.pass()
    await soon(dead.done)
  })
})

describe('a lock that became free without a release', () => {
  it('is granted to the first in the queue by the next who comes', async () => {
    const { client, sent } = await receiver()
    const first = await line.join('first', client)
    sent()
    await rig.admin.del(NAME)
    const newcomer = line.lockOf(locks).acquire()
    await soon(first.done)
    expect(sent()).toEqual(['release'])
    await (await soon(newcomer)).release()
    expect(line.served).toEqual(['first'])
  })

  it('is granted to it by a caller that does not wait, too', async () => {
    const { client } = await receiver()
    const { standing, begun, end } = await waitFor(client)
    await rig.admin.del(NAME)
    expect(await line.lockOf(locks).tryLock()).toBe(false)
    await soon(begun)
    expect(await owners()).toEqual({ [standing.owner]: '1' })
    await end()
  })

  it('by force is granted to the next too, and its former holder hears it', async () => {
    const { client } = await receiver()
    const { begun, end } = await waitFor(client)
    expect(await line.lockOf(client).forceUnlock()).toBe(true)
    await soon(begun)
    await eventually(() => holder.signal.aborted)
    await end()
  })
})

describe('a release that runs twice, or late', () => {
  it.each(repeatedRuns(releaseScript))('%s: grants the lock once (I1)', async (_what, prepare) => {
    const proxy = await rig.proxy()
    await holder.release()
    const far = await rig.client({ resyncInterval: HEARTBEAT_MS }, rig.connection({}, proxy))
    const given = await line.lockOf(far).acquire()
    const { client } = await receiver()
    const { standing, begun, end } = await waitFor(client)
    const behind = await line.join('behind', locks)
    const fault = prepare(proxy)
    await soon(given.release())
    const hold = await soon(begun)
    await soon(fault.happened)
    await rig.admin.ping()
    expect(await owners()).toEqual({ [standing.owner]: '1' })
    expect(await line.owners()).toEqual([behind.owner])
    await hold.verify()
    await end()
    await soon(behind.done)
  })
})
