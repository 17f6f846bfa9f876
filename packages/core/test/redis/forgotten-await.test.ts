import { expect } from '@jest/globals'
import { describe, it, useRig, useSmallPrograms } from './support/together.js'

const HINT = /NotLockOwnerError[^]*Was `await` forgotten[^]*@typescript-eslint\/no-floating-promises/

describe('an unlock() after a lock() that was not awaited', () => {
  const harness = useRig({ redis: 'all' })
  const start = useSmallPrograms()
  const programs: Record<string, string> = {
    'outside contexts': 'lock.lock(); await lock.unlock()',
    'in run': 'await locks.run(async () => { lock.lock(); await lock.unlock() })',
    'in withLock of another lock':
      "await locks.getLock(lock.name + ':b').withLock(async () => { lock.tryLock(1_000); await lock.unlock() })",
    'of a multi lock, outside contexts':
      'const both = locks.getMultiLock(lock); both.lock(); await both.unlock()',
    'of a multi lock, in run': `const both = locks.getMultiLock(lock, locks.getLock(lock.name + ':b'))
      await locks.run(async () => { both.lock(); await both.unlock() })`,
  }

  it.each(Object.keys(programs))('has an error that hints at it: %s', async (where) => {
    const program = start(`const lock = locks.getLock('${harness.name()}')
      const attempt = async () => { ${programs[where]!} }
      await attempt().catch((error) => console.log(error.name, error.message))
      // The forgotten call may be under way yet.
      process.on('unhandledRejection', (error) => { if (error.code !== 'CLIENT_CLOSED') throw error })
      await locks.close({ graceMs: 0 })`)
    expect(await program.ended()).toBe(0)
    expect(program.stdout).toMatch(HINT)
  })

  it('says nothing of await where no call is under way', async () => {
    const lock = (await harness.client()).getLock(harness.name())
    await expect(lock.unlock()).rejects.toThrow(/^(?![^]*await)/)
  })
})
