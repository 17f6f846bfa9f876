import { expect } from '@jest/globals'
import type { RedisServer } from '@holdfast/faults/harness'
import { LockLostError, NotLockOwnerError } from '../../src/index.js'
import { outcomeOf, waitBehind } from './support/behind.js'
import { nextLoss } from './support/losses.js'
import { soon } from './support/rig.js'
import { Stalls } from './support/stalls.js'
import { describe, it, useRig } from './support/together.js'

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
