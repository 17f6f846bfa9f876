import { expect } from '@jest/globals'
import type { RedisServer } from '@holdfast/faults/harness'
import { LockLostError, NotLockOwnerError } from '../../src/index.js'
import { nextEvent, outcomeOf, waitBehind } from './support/behind.js'
import { soon } from './support/rig.js'
import { describe, it, useRig } from './support/together.js'

const NAME = 'order:42'

/** Ways in which a lock disappears that tell nobody. */
const removals: [string, (server: RedisServer) => Promise<unknown>][] = [
  ['DEL', (server) => server.command('DEL', NAME)],
  ['a clock of Redis that steps ahead (PEXPIREAT)', (server) => server.command('PEXPIREAT', NAME, 1)],
  ['FLUSHALL', (server) => server.command('FLUSHALL')],
  ['a restart without its data', (server) => server.restart({ empty: true })],
]

describe('a lock that disappears while it is held and waited for', () => {
  const own = useRig({ redis: 'test' })

  it.each(removals)(
    '%s: the waiter gets it, the holder is told at its next renewal, no level comes back (I1, I2, I6)',
    async (_way, remove) => {
      const locks = await own.client({ lockWatchdogTimeout: 6_000, resyncInterval: 300 })
      const others = await own.client({ resyncInterval: 300 })
      const admin = own.connection()
      const lost = nextEvent(locks, 'lost')
      await locks.run(async () => {
        const lock = locks.getLock(NAME)
        const [outer, inner] = [await lock.lock(), await lock.lock()]
        const { waiting } = await waitBehind(admin, NAME, () => others.getLock(NAME).acquire())
        await remove(own.server)
        const next = await soon(waiting)
        const event = await lost
        expect(event).toMatchObject({ lockName: NAME, owner: outer.owner, error: { reason: 'gone' } })
        expect(outer.signal.aborted && inner.signal.aborted).toBe(true)
        expect(await outcomeOf(lock.lock())).toBeInstanceOf(LockLostError)
        expect(await inner.release()).toBe('lost')
        expect(await outcomeOf(lock.unlock())).toBeInstanceOf(NotLockOwnerError)
        expect(await admin.hgetall(NAME)).toEqual({ [next.owner]: '1' })
        await next.verify()
        expect(await next.release()).toBe('released')
      })
    },
  )

  it.each(removals)('%s: verify() tells at once', async (_way, remove) => {
    const locks = await own.client()
    const hold = await locks.getLock(NAME).acquire()
    await remove(own.server)
    expect(await outcomeOf(hold.verify())).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    expect(hold.signal.aborted).toBe(true)
    expect(await hold.release()).toBe('lost')
    expect(await own.server.command('DBSIZE')).toBe(0)
  })
})
