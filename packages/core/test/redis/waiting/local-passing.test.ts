import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { LockClient, LockLostError, type Hold, type LockTimeoutError } from '../../../src/index.js'
import { hasAsked, heldAndAwaited, passer, sleeps } from '../support/passing.js'
import { eventually, own, soon, useRig } from '../support/rig.js'
import { useSeen } from '../support/seen.js'
import { outcomeOf, waitBehind } from '../support/outcomes.js'

const NAME = 'order:42'
const HOUR_MS = 3_600_000

const rig = useRig()
const client = own(() => passer(rig))
const owners = () => rig.admin.hgetall(NAME)

describe('a lock that is released while somebody of the same client waits', () => {
  it('goes to the next without a command, and Redis names the one who has it then', async () => {
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    const more = Array.from({ length: 5 }, () => client.locks.getLock(NAME).acquire())
    expect(await hold.release()).toBe('released')
    const second = await soon(waiting)
    expect(await second.release()).toBe('released')
    const third = await soon(more[0]!)
    expect(client.sent()).toEqual([])
    expect(new Set([hold, second, third].map(({ owner }) => owner)).size).toBe(3)
    await eventually(async () => third.owner in (await owners()))
    expect(await owners()).toEqual({ [third.owner]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(20_000)
    expect(client.sent()).toEqual(['rename'])
    for (const holding of [Promise.resolve(third), ...more.slice(1)]) await (await soon(holding)).release()
    expect(await owners()).toEqual({})
  })

  it('is not named anew in each turn in which it is passed on, but when the bounds end', async () => {
    const clock = new ManualClock()
    const client = await passer(rig, { runtime: clock })
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    const more = Array.from({ length: 9 }, () => client.locks.getLock(NAME).acquire())
    let last = hold
    for (const next of [waiting, ...more]) {
      await new Promise((resolve) => setImmediate(resolve))
      await last.release()
      last = await soon(next)
    }
    expect(client.sent()).toEqual([])
    await clock.advance(5)
    await eventually(async () => last.owner in (await owners()))
    expect(client.sent()).toEqual(['rename'])
    await last.release()
  })

  it('is held by whom this client says, before Redis names it', async () => {
    const thread = client.locks.thread()
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME, () => thread.getLock(NAME).acquire())
    await hold.release()
    const next = await soon(waiting)
    const lock = thread.getLock(NAME)
    expect(await Promise.all([lock.getHoldCount(), lock.isHeldByThread(thread.id)])).toEqual([1, true])
    await next.verify()
    expect(next.trustedForMs).toBeGreaterThan(20_000)
    await next.release()
  })

  it('released by force meanwhile, is lost by the next, and not by whoever has released it', async () => {
    const losers: string[] = []
    client.locks.on('lost', ({ owner }) => losers.push(owner))
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    const forced = client.locks.getLock(NAME).forceUnlock()
    expect(await hold.release()).toBe('released')
    const next = await soon(waiting)
    await forced
    await eventually(() => next.isLost)
    expect(losers).toEqual([next.owner])
    expect(hold.signal.aborted).toBe(false)
  })

  it('is counted by a lock of several locks, before Redis names it (I2)', async () => {
    const lock = client.locks.getMultiLock(client.locks.getLock(NAME))
    const countIt = async (): Promise<number> => {
      const hold = await lock.acquire()
      const count = await lock.getHoldCount()
      await hold.release()
      return count
    }
    const hold = await client.locks.getLock(NAME).acquire()
    const waiting = client.locks.run(countIt)
    await sleeps(client, NAME)
    await client.locks.getLock(NAME).isLocked()
    await hold.release()
    expect(await soon(waiting)).toBe(1)
  })

  it('is re-entered, extended and released level by level by the next (I2)', async () => {
    const thread = client.locks.thread()
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME, () => thread.getLock(NAME).acquire())
    await hold.release()
    const outer = await soon(waiting)
    const inner = await thread.getLock(NAME).acquire()
    await inner.extend(60_000)
    await eventually(async () => outer.owner in (await owners()))
    expect(await owners()).toEqual({ [outer.owner]: '2' })
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(50_000)
    expect(await inner.release()).toBe('still-held')
    expect(await outer.release()).toBe('released')
  })

  it('takes the note of the hold along: since when, and of which trace', async () => {
    const traces = ['00-11111111111111111111111111111111-1111111111111111-01']
    const describeHolds = (): string | undefined => traces[0]
    const client = await passer(rig, { describeHolds })
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME, () => {
      traces[0] = '00-22222222222222222222222222222222-2222222222222222-01'
      return client.locks.getLock(NAME).acquire()
    })
    await hold.release()
    const next = await soon(waiting)
    await eventually(async () => next.owner in (await owners()))
    const others = await rig.client()
    const refused = await outcomeOf(others.getLock(NAME).acquire({ waitMs: 0 }))
    expect(refused).toMatchObject({ holder: { owner: next.owner, traceparent: traces[0] } })
    expect((refused as LockTimeoutError).holder?.heldForMs).toBeLessThan(10_000)
    await next.release()
    expect(await rig.contents()).toEqual({})
  })

  it('is renewed under the name of the next (I3)', async () => {
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    await hold.release()
    const next = await soon(waiting)
    await eventually(async () => next.owner in (await owners()))
    await rig.admin.pexpire(NAME, 15_000)
    client.clock.skip(10_100)
    // Makes the watchdog look at its clock.
    expect(next.trustedForMs).toBeGreaterThan(0)
    await (await client.locks.getLock('another').acquire()).release()
    await eventually(async () => (await rig.admin.pttl(NAME)) > 25_000)
    expect(next.signal.aborted).toBe(false)
    await next.release()
  })
})

describe('on the diagnostics channels', () => {
  const seen = useSeen()

  it('a call that was passed the lock says so, and holds begin and end as ever', async () => {
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    await hold.release()
    const next = await soon(waiting)
    await next.release()
    expect(seen.ended.map(({ outcome, path }) => [outcome, path])).toEqual([
      ['acquired', 'remote'],
      ['acquired', 'passed'],
    ])
    expect(seen.ended[1]).toMatchObject({ hasWaited: true, handOffMs: 0 })
    expect(seen.holds.map(({ phase, owner, outcome }) => [phase, owner, outcome])).toEqual([
      ['begun', hold.owner, undefined],
      ['ended', hold.owner, 'released'],
      ['begun', next.owner, undefined],
      ['ended', next.owner, 'released'],
    ])
  })
})

describe('a lock is released, not passed on,', () => {
  const goesThroughRedis = async (
    change: (client: Awaited<ReturnType<typeof passer>>, hold: Hold) => unknown,
    options: object = {},
    wish: object = {},
  ) => {
    const client = await passer(rig, options)
    const isPassable = Object.keys({ ...options, ...wish }).length === 0
    const wait = () => client.locks.getLock(NAME).acquire(wish)
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME, wait, !isPassable)
    await change(client, hold)
    client.sent()
    expect(await hold.release()).toBe('released')
    const next = await soon(waiting)
    // Its watch may have looked at its clock meanwhile.
    expect(client.sent().filter((script) => script !== 'renew')).toEqual(['release', 'acquire'])
    expect(await owners()).toEqual({ [next.owner]: '1' })
    return next
  }

  it('when this client has held it for 5 ms: then whoever waits here asks Redis', async () => {
    const next = await goesThroughRedis(async (client) => {
      client.clock.skip(5)
      await hasAsked(client)
      await client.locks.getLock(NAME).isLocked()
    })
    await next.release()
  })

  it('when its holder loses it, and whoever waits here asks at once', async () => {
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    await rig.admin.del(NAME)
    await expect(hold.verify()).rejects.toThrow(LockLostError)
    const next = await soon(waiting)
    expect(client.sent().filter((script) => script === 'acquire')).toHaveLength(1)
    await next.release()
  })

  it('when the machine was suspended since it was taken (I3)', async () => {
    const next = await goesThroughRedis(({ clock }) => clock.suspend(HOUR_MS))
    await next.release()
  })

  it('when the next one wants a lease of its own', async () => {
    const next = await goesThroughRedis(() => undefined, {}, { leaseMs: 7_000 })
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(7_000)
    await next.release()
  })

  it('when the next one wants a token, or has one (I9)', async () => {
    const fenced = client.locks.getFencedLock(NAME)
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME, () => fenced.acquire(), true)
    const another = fenced.acquire()
    await hold.release()
    const next = await soon(waiting)
    expect(next.token).toBe('1')
    await next.release()
    const last = await soon(another)
    expect(last.token).toBe('2')
    await last.release()
  })

  it('when less than a third of its lease is left', async () => {
    const next = await goesThroughRedis(async (_client, hold) => {
      await rig.admin.pexpire(NAME, 9_000)
      await hold.verify()
    })
    await next.release()
  })

  it('when localPassing is off', async () => {
    await (await goesThroughRedis(() => undefined, { localPassing: false })).release()
  })

  it('when its holder has a lease of its own', async () => {
    const hold = await client.locks.getLock(NAME).acquire({ leaseMs: 20_000 })
    const { waiting } = await waitBehind(rig, NAME, () => client.locks.getLock(NAME).acquire())
    client.sent()
    expect(await hold.release()).toBe('released')
    expect(client.sent()).toContain('release')
    await (await soon(waiting)).release()
  })
})

describe('those who wait elsewhere', () => {
  it('come after 100 passes, before anybody who waits here', async () => {
    const order: string[] = []
    const work = async (who: string, holding: Promise<Hold>) => {
      const hold = await holding
      order.push(who)
      // On a clock that is slow, those here would stand back for seconds.
      if (who === 'there') client.clock.skip(5)
      await hold.release()
    }
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    const here = [waiting, ...Array.from({ length: 149 }, () => client.locks.getLock(NAME).acquire())]
    const { proxy, locks: elsewhere } = await rig.proxied()
    // Far away: everybody here would be faster.
    proxy.delay(10)
    const there = elsewhere.getLock(NAME).acquire()
    await rig.heard(NAME)
    const all = [...here.map((each) => work('here', each)), work('there', there)]
    await hold.release()
    await soon(Promise.all(all))
    expect(order.length).toBe(151)
    expect(order.indexOf('there')).toBe(100)
  })

  it('are not waited for when nobody is there', async () => {
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    const here = [waiting, ...Array.from({ length: 149 }, () => client.locks.getLock(NAME).acquire())]
    const done = here.map(async (holding) => (await holding).release())
    const startedAt = client.clock.now()
    client.sent()
    await hold.release()
    await soon(Promise.all(done))
    // The message of its own release, which comes while the next one asks, makes nobody ask for what that one has.
    expect(client.sent().filter((each) => each === 'acquire')).toHaveLength(1)
    // It would have stood back for 5 ms of this clock.
    expect(client.clock.now() - startedAt).toBeLessThan(5)
  })
})

it('never two at a time, whoever passes to whom (I1)', async () => {
  const clients = [await rig.client(), await rig.client(), await rig.client({ localPassing: false })]
  let inside = 0
  const seen = new Set<string>()
  const flow = async (locks: LockClient) => {
    for (let i = 0; i < 60; i += 1) {
      await locks.getLock(NAME).withLock(async (hold) => {
        inside += 1
        expect(inside).toBe(1)
        seen.add(hold.owner)
        if (i % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
        if (i % 13 === 0) await locks.getLock(NAME).withLock(() => hold.verify())
        hold.ensure()
        inside -= 1
      })
    }
  }
  await Promise.all(clients.flatMap((locks) => Array.from({ length: 8 }, () => flow(locks))))
  expect(seen.size).toBe(3 * 8 * 60)
})
