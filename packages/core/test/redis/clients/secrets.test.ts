import { describe, expect, it } from '@jest/globals'
import { inspect } from 'node:util'
import { LockClient } from '../../../src/index.js'
import { getElection } from '../../../src/entries/election/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { outcomeOf } from '../support/outcomes.js'
import { own, useRig } from '../support/rig.js'

const rig = useRig()
const SECRET = 's3cr3tPW'
const HOSTILE = 'a\nb\u001b[31mc\u2028d'

/** The texts that an uncaught error, a console and a logger show. */
const shownOf = (value: unknown): string =>
  `${inspect(value, { depth: Infinity, showHidden: true, getters: false })} ${JSON.stringify({ value })}`

describe('a password', () => {
  it.each([':s3cr3tPW@', 'bob:s3cr3tPW@'])(
    'a password of a refused connect(), redis://%s, is in nothing that is printed of its error',
    async (user) => {
      await rig.admin.config('SET', 'requirepass', 'other')
      const error = await outcomeOf(LockClient.connect(`redis://${user}127.0.0.1:${rig.server.port}`))
      await rig.admin.config('SET', 'requirepass', '')
      expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', transient: false })
      const { message, cause } = error as Error
      expect(`${shownOf(error)} ${shownOf({ message, cause })}`).not.toContain(SECRET)
      expect(shownOf(error)).toContain('WRONGPASS')
    },
  )

  it('a password of the connection is in nothing that is printed of a client and what comes from it', async () => {
    await rig.admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', `>${SECRET}`, '~*', '&*', '+@all')
    const locks = await rig.client({}, rig.connection({ username: 'app', password: SECRET }))
    const hold = await locks.getLock('x').acquire()
    const compound = await locks.getMultiLock(locks.getLock('y'), locks.getLock('z')).acquire()
    const permits = locks.getPermitExpirableSemaphore('p')
    await permits.trySetPermits(1)
    const shown = {
      locks,
      thread: locks.thread(),
      lock: locks.getLock('x'),
      fenced: locks.getFencedLock('f'),
      readWrite: locks.getReadWriteLock('rw'),
      multi: locks.getMultiLock(locks.getLock('y')),
      semaphore: locks.getSemaphore('s'),
      permits,
      latch: locks.getCountDownLatch('l'),
      election: getElection(locks, 'e'),
      share: getShare(locks, 'run'),
      hold,
      compound,
    }
    for (const [name, each] of Object.entries(shown)) {
      expect([name, inspect(each), JSON.stringify(each)].join(' ')).not.toContain(SECRET)
    }
    expect(JSON.parse(JSON.stringify(shown.lock))).toEqual({ name: 'x' })
    const { lockName, owner } = hold
    expect(JSON.parse(JSON.stringify(hold))).toMatchObject({ lockName, owner })
    expect(inspect(hold, { breakLength: Infinity })).toMatch(
      /^Hold \{ lockName: 'x', owner: '[^']+', trustedForMs: [\d.]+ \}$/,
    )
    expect(inspect(locks)).toBe(`LockClient { clientId: '${locks.clientId}' }`)
    await Promise.all([hold.release(), compound.release(), rig.admin.del('p')])
  })
})

describe('a name with a line break and an escape sequence', () => {
  const locks = own(() => rig.client())

  it.each([
    [
      'a time-out',
      async () => {
        await rig.admin.hset(HOSTILE, `${HOSTILE}:1`, 1)
        return locks.getLock(HOSTILE).acquire({ waitMs: 0 })
      },
    ],
    [
      'a wrong type',
      async () => {
        await rig.admin.set(HOSTILE, HOSTILE)
        return locks.getLock(HOSTILE).acquire({ waitMs: 0 })
      },
    ],
    ['an unlock without a hold', () => locks.run(() => locks.getLock(HOSTILE).unlock())],
    ['a wrong argument', () => locks.getLock('x').tryLock(HOSTILE as never)],
  ])('stays one line in the error of %s', async (_what, call) => {
    const error = (await outcomeOf((async () => call())())) as Error
    expect(error).toBeInstanceOf(Error)
    // eslint-disable-next-line no-control-regex -- those are what it is about
    expect(error.message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
    await rig.admin.del(HOSTILE)
  })
})
