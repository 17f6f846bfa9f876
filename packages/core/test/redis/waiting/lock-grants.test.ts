import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Fault, FaultProxy } from '@holdfast/faults/harness'
import type { Script } from '../../../src/redis/script.js'
import type { AcquireOptions, Hold, Lock, LockClient, LockClientOptions } from '../../../src/index.js'
import { releaseScript as releaseFairScript } from '../../../src/scripts/fair-lock.js'
import { releaseScript } from '../../../src/scripts/lock.js'
import { passer, type Passer } from '../support/passing.js'
import { runsOf } from '../support/requests.js'
import { eventually, own, soon, useRig } from '../support/rig.js'
import { useSeen } from '../support/seen.js'
import type { SlowClock } from '../support/slow-clock.js'

// A lock that is granted to a waiter of another client by the release before it.

const NAME = 'order:42'
const LINE = 'holdfast:line:{order:42}'
const CHANNEL = 'redisson_lock__channel:{order:42}'
const RESYNC_MS = 20_000

const rig = useRig()
let locks: LockClient
let holder: Hold

const owners = () => rig.admin.hgetall(NAME)

const another = (options: LockClientOptions = {}, connection = rig.connection()): Promise<Passer> =>
  passer(rig, { resyncInterval: RESYNC_MS, ...options }, connection)
const client = own(() => another())

/** Makes a sign of life that long worth nothing to a client that is told of a grant. */
const outdatedLives = (lifeMs: number): [string, (clock: SlowClock) => void][] => [
  ['that life is nearly over', (clock) => clock.skip(0.8 * lifeMs)],
  ['that life is over', (clock) => clock.skip(2 * lifeMs)],
  ['the machine was suspended since then', (clock) => clock.suspend(60_000)],
]

/** Makes a script run twice, the second time late. */
const repeatedRuns = (script: Script): [string, (proxy: FaultProxy) => Fault][] => [
  ['sent again', (proxy) => proxy.loseReply(runsOf(script))],
  ['copied', (proxy) => proxy.copyLate(runsOf(script), 50)],
]

/** A lock that another client holds, and those who wait for it. */
function held(
  lockOf: (of: Pick<LockClient, 'getLock' | 'getFairLock'>) => Lock,
  lineUp: () => Promise<string[]>,
) {
  beforeEach(async () => {
    // No tick helps within a test, unless it is about ticks.
    locks = await rig.client({ resyncInterval: RESYNC_MS })
    holder = await lockOf(locks).acquire()
  })

  /** A wait that stands in the queue; what it has sent until then is looked at. */
  return async ({ locks: client, sent }: Passer, options: AcquireOptions = {}) => {
    const before = await lineUp()
    const waiting = lockOf(client).acquire(options)
    // A wait that is to be aborted has its listener later.
    waiting.catch(() => undefined)
    await eventually(async () => (await lineUp()).length > before.length)
    const owner = (await lineUp()).find((each) => !before.includes(each))!
    // Behind the answer to the try that put it there.
    await client.getLock(NAME).isLocked()
    sent()
    return { waiting, owner }
  }
}

const plainLineUp = () => rig.admin.zrangebyscore(LINE, 0, '+inf')

describe.each([
  {
    ...{ name: 'lock', kind: 'reentrant', script: releaseScript, lineUp: plainLineUp },
    lockOf: (of: Pick<LockClient, 'getLock'>) => of.getLock(NAME),
    // Two ticks, but not longer than a lease that is renewed.
    lifeMs: 30_000,
  },
  {
    ...{ name: 'fair lock', kind: 'fair', script: releaseFairScript },
    lineUp: () => rig.admin.zrange('holdfast:arrivals:{order:42}', '0', '-1'),
    lockOf: (of: Pick<LockClient, 'getFairLock'>) => of.getFairLock(NAME),
    lifeMs: 2 * RESYNC_MS,
  },
])('a release of a $name', ({ kind, script, lineUp, lockOf, lifeMs }) => {
  const standing = held(lockOf, lineUp)

  it('grants it to the next client that waits, which has it without asking, at one script for each hand-off, first come first served', async () => {
    const clients = [await another(), await another(), await another()]
    const served: number[] = []
    const done: Promise<unknown>[] = []
    for (const [i, each] of clients.entries()) {
      const { waiting } = await standing(each)
      done.push(waiting.then((hold) => (served.push(i), hold.release())))
    }
    await holder.release()
    await soon(Promise.all(done))
    expect(served).toEqual([0, 1, 2])
    expect(clients.map(({ sent }) => sent())).toEqual([['release'], ['release'], ['release']])
    expect(await owners()).toEqual({})
  })

  it('notifies only the client of the new owner', async () => {
    const [first, second] = [await another(), await another()]
    const given = await standing(first)
    const behind = await standing(second)
    void given.waiting.then((hold) => hold.release())
    await holder.release()
    const hold = await soon(behind.waiting)
    expect(hold.owner).toBe(behind.owner)
    await hold.release()
    expect(second.sent()).toEqual(['release'])
  })

  it.each([
    ['renewed one', {}, 30_000],
    ['fixed one', { leaseMs: 90_000 }, 90_000],
  ])(
    'grants it to a waiter that asks for the lease it wants, a %s, when it keeps the lock',
    async (_what, options, leaseMs) => {
      const client = await another({ resyncInterval: 5_000 })
      const { waiting, owner } = await standing(client, options)
      await holder.release()
      const hold = await soon(waiting)
      expect(await owners()).toEqual({ [owner]: '1' })
      // The grant alone lasts two ticks.
      await eventually(async () => (await rig.admin.pttl(NAME)) > leaseMs - 10_000)
      expect(client.sent()).toEqual(['renew'])
      await eventually(() => hold.trustedForMs > leaseMs - 2_000)
      await hold.release()
      expect(client.sent()).toEqual(['release'])
    },
  )

  it('grants it to a waiter that re-enters it like any other (I2)', async () => {
    const thread = (await another()).locks.thread()
    const waiting = lockOf(thread).acquire()
    await eventually(async () => (await lineUp()).length === 1)
    await holder.release()
    const outer = await soon(waiting)
    const inner = await lockOf(thread).acquire()
    expect(await owners()).toEqual({ [outer.owner]: '2' })
    await inner.release()
    await outer.release()
  })

  it('grants it to a waiter that describes it, where its client does', async () => {
    const client = await another({ describeHolds: true })
    const { waiting } = await standing(client)
    await holder.release()
    const hold = await soon(waiting)
    await eventually(async () => (await lockOf(locks).inspect())?.holders[0]?.heldForMs !== undefined)
    await hold.release()
  })

  it('grants it to a waiter that shortens its lease before it has asked for one: a second time makes it no longer', async () => {
    const { waiting } = await standing(client)
    await holder.release()
    const hold = await soon(waiting)
    await soon(Promise.all([hold.shorten(10_000), hold.shorten(20_000)]))
    await hold.verify()
    expect(hold.trustedForMs).toBeLessThan(10_000)
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(10_000)
    expect(await hold.release()).toBe('released')
  })

  it('grants it to a waiter that passes it on before it has asked for a lease: who shortens that asks for it first', async () => {
    const client = await another({ resyncInterval: 5_000 })
    const first = await standing(client)
    // Only along the queue of a fair lock each caller has a place.
    const next = kind === 'fair' ? (await standing(client)).waiting : lockOf(client.locks).acquire()
    // In the turn of the grant: at its end the lease is asked for in any case.
    void first.waiting.then((hold) => hold.release())
    const shortened = next.then((hold) => hold.shorten(20_000))
    await holder.release()
    await soon(shortened)
    const hold = await next
    await hold.verify()
    // The grant alone lasts two ticks.
    expect(hold.trustedForMs).toBeGreaterThan(10_000)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(10_000)
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(20_000)
    expect(client.sent().filter((script) => script === 'renew')).toHaveLength(1)
    expect(await hold.release()).toBe('released')
  })

  it('grants it to none that wants it for less time than a life: that one asks', async () => {
    const { waiting } = await standing(client, { leaseMs: 5_000 })
    await holder.release()
    const hold = await soon(waiting)
    expect(hold.trustedForMs).toBeLessThanOrEqual(5_000)
    expect(client.sent()).toEqual(['acquire'])
    await hold.release()
  })

  describe('as telemetry has it', () => {
    const seen = useSeen()

    it('a grant is reported on the path `granted`, at once', async () => {
      const { waiting, owner } = await standing(await another())
      seen.clear()
      await holder.release()
      await (await soon(waiting)).release()
      expect(seen.ended).toMatchObject([
        { outcome: 'acquired', path: 'granted', kind, hasWaited: true, handOffMs: 0 },
      ])
      expect(seen.holds.filter((each) => each.owner === owner)).toMatchObject([
        { phase: 'begun', kind },
        { phase: 'ended', outcome: 'released' },
      ])
    })
  })

  describe('trust in what it grants', () => {
    it('is counted from the sign of life before it, not from the message (I3)', async () => {
      const { waiting } = await standing(client)
      client.clock.skip(lifeMs / 2)
      let trustedForMs = 0
      void waiting.then((hold) => (trustedForMs = hold.trustedForMs))
      await holder.release()
      const hold = await soon(waiting)
      expect(trustedForMs).toBeGreaterThan(lifeMs / 3)
      expect(trustedForMs).toBeLessThan(lifeMs / 2)
      await hold.release()
    })

    it.each(outdatedLives(lifeMs))('is not had when %s: Redis is asked first (I3)', async (_what, pass) => {
      const { waiting } = await standing(client)
      pass(client.clock)
      await holder.release()
      const hold = await soon(waiting)
      expect(client.sent()).toContain('acquire')
      await eventually(() => hold.trustedForMs > 25_000)
      await hold.release()
    })

    it('is not had for a message about a life, or a wait, that this client knows nothing of', async () => {
      const { waiting, owner } = await standing(client)
      const inbox = `holdfast:client:${client.locks.clientId}`
      const future = Date.now() + lifeMs
      await rig.admin.publish(inbox, `grant:${future}:${client.locks.clientId}:999`)
      await rig.admin.publish(inbox, `grant:1:${owner}`)
      await eventually(() => client.sent().includes('acquire'))
      expect(await lineUp()).toEqual([owner])
      await holder.release()
      await (await soon(waiting)).release()
    })
  })

  describe('a grant that nobody takes', () => {
    it('goes on to the next at once when its caller left meanwhile (I8)', async () => {
      const proxy = await rig.proxy()
      const client = await another({}, rig.connection({}, proxy))
      const abort = new AbortController()
      const leaving = await standing(client, { signal: abort.signal })
      const next = await standing(await another())
      proxy.blackHole()
      await holder.release()
      expect(await owners()).toEqual({ [leaving.owner]: '1' })
      abort.abort()
      await expect(leaving.waiting).rejects.toBe(abort.signal.reason)
      proxy.pass()
      await (await soon(next.waiting)).release()
      expect(await lineUp()).toEqual([])
    })

    it('goes on to the next within two ticks when its process is dead (I10)', async () => {
      const proxy = await rig.proxy()
      const silent = await another({ resyncInterval: 5_000 }, rig.connection({}, proxy))
      const dead = await standing(silent)
      const next = await standing(await another({ resyncInterval: 300 }))
      proxy.blackHole()
      await holder.release()
      expect(await owners()).toEqual({ [dead.owner]: '1' })
      const leftMs = await rig.admin.pttl(NAME)
      expect(leftMs).toBeGreaterThan(0)
      expect(leftMs).toBeLessThanOrEqual(10_000)
      // They are over.
      await rig.admin.pexpire(NAME, 1)
      silent.clock.skip(10_000)
      await (await soon(next.waiting)).release()
      proxy.pass()
      await (await soon(dead.waiting)).release()
    })
  })

  it.each(repeatedRuns(script))('grants it once when it is %s (I1)', async (_what, prepare) => {
    const proxy = await rig.proxy()
    await holder.release()
    const far = await rig.client({ resyncInterval: RESYNC_MS }, rig.connection({}, proxy))
    const given = await lockOf(far).acquire()
    const next = await standing(await another())
    const behind = await standing(await another())
    const fault = prepare(proxy)
    await soon(given.release())
    const hold = await soon(next.waiting)
    await soon(fault.happened)
    await rig.admin.ping()
    expect(await owners()).toEqual({ [next.owner]: '1' })
    expect(await lineUp()).toEqual([behind.owner])
    await hold.verify()
    await hold.release()
    await (await soon(behind.waiting)).release()
  })
})

describe('a plain lock:', () => {
  const standing = held((of) => of.getLock(NAME), plainLineUp)

  describe('a lock that was granted is passed on inside the process', () => {
    it('before its lease is asked for, once, and named after whoever has it then', async () => {
      const { waiting } = await standing(client)
      const more = [client.locks.getLock(NAME).acquire(), client.locks.getLock(NAME).acquire()]
      await holder.release()
      await (await soon(waiting)).release()
      await (await soon(more[0]!)).release()
      const third = await soon(more[1]!)
      await eventually(async () => third.owner in (await owners()))
      expect(client.sent()).toEqual(['renew', 'rename'])
      expect(await owners()).toEqual({ [third.owner]: '1' })
      expect(await rig.admin.pttl(NAME)).toBeGreaterThan(25_000)
      expect(third.trustedForMs).toBeGreaterThan(15_000)
      expect(await third.release()).toBe('released')
      expect(await owners()).toEqual({})
    })

    it('while it is asked for: whoever has it then is told that it is gone (I1)', async () => {
      const proxy = await rig.proxy()
      const client = await another({}, rig.connection({}, proxy))
      const { waiting } = await standing(client)
      const next = client.locks.getLock(NAME).acquire()
      proxy.delay(50)
      await holder.release()
      const first = await soon(waiting)
      await rig.admin.del(NAME)
      // Its question for the lease is on its way.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      expect(await first.release()).toBe('released')
      const second = await soon(next)
      await eventually(() => second.signal.aborted)
      expect(first.signal.aborted).toBe(false)
      proxy.pass()
      expect(await second.release()).toBe('lost')
    })

    it('a lock passed on goes to the next client when the bounds are used up; its own callers enter the queue again', async () => {
      const [client, other] = [await another(), await another()]
      const { waiting } = await standing(client)
      const more = [client.locks.getLock(NAME).acquire(), client.locks.getLock(NAME).acquire()]
      const elsewhere = await standing(other)
      await holder.release()
      await (await soon(waiting)).release()
      const second = await soon(more[0]!)
      await eventually(async () => second.owner in (await owners()))
      client.clock.skip(6)
      client.sent()
      await second.release()
      const theirs = await soon(elsewhere.waiting)
      await eventually(async () => (await plainLineUp()).length === 1)
      expect(client.sent()).toEqual(['release', 'acquire'])
      await theirs.release()
      await (await soon(more[1]!)).release()
    })

    it('with the trust in it as it is, never as more (I3)', async () => {
      // Its two ticks are shorter than a lease, so that one cannot be taken for the other.
      const client = await another({ resyncInterval: RESYNC_MS / 2 })
      const { waiting } = await standing(client)
      const next = client.locks.getLock(NAME).acquire()
      client.clock.skip(RESYNC_MS / 4)
      let trustedForMs = 0
      void next.then((hold) => (trustedForMs = hold.trustedForMs))
      void waiting.then((hold) => hold.release())
      await holder.release()
      const hold = await soon(next)
      expect(trustedForMs).toBeGreaterThan(RESYNC_MS / 2)
      expect(trustedForMs).toBeLessThan(RESYNC_MS * 0.75)
      await hold.release()
    })
  })

  describe('a lock that is granted to nobody', () => {
    it('a lock that is granted to nobody because its message was lost is found by its next try (I4)', async () => {
      const client = await another({ resyncInterval: 300 })
      const { waiting, owner } = await standing(client)
      await rig.admin.multi().del(NAME).hset(NAME, owner, 1).pexpire(NAME, 5_000).zrem(LINE, owner).exec()
      const hold = await soon(waiting)
      expect(hold.owner).toBe(owner)
      await hold.release()
      expect(await holder.release()).toBe('lost')
    })

    it('a lock that is granted to nobody because it is known to be dead goes to the next who lives', async () => {
      const proxy = await rig.proxy()
      const dead = await standing(await another({ resyncInterval: 50 }, rig.connection({}, proxy)))
      const living = await another()
      const next = await standing(living)
      proxy.refuse()
      await eventually(async () => Number(await rig.admin.zscore(LINE, `alive:${dead.owner}`)) > -Date.now())
      await rig.heard(NAME)
      await holder.release()
      await (await soon(next.waiting)).release()
      // It was granted the lock: with the dead one still in front, it would have had to try.
      expect(living.sent()).toEqual(['release'])
      proxy.pass()
      await (await soon(dead.waiting)).release()
    })

    it('a lock that is granted to nobody because its caller has left leaves no place in the queue either (I8)', async () => {
      const abort = new AbortController()
      const leaving = await standing(await another(), { signal: abort.signal })
      abort.abort()
      await expect(leaving.waiting).rejects.toBe(abort.signal.reason)
      await eventually(async () => (await plainLineUp()).length === 0)
      await holder.release()
    })

    describe('a lock granted while another caller of its client came first', () => {
      /** It stands in the queue, has tried again since its client has the lock, and was refused. */
      async function refused(options: AcquireOptions = {}) {
        const waiter = await standing(client, options)
        await rig.admin.del(NAME)
        const first = await client.locks.getLock(NAME).tryAcquire()
        client.sent()
        await rig.admin.publish(CHANNEL, '0')
        await eventually(() => client.sent().includes('acquire'))
        await client.locks.getLock(NAME).isLocked()
        return { ...waiter, first: first! }
      }

      it('a lock granted to a caller that has left is free when the other releases it (I8)', async () => {
        const abort = new AbortController()
        const { waiting, first } = await refused({ signal: abort.signal })
        abort.abort()
        await expect(waiting).rejects.toBe(abort.signal.reason)
        await eventually(async () => (await plainLineUp()).length === 0)
        await first.release()
        expect(await owners()).toEqual({})
      })

      it('a caller that takes the lock itself leaves no place in the queue (I8)', async () => {
        const { waiting, owner } = await refused()
        await rig.admin.del(NAME)
        await rig.admin.publish(CHANNEL, '0')
        const hold = await soon(waiting)
        expect(await owners()).toEqual({ [owner]: '1' })
        expect(await plainLineUp()).toEqual([])
        await hold.release()
      })
    })
  })

  describe('a lock is left to whoever comes first, and that announced to all', () => {
    const heard = async (): Promise<string[]> => {
      const listener = rig.connection()
      const messages: string[] = []
      listener.on('message', (_channel: string, message: string) => messages.push(message))
      await listener.subscribe(CHANNEL)
      return messages
    }
    it('where somebody listens who does not stand in the queue, as a Java client', async () => {
      const { waiting } = await standing(client)
      const messages = await heard()
      await holder.release()
      await eventually(() => messages.length === 1)
      expect(messages).toEqual(['0'])
      await (await soon(waiting)).release()
      expect(client.sent()).toEqual(['acquire', 'release'])
    })

    it('where somebody who stands in the queue has died', async () => {
      const proxy = await rig.proxy()
      const dead = await standing(await another({}, rig.connection({}, proxy)))
      const { waiting } = await standing(client)
      proxy.refuse()
      await rig.heard(NAME)
      await holder.release()
      await (await soon(waiting)).release()
      expect(client.sent()).toEqual(['acquire', 'release'])
      proxy.pass()
      await (await soon(dead.waiting)).release()
    })

    it('when it has gone from one to the next for a while', async () => {
      const { waiting } = await standing(client)
      await rig.admin.zadd(LINE, -(Date.now() - 200), 'left-free')
      await holder.release()
      await (await soon(waiting)).release()
      expect(client.sent()).toEqual(['acquire', 'release'])
    })

    it('where Redis does not say who listens', async () => {
      const rules = ['+@all', '-pubsub', '~*', '&*', 'on', '>secret']
      await rig.admin.call('ACL', 'SETUSER', 'unasked', ...rules)
      rig.atEnd(() => rig.admin.call('ACL', 'DELUSER', 'unasked'))
      await holder.release()
      const user = rig.connection({ username: 'unasked', password: 'secret' })
      const hold = await (await rig.client({ resyncInterval: RESYNC_MS }, user)).getLock(NAME).acquire()
      const { waiting } = await standing(client)
      expect(await hold.release()).toBe('released')
      await (await soon(waiting)).release()
      expect(client.sent()).toEqual(['acquire', 'release'])
    })

    it.each<[string, LockClientOptions]>([
      ['with pushedGrants: false', { pushedGrants: false }],
      [
        'that waits for replicas: the primary alone can give nothing',
        { replicas: { acks: 1, timeoutMs: 50 } },
      ],
    ])('for the callers of a client %s', async (_what, options) => {
      const client = await another(options)
      const abort = new AbortController()
      const waiting = client.locks.getLock(NAME).acquire({ signal: abort.signal })
      const ended = waiting.then(
        (hold) => hold.release(),
        (error: unknown) => error,
      )
      await rig.heard(NAME)
      await client.locks.getLock(NAME).isLocked()
      expect(await plainLineUp()).toEqual([])
      await holder.release()
      abort.abort()
      await soon(ended)
      await eventually(async () => Object.keys(await owners()).length === 0)
    })
  })

  describe('whoever waits behind a holder of its own client', () => {
    it('does not stand in the queue', async () => {
      await holder.release()
      const hold = await client.locks.getLock(NAME).acquire()
      client.sent()
      const waiting = client.locks.getLock(NAME).acquire()
      await eventually(() => client.sent().length >= 1)
      await rig.heard(NAME)
      await client.locks.getLock(NAME).isLocked()
      expect(await plainLineUp()).toEqual([])
      await hold.release()
      await (await soon(waiting)).release()
    })
  })
})
