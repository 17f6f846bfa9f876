import { describe, expect, it } from '@jest/globals'
import type { LockClient, LockEvents } from '../../src/index.js'
import { eventually } from './support/rig.js'
import { BELIEVES, belief, KNOWS_BETTER, nextLoss } from './support/losses.js'
import { useMovingPrimary } from './support/moving-primary.js'

// No renewal is due within the test: who learns something was told by the change itself.
const PATIENT = { lockWatchdogTimeout: 300_000 }

const changesOf = (locks: LockClient): LockEvents['primary-changed'][] => {
  const changes: LockEvents['primary-changed'][] = []
  locks.on('primary-changed', (event) => changes.push(event))
  return changes
}

describe('a primary that is another one than before', () => {
  const moving = useMovingPrimary()

  it.each([
    ['renewed', {}],
    ['of a fixed lease', { leaseMs: 300_000 }],
  ])('a lock that it does not have is lost at once, %s (I1)', async (_, options) => {
    const locks = await moving.client(PATIENT)
    moving.cutReplication()
    const told = nextLoss(locks)
    const hold = await locks.getLock('order:42').acquire(options)
    await moving.failOver()
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'gone' } })
    expect(belief(hold)).toEqual(KNOWS_BETTER)
    expect(await hold.release()).toBe('lost')
  })

  it('a lock that it has is kept, whatever kind of lease it has', async () => {
    const locks = await moving.client(PATIENT)
    const changes = changesOf(locks)
    const renewed = await locks.getLock('renewed').acquire()
    const fixed = await locks.getLock('fixed').acquire({ leaseMs: 300_000 })
    await moving.replication.healReplication()
    await moving.failOver()
    await eventually(() => changes.length > 0)
    expect(changes).toEqual([{ doubted: 2 }])
    await eventually(() => renewed.trustedForMs > 0 && fixed.trustedForMs > 0)
    expect([belief(renewed), belief(fixed)]).toEqual([BELIEVES, BELIEVES])
    expect([await renewed.release(), await fixed.release()]).toEqual(['released', 'released'])
  })

  it('one that has lost all it had has none of the locks (I1)', async () => {
    const locks = await moving.client(PATIENT)
    const told = nextLoss(locks)
    const hold = await locks.getLock('order:42').acquire()
    await moving.primary.restart({ empty: true })
    await told
    expect(await hold.release()).toBe('lost')
  })

  it('a connection that broke, to the same one, changes nothing', async () => {
    const locks = await moving.client(PATIENT)
    const changes = changesOf(locks)
    const hold = await locks.getLock('order:42').acquire()
    for (let i = 0; i < 3; i += 1) {
      moving.proxy.cutAll()
      await hold.verify()
      expect(belief(hold)).toEqual(BELIEVES)
    }
    expect(changes).toEqual([])
    expect(await hold.release()).toBe('released')
  })
})
