import { describe, expect, it } from '@jest/globals'
import { RedisUnavailableError, type LockEvents } from '../../src/index.js'
import { outcomeOf, waitBehind } from './support/behind.js'
import { eventually } from './support/harness.js'
import { usePrivateServer } from './support/private-server.js'
import { soon } from './support/rig.js'
import { standStills } from './support/stand-stills.js'

const NAME = 'order:42'
const impatient = { commandTimeout: 150, resyncInterval: 200 }

describe('Redis stands still for less than the lease', () => {
  const own = usePrivateServer()

  it.each(standStills)(
    '%s: calls end, the hold stays trusted and is renewed after, a wait goes on (I3)',
    async (_way, standStill) => {
      const locks = await own.client({ ...impatient, lockWatchdogTimeout: 2_400 })
      const others = await own.client(impatient)
      const admin = own.connection()
      const failures: LockEvents['renewal-failed'][] = []
      locks.on('renewal-failed', (event) => failures.push(event))
      const hold = await locks.getLock(NAME).acquire()
      const { waiting } = await waitBehind(admin, NAME, () => others.getLock(NAME).acquire({ waitMs: 8_000 }))

      // Once is enough, unless this machine is so busy that no renewal fell into it.
      while (failures.length === 0) {
        const { over } = await standStill(own.server, 1_000)
        for (const ask of [() => others.getLock('another').tryLock(), () => hold.verify()]) {
          expect(await outcomeOf(ask())).toBeInstanceOf(RedisUnavailableError)
        }
        await over
      }
      expect(failures[0]).toMatchObject({ lockName: NAME, error: { code: 'REDIS_UNAVAILABLE' } })

      await eventually(async () => (await admin.pttl(NAME)) > 1_900)
      expect(hold.signal.aborted).toBe(false)
      await hold.verify()
      expect(await hold.release()).toBe('released')
      const next = await soon(waiting)
      expect(await admin.hgetall(NAME)).toEqual({ [next.owner]: '1' })
      expect(await next.release()).toBe('released')
      // The one attempt that had no answer may have run after all.
      await eventually(async () => (await admin.exists('another')) === 0)
    },
  )
})
