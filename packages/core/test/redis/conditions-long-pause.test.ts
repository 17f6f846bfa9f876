import { describe, expect, it } from '@jest/globals'
import { LockLostError } from '../../src/index.js'
import { lostAt, waitBehind } from './support/behind.js'
import { usePrivateServer } from './support/private-server.js'
import { soon } from './support/rig.js'
import { Stalls } from './support/stalls.js'
import { standStills } from './support/stand-stills.js'

const NAME = 'order:42'
const LEASE_MS = 900
const impatient = { commandTimeout: 150, resyncInterval: 200 }

describe('Redis stands still for longer than the lease', () => {
  const own = usePrivateServer()

  it.each(standStills)(
    '%s: the hold is lost before its lease ends, and the waiter gets the lock after (I1, I3)',
    async (_way, standStill) => {
      const locks = await own.client({ ...impatient, lockWatchdogTimeout: LEASE_MS })
      const others = await own.client(impatient)
      const admin = own.connection()
      const hold = await locks.getLock(NAME).acquire()
      const { waiting } = await waitBehind(admin, NAME, () =>
        others.getLock(NAME).acquire({ waitMs: 10_000 }),
      )
      // From here to the next renewal it is a third of the lease: time enough to look and to begin.
      await hold.extend(LEASE_MS)
      const lookedAt = performance.now()
      const leaseEndsAt = lookedAt + (await admin.pttl(NAME))
      const stalls = new Stalls()
      const lost = lostAt(hold)
      const { over } = await standStill(own.server, 1_200)

      expect(await lost).toBeLessThan(leaseEndsAt + stalls.end())
      expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
      expect(hold.trustedForMs).toBe(0)
      const [next] = await Promise.all([soon(waiting), over])
      await expect(hold.verify()).rejects.toThrow(LockLostError)
      expect(await hold.release()).toBe('lost')
      expect(await admin.hgetall(NAME)).toEqual({ [next.owner]: '1' })
      await next.verify()
      expect(await next.release()).toBe('released')
    },
  )
})
