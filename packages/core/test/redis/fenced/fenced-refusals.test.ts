import { describe, expect, it } from '@jest/globals'
import { RedisUnavailableError, WrongTypeError } from '../../../src/index.js'
import { fencedKeys, NAME, TOKEN_KEY } from '../support/fenced-keys.js'
import { failureOf } from '../support/outcomes.js'
import { own, useRig } from '../support/rig.js'

const rig = useRig()
const keys = fencedKeys(rig)

describe('what Redis refuses', () => {
  const locks = own(() => rig.client())

  it('out of memory: acquires fail alone and in a batch, nothing is half done, release works', async () => {
    const [lock, held] = [locks.getFencedLock(NAME), await locks.getFencedLock('held').acquire()]
    await rig.admin.set(TOKEN_KEY, '7')
    await rig.outOfMemory(async () => {
      const batch = ['x', 'y'].map((name) => failureOf(locks.getFencedLock(name).tryLock()))
      const together = await Promise.all([failureOf(lock.acquire()), ...batch])
      for (const reason of [await failureOf(lock.acquire()), ...together]) {
        expect(reason).toBeInstanceOf(RedisUnavailableError)
        expect(reason).toMatchObject({ outcome: 'refused', message: expect.stringMatching(/OOM/) as unknown })
      }
      expect([await lock.getToken(), await held.release()]).toEqual(['7', 'released'])
    })
    await rig.admin.del('redisson_lock_token:{held}')
    await keys.expectOnly(null, '7')
  })

  it.each([
    ['a list', () => rig.admin.rpush(TOKEN_KEY, 'x'), WrongTypeError, /wrong kind of value/],
    ['text', () => rig.admin.set(TOKEN_KEY, 'mine'), RedisUnavailableError, /not an integer/],
    ['at its end', () => rig.admin.set(TOKEN_KEY, `${2n ** 63n - 1n}`), RedisUnavailableError, /overflow/],
  ])(
    'a counter that is %s: no lock without a token, and the key is named',
    async (_what, put, type, text) => {
      await put()
      const before = await rig.admin.dumpBuffer(TOKEN_KEY)
      for (const options of [{ tokens: 'counter' }, { tokens: 'time' }] as const) {
        const failure = await failureOf(locks.getFencedLock(NAME, options).acquire({ waitMs: 0 }))
        expect(failure).toBeInstanceOf(type)
        expect(String(failure)).toMatch(text)
        expect(String(failure)).toContain(`(key "${TOKEN_KEY}")`)
        expect((failure as WrongTypeError).key).toBe(type === WrongTypeError ? TOKEN_KEY : undefined)
      }
      const together = [locks.getFencedLock(NAME).tryLock(), locks.getFencedLock('other').acquire()] as const
      await expect(together[0]).rejects.toThrow(type)
      await (await together[1]).release()
      expect(await rig.admin.exists(NAME)).toBe(0)
      expect(await rig.admin.dumpBuffer(TOKEN_KEY)).toEqual(before)
      await rig.admin.del(TOKEN_KEY)
    },
  )

  it('another thing under the name of the lock: WRONG_TYPE with that key, and nothing is counted', async () => {
    await rig.admin.set(NAME, 'mine')
    for (const ask of [
      () => locks.getFencedLock(NAME).acquire(),
      () => locks.getFencedLock(NAME).getToken(),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: 'WRONG_TYPE', key: NAME })
    }
    expect(await rig.contents()).toEqual({ [NAME]: { type: 'string', value: 'mine' } })
    await rig.admin.del(NAME)
  })
})

describe('transitions of one turn', () => {
  it('travel as one script with those of plain locks, each with its own token', async () => {
    const locks = await rig.client()
    const all = () => [
      locks.getFencedLock('a').acquire(),
      locks.getLock('b').acquire(),
      locks.getFencedLock('c', { tokens: 'time' }).acquire(),
      locks.getFencedLock('d').acquire(),
    ]
    await Promise.all((await Promise.all(all())).map((hold) => hold.release()))
    await rig.admin.config('RESETSTAT')
    const holds = await Promise.all(all())
    expect(await rig.admin.info('commandstats')).toMatch(/cmdstat_evalsha:calls=1,/)
    expect(holds.map((hold) => hold.token)).toEqual(['2', undefined, expect.stringMatching(/^\d{16}$/), '2'])
    await Promise.all(holds.map((hold) => hold.release()))
  })
})
