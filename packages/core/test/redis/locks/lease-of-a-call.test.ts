import { expect } from '@jest/globals'
import { type AcquireOptions, InvalidArgumentError, type LockHold } from '../../../src/index.js'
import { lostAt, renewed } from '../support/outcomes.js'
import { eventually } from '../support/rig.js'
import { lockKinds, reentrantKinds } from '../support/lock-kinds.js'
import { redLockOf } from '../support/nodes.js'
import { describe, it, itAtOnce, useNodes, useRig } from '../support/together.js'

const rig = useRig({ redis: 'all' })
// Longer than any stand-still of a machine that is busy with other tests.
const OWN_MS = 3_000

describe('a lease of a call that is renewed, of each kind of lock', () => {
  itAtOnce(
    'is the lease of its own, in Redis and in what is trusted, and is renewed until the release',
    lockKinds,
    async (kind) => {
      const locks = await rig.client()
      const lock = kind.of(locks, rig.name(kind.name))
      const hold = await lock.acquire({ leaseMs: OWN_MS, renew: true })
      for (let n = 0; n < 2; n += 1) {
        expect(hold.trustedForMs).toBeLessThan(OWN_MS)
        expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(OWN_MS)
        await renewed(hold)
      }
      expect(hold.lossError).toBe(null)
      expect(await hold.release()).toBe('released')
      expect(await lock.isLocked()).toBe(false)
    },
  )
})

describe.each(reentrantKinds)('a lease of a call that is renewed, and a re-entry: $name', (kind) => {
  it.each<[string, AcquireOptions, AcquireOptions]>([
    ['a longer one inside', { leaseMs: OWN_MS, renew: true }, { leaseMs: 10 * OWN_MS, renew: true }],
    ['the usual one inside', { leaseMs: OWN_MS, renew: true }, {}],
    ['a shorter one inside', { leaseMs: 10 * OWN_MS, renew: true }, { leaseMs: OWN_MS, renew: true }],
    ['a fixed one inside', {}, { leaseMs: OWN_MS }],
    ['a fixed one around', { leaseMs: 10 * OWN_MS }, { leaseMs: OWN_MS, renew: true }],
  ])('the longest that is wanted holds: %s', async (_what, outer, inner) => {
    const locks = await rig.client({ lockWatchdogTimeout: 10 * OWN_MS })
    const lock = kind.of(locks, rig.name())
    await locks.run(async () => {
      const around = await lock.acquire(outer)
      const inside = await lock.acquire(inner)
      expect(inside.trustedForMs).toBeGreaterThan(4 * OWN_MS)
      expect(await lock.remainTimeToLive()).toBeGreaterThan(4 * OWN_MS)
      await inside.release()
      expect(around.trustedForMs).toBeGreaterThan(4 * OWN_MS)
      expect(await around.release()).toBe('released')
    })
  })
})

describe('a lease of a call that is renewed', () => {
  it('does not become that of the next caller here, nor of a local re-entry', async () => {
    const locks = await rig.client({ localReentry: true })
    const lock = locks.getLock(rig.name())
    const hold = await lock.acquire({ leaseMs: OWN_MS, renew: true })
    const next = lock.acquire()
    await hold.release()
    expect((await next).trustedForMs).toBeGreaterThan(5 * OWN_MS)
    await (await next).release()
    await lock.withLock(
      async (outer) => {
        await lock.withLock((inner) => expect(inner.trustedForMs).toBeGreaterThan(5 * OWN_MS))
        expect(outer.count).toBe(1)
      },
      { leaseMs: OWN_MS, renew: true },
    )
  })

  it('has a renewal of its own, beside those of other leases, and they of theirs', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 4_000 })
    const names = ['a', 'b', 'c'].map((each) => `${rig.name()}:${each}`)
    const [usual, own, longer] = (await Promise.all([
      locks.getLock(names[0]!).acquire(),
      locks.getLock(names[1]!).acquire({ leaseMs: OWN_MS, renew: true }),
      locks.getLock(names[2]!).acquire({ leaseMs: 9_000, renew: true }),
    ])) as [LockHold, LockHold, LockHold]
    for (let n = 0; n < 2; n += 1) {
      await Promise.all([renewed(usual), renewed(own)])
      expect(own.trustedForMs).toBeLessThan(OWN_MS)
      expect(usual.trustedForMs).toBeLessThan(4_000)
      expect(await locks.getLock(names[1]!).remainTimeToLive()).toBeLessThanOrEqual(OWN_MS)
      expect(await locks.getLock(names[0]!).remainTimeToLive()).toBeLessThanOrEqual(4_000)
    }
    await renewed(longer)
    await Promise.all([usual, own, longer].map((hold) => hold.release()))
  })

  it('ends with maxHoldMs, as any that is renewed', async () => {
    const locks = await rig.client({ maxHoldMs: 300 })
    const hold = await locks.getLock(rig.name()).acquire({ leaseMs: 400, renew: true })
    await lostAt(hold)
    expect(hold.lossError).toMatchObject({ reason: 'expired' })
    await hold.release()
  })

  it.each([
    [{ renew: 'yes' }, /^renew must be true or false/],
    [{ renew: false }, /^renew .*needs a length of its own/],
    [{ leaseMs: 2 ** 31, renew: true }, /^leaseMs .*24 days/],
    [{ leaseMs: 2 ** 31 }, /^leaseMs .*24 days.* got 2147483648/],
  ])('is asked for by what the error says: %j', async (options, text) => {
    const locks = await rig.client()
    const asked = locks.getLock(rig.name()).acquire(options as AcquireOptions)
    await expect(asked).rejects.toThrow(InvalidArgumentError)
    await expect(asked).rejects.toThrow(text)
  })
})

describe('a lease of a RedLock that is renewed', () => {
  const nodes = useNodes(3)

  it('is the lease on each node, also of one that is taken again', async () => {
    const lock = redLockOf(await nodes.participant(), 'order:42', { nodeTimeoutMs: 800 })
    const hold = await lock.acquire({ leaseMs: 3_000, renew: true })
    await nodes.all[0]!.server.command('FLUSHALL')
    await eventually(async () => Number(await nodes.all[0]!.server.command('PTTL', 'order:42')) > 0)
    await renewed(hold)
    for (const { server } of nodes.all) {
      expect(Number(await server.command('PTTL', 'order:42'))).toBeLessThanOrEqual(3_000)
    }
    expect(await hold.release()).toBe('released')
  })
})
