import { describe, expect, it } from '@jest/globals'
import { ManualClock, RedisServer } from '@holdfast/faults/harness'
import { belief, BELIEVES, lostAt, nextEvent, waitBehind } from '../support/outcomes.js'
import { eventually, soon, useRig } from '../support/rig.js'
import { Stalls } from '../support/stalls.js'

const NAME = 'order:42'
const impatient = { commandTimeout: 150, resyncInterval: 200 }

describe('a primary that is demoted for a while', () => {
  const rig = useRig({ redis: 'test' })

  // To a primary that nobody reaches, so that it keeps what it had.
  const demote = (): Promise<unknown> => rig.server.command('REPLICAOF', '127.0.0.1', 1)
  const promote = (): Promise<unknown> => rig.server.command('REPLICAOF', 'NO', 'ONE')

  it('its refusal ends all trust before its caller hears of it, until a primary has confirmed the hold (I1)', async () => {
    const locks = await rig.client({ ...impatient, commandTimeout: 10_000 })
    const hold = await locks.getLock(NAME).acquire()
    await demote()
    expect(belief(hold)).toEqual(BELIEVES)
    const asked = locks.getLock('free').tryLock()
    const believed = asked.then(
      () => 'served',
      () => belief(hold),
    )
    expect(await believed).toEqual({ trusted: false, ensured: false, aborted: false })
    await promote()
    await eventually(() => hold.trustedForMs > 0)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await hold.release()).toBe('released')
  })

  it('longer than the lease: lost before it ends, and the waiter gets the lock after (I1, I3)', async () => {
    const locks = await rig.client({ ...impatient, lockWatchdogTimeout: 1_500 })
    const others = await rig.client(impatient)
    const hold = await locks.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire({ waitMs: 10_000 }))
    await hold.extend(1_500)
    const [stalls, lost] = [new Stalls(), lostAt(hold)]
    await demote()
    // From here on no renewal makes it longer.
    const lookedAt = performance.now()
    const leaseEndsAt = lookedAt + (await rig.admin.pttl(NAME))
    expect(await lost).toBeLessThan(leaseEndsAt + stalls.end())
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
    await promote()
    const next = await soon(waiting)
    expect(await hold.release()).toBe('lost')
    expect(await rig.admin.hgetall(NAME)).toEqual({ [next.owner]: '1' })
    expect(await next.release()).toBe('released')
  })

  it('the new primary had granted the lock to somebody else: lost at the next renewal, theirs stays (I1, I6)', async () => {
    const rival = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] })
    try {
      await rival.command('HSET', NAME, 'somebody~1:7', 1)
      await rival.command('PEXPIRE', NAME, 60_000)
      const clock = new ManualClock()
      const locks = await rig.client({ ...impatient, runtime: clock })
      const hold = await locks.getLock(NAME).acquire()
      const lost = nextEvent(locks, 'lost')
      await rig.server.command('REPLICAOF', rival.host, rival.port)
      await eventually(async () => (await rig.admin.hexists(NAME, 'somebody~1:7')) === 1)
      await promote()
      await clock.advance(10_000)
      expect(await lost).toMatchObject({ owner: hold.owner, error: { reason: 'gone' } })
      expect(await hold.release()).toBe('lost')
      expect(await rig.admin.hgetall(NAME)).toEqual({ 'somebody~1:7': '1' })
      expect(await rig.admin.pttl(NAME)).toBeGreaterThan(30_000)
      await rig.admin.del(NAME)
    } finally {
      await rival.stop()
    }
  })
})
