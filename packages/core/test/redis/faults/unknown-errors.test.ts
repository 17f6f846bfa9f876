import { describe, expect, it } from '@jest/globals'
import { RedisUnavailableError } from '../../../src/index.js'
import { outcomeOf } from '../support/outcomes.js'
import { lockKinds } from '../support/lock-kinds.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

const rig = useRig()

const isScript = (bytes: Buffer): boolean => /evalsha/i.test(bytes.toString('latin1'))

describe.each(['upstream failure', 'ERR Connection timed out'])(
  'an error of a proxy, %s, after the script ran',
  (error) => {
    const proxy = own(() => rig.proxy())
    const locks = own(() => rig.client({}, rig.connection({}, proxy)))

    it.each(lockKinds)('ends a single attempt for a $name as unknown, and nobody has it', async (kind) => {
      proxy.lie(isScript, error)
      expect(await outcomeOf(kind.of(locks, 'x').tryAcquire())).toMatchObject({
        code: 'REDIS_UNAVAILABLE',
        outcome: 'unknown',
        transient: true,
        message: expect.stringContaining(error),
      })
      await eventually(async () => Object.keys(await kind.holds(rig.admin, 'x')).length === 0)
    })

    it.each(lockKinds)('ends no wait for a $name, and no release', async (kind) => {
      proxy.lie(isScript, error)
      const hold = await soon(kind.of(locks, 'x').acquire({ waitMs: 20_000 }))
      expect(Object.values(await kind.holds(rig.admin, 'x'))).toEqual(['1'])
      proxy.lie(isScript, error)
      expect(await soon(hold.release())).toBe('released')
      expect(await kind.holds(rig.admin, 'x')).toEqual({})
    })

    it('costs no permit, and counts none twice', async () => {
      const semaphore = locks.getSemaphore('s')
      await semaphore.trySetPermits(1)
      proxy.lie(isScript, error)
      expect(await outcomeOf(semaphore.tryAcquire())).toMatchObject({ outcome: 'unknown' })
      await eventually(async () => (await rig.admin.get('s')) === '1')
      proxy.lie(isScript, error)
      await soon(semaphore.acquire({ waitMs: 20_000 }))
      expect(await rig.admin.get('s')).toBe('0')
      proxy.lie(isScript, error)
      await soon(semaphore.release())
      expect(await rig.admin.get('s')).toBe('1')
      await rig.admin.del('s')
    })
  },
)

describe('a user who lacks a right that a script needs behind its first write', () => {
  it.each(lockKinds)('is told so at once, and nobody has the $name', async (kind) => {
    const rules = ['reset', 'on', '>secret', '~*', '&*', '+@all', '-pexpire']
    await rig.admin.call('ACL', 'SETUSER', 'short', ...rules)
    const locks = await rig.client({}, rig.connection({ username: 'short', password: 'secret' }))
    const told = await outcomeOf(kind.of(locks, 'x').acquire({ waitMs: 60_000 }))
    expect(told).toBeInstanceOf(RedisUnavailableError)
    expect(told).toMatchObject({ transient: false, message: expect.stringContaining('docs/acl.md') })
    await eventually(async () => Object.keys(await kind.holds(rig.admin, 'x')).length === 0)
    await rig.admin.del('x')
  })

  it('is told so where replicas must acknowledge, and may not be waited for', async () => {
    await rig.admin.call('ACL', 'SETUSER', 'short', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-wait')
    const connection = rig.connection({ username: 'short', password: 'secret' })
    const locks = await rig.client({ replicas: { acks: 1, timeoutMs: 50 } }, connection)
    expect(await outcomeOf(locks.getLock('x').tryAcquire())).toMatchObject({ outcome: 'unknown' })
    await eventually(async () => (await rig.admin.exists('x')) === 0)
  })
})
