import { expect } from '@jest/globals'
import { ManualClock, type RedisServer } from '@holdfast/faults/harness'
import { LockLostError, LockTimeoutError, NotLockOwnerError } from '../../../src/index.js'
import { lostAt, nextLoss, outcomeOf, waitBehind } from '../support/outcomes.js'
import { JavaClient } from '../support/java-client.js'
import { eventually, soon } from '../support/rig.js'
import { Stalls } from '../support/stalls.js'
import { describe, it, useRig } from '../support/together.js'

const NAME = 'order:42'
const LEASE_MS = 6_000

/** Ways in which a lock disappears that tell nobody. */
const removals: [string, (server: RedisServer) => Promise<unknown>][] = [
  ['DEL', (server) => server.command('DEL', NAME)],
  ['a clock of Redis that steps ahead (PEXPIREAT)', (server) => server.command('PEXPIREAT', NAME, 1)],
  ['FLUSHALL', (server) => server.command('FLUSHALL')],
  ['a restart without its data', (server) => server.restart({ empty: true })],
]

describe('a lock that disappears while it is held and waited for', () => {
  const rig = useRig()

  it.each(removals)(
    '%s: the waiter gets it, the holder is told at its next renewal, no level comes back (I1, I2, I6)',
    async (_way, remove) => {
      const locks = await rig.client({ lockWatchdogTimeout: LEASE_MS, resyncInterval: 300 })
      const others = await rig.client({ resyncInterval: 300 })
      const told = nextLoss(locks)
      await locks.run(async () => {
        const lock = locks.getLock(NAME)
        const [outer, inner] = [await lock.lock(), await lock.lock()]
        const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire())
        const stalls = new Stalls()
        await remove(rig.server)
        const removedAt = performance.now()
        const next = await soon(waiting)
        const { event, atMs } = await told
        expect(atMs - removedAt).toBeLessThan(LEASE_MS / 2 + stalls.end())
        expect(event).toMatchObject({ lockName: NAME, owner: outer.owner, error: { reason: 'gone' } })
        expect(outer.signal.aborted && inner.signal.aborted).toBe(true)
        expect(await outcomeOf(lock.lock())).toBeInstanceOf(LockLostError)
        expect(await inner.release()).toBe('lost')
        expect(await outcomeOf(lock.unlock())).toBeInstanceOf(NotLockOwnerError)
        expect(await rig.admin.hgetall(NAME)).toEqual({ [next.owner]: '1' })
        await next.verify()
        expect(await next.release()).toBe('released')
      })
    },
  )
})

describe('a lock whose time to live somebody took away (PERSIST)', () => {
  const rig = useRig()

  it('a lock whose time to live somebody took away (PERSIST) of a watched hold: the next renewal sets it again, and nothing is lost (I6)', async () => {
    const clock = new ManualClock()
    const locks = await rig.client({ runtime: clock, commandTimeout: 60_000 })
    const hold = await locks.getLock(NAME).acquire()
    expect(await rig.admin.persist(NAME)).toBe(1)
    await hold.verify()
    // The first answer has 250 ms by that clock, which is slow.
    const brief = await rig.slow()
    const refused = await outcomeOf(brief.getLock(NAME).acquire({ waitMs: 0.01 }))
    expect(refused).toBeInstanceOf(LockTimeoutError)
    expect(refused).toMatchObject({ holder: { owner: hold.owner, leaseLeftMs: -1 } })
    await clock.advance(10_000)
    await eventually(async () => (await rig.admin.pttl(NAME)) > 0)
    expect(hold.signal.aborted).toBe(false)
    expect(await hold.release()).toBe('released')
  })

  it('a lock whose time to live somebody took away (PERSIST) of a fixed lease: it ends all the same, and so does the wait behind it (I3)', async () => {
    const clock = new ManualClock()
    const locks = await rig.client({ runtime: clock, commandTimeout: 60_000 })
    const others = await rig.client({ resyncInterval: 200 })
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 30_000 })
    const lost = lostAt(hold)
    await rig.admin.persist(NAME)
    const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire())
    await clock.advance(30_000)
    await lost
    expect(hold.signal.reason).toMatchObject({ reason: 'expired' })
    const next = await soon(waiting)
    expect(await hold.release()).toBe('lost')
    expect(await rig.admin.hgetall(NAME)).toEqual({ [next.owner]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(0)
    expect(await next.release()).toBe('released')
  })

  it('a lock whose time to live somebody took away (PERSIST) of a holder that has gone: waits end at their limit and say so, and forceUnlock frees it', async () => {
    await new JavaClient(rig.admin).hold(NAME)
    await rig.admin.persist(NAME)
    const [locks, others] = [await rig.client(), await rig.client({ resyncInterval: 200 })]
    const lock = locks.getLock(NAME)
    expect(await lock.remainTimeToLive()).toBe(-1)
    const brief = await rig.slow()
    expect(await outcomeOf(brief.getLock(NAME).acquire({ waitMs: 0.01 }))).toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringContaining('its lease does not expire') as unknown,
    })
    const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire())
    expect(await lock.forceUnlock()).toBe(true)
    expect(await (await soon(waiting)).release()).toBe('released')
  })
})
