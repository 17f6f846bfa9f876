import { describe, expect, it } from '@jest/globals'
import type { LockTimeoutError } from '../../src/index.js'
import { outcomeOf } from './support/behind.js'
import { useClusterRig } from './support/cluster-rig.js'

describe('on a Redis Cluster', () => {
  const rig = useClusterRig({ replicasPerPrimary: 0 })

  it('inspectAll() asks every primary; a name whose keys are in two slots is left out', async () => {
    const locks = await rig.client({ describeHolds: true })
    const names = Array.from({ length: 30 }, (_, i) => `order:${i}`)
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    const owners = new Set(await Promise.all(names.map((name) => rig.primaryOf(name))))
    expect(owners.size).toBeGreaterThan(1)
    const connection = rig.connection()
    await connection.hset('x{y', 'page:7', '1')
    await connection.pexpire('x{y', 60_000)
    const { locks: found, complete } = await locks.inspectAll()
    expect(complete).toBe(true)
    expect(found.map(({ name }) => name).sort()).toEqual([...names].sort())
    await connection.del('x{y')
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('a note is in the slot of its lock, and goes with the hold, whatever the kind', async () => {
    const [locks, others] = [await rig.client({ describeHolds: true }), await rig.client()]
    for (const lockOf of [
      (client: typeof locks) => client.getLock('order:42'),
      (client: typeof locks) => client.getFairLock('a{order}b'),
      (client: typeof locks) => client.getFencedLock('order:43'),
      (client: typeof locks) => client.getReadWriteLock('order:44').writeLock(),
    ]) {
      const hold = await lockOf(locks).acquire()
      const error = (await outcomeOf(lockOf(others).acquire({ waitMs: 0 }))) as LockTimeoutError
      expect(error.holder?.heldForMs).toBeGreaterThanOrEqual(0)
      expect(await lockOf(others).inspect()).toMatchObject({ holders: [{ owner: hold.owner }] })
      await hold.release()
    }
  })
})
