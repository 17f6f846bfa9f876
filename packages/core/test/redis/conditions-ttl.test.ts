import { describe, expect, it } from '@jest/globals'
import { LockTimeoutError } from '../../src/index.js'
import { lostAt, outcomeOf, waitBehind } from './support/behind.js'
import { JavaClient } from './support/java-client.js'
import { eventually, soon, useRig } from './support/rig.js'

const NAME = 'order:42'
const rig = useRig()

describe('a lock whose time to live somebody took away (PERSIST)', () => {
  it('a lock whose time to live somebody took away (PERSIST) of a watched hold: the next renewal sets it again, and nothing is lost (I6)', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 1_500 })
    const hold = await locks.getLock(NAME).acquire()
    expect(await rig.admin.persist(NAME)).toBe(1)
    await hold.verify()
    const refused = await outcomeOf((await rig.client()).getLock(NAME).acquire({ waitMs: 1 }))
    expect(refused).toBeInstanceOf(LockTimeoutError)
    expect(refused).toMatchObject({ holder: { owner: hold.owner, leaseLeftMs: -1 } })
    await eventually(async () => (await rig.admin.pttl(NAME)) > 0)
    expect(hold.signal.aborted).toBe(false)
    expect(await hold.release()).toBe('released')
  })

  it('a lock whose time to live somebody took away (PERSIST) of a fixed lease: it ends all the same, and so does the wait behind it (I3)', async () => {
    const [locks, others] = [await rig.client(), await rig.client({ resyncInterval: 200 })]
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 600 })
    const lost = lostAt(hold)
    await rig.admin.persist(NAME)
    const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire())
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
    expect(await outcomeOf(lock.acquire({ waitMs: 300 }))).toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringContaining('its lease does not expire') as unknown,
    })
    const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire())
    expect(await lock.forceUnlock()).toBe(true)
    expect(await (await soon(waiting)).release()).toBe('released')
  })
})
