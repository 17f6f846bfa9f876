import { expect, it } from '@jest/globals'
import { lockKinds } from '../support/lock-kinds.js'
import { useRig } from '../support/rig.js'

const rig = useRig({ args: ['--enable-debug-command', 'yes'] })

// Fields have times of their own from Redis 7.4 and Valkey 9 on. What scripts make of a hash without a field is tested
// on every machine in packages/testing; here it is what a server leaves, for as long as it removes no key by itself.
it.each(lockKinds)('a $name is free once its only field has ended by a time of its own', async (kind) => {
  const locks = await rig.client()
  await rig.admin.hset('x', 'other:1', 1)
  const set = await rig.admin.call('HPEXPIRE', 'x', 1, 'FIELDS', 1, 'other:1').catch(String)
  if (typeof set === 'string') {
    expect(set).toContain('unknown command')
    await rig.admin.del('x')
    return
  }
  await rig.admin.call('DEBUG', 'SET-ACTIVE-EXPIRE', 0)
  await rig.admin.hset('y', 'other:1', 1)
  await rig.admin.call('HPEXPIRE', 'y', 1, 'FIELDS', 1, 'other:1')
  await new Promise((resolve) => setTimeout(resolve, 5))

  expect(await locks.getLock('y').isLocked()).toBe(false)
  const hold = await kind.of(locks, 'y').tryAcquire({ leaseMs: 5_000 })
  expect(hold).not.toBeNull()
  expect(await rig.admin.pttl('y')).toBeLessThanOrEqual(5_000)
  await hold!.release()
  await rig.admin.call('DEBUG', 'SET-ACTIVE-EXPIRE', 1)
  await rig.admin.del('x', 'y')
})
