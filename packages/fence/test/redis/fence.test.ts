import { PGlite } from '@electric-sql/pglite'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { InvalidArgumentError, LockClient, type Hold } from '@holdfast/core'
import { getElection, type Term } from '@holdfast/core/election'
import { getShare } from '@holdfast/core/share'
import { FENCE_TABLE, FenceUndecidedError, StaleHolderError, type TokenHolder } from '@holdfast/fence'
import { Redis } from 'ioredis'
import { isUndecided } from '../../src/errors.js'
import { fence } from '../../src/pg/index.js'
import { redisUrl } from '../../../core/test/redis/support/rig.js'

// A fence reads a holder and answers it. Libraries, databases and levels: npm run test:fence.

let database: PGlite
let redis: Redis
let locks: LockClient
beforeAll(async () => {
  database = await PGlite.create()
  await database.exec(FENCE_TABLE.postgres)
  redis = new Redis(redisUrl, { keyPrefix: 'app:' })
  locks = await LockClient.connect(redis, { bareCalls: 'allow' })
})
afterEach(() => database.exec('DELETE FROM holdfast_fences'))
afterAll(async () => {
  await locks.close()
  redis.disconnect()
  await database.close()
})

const guarded = (holder: TokenHolder, name?: string): Promise<void> =>
  database.transaction((tx) => fence(tx, holder, name === undefined ? {} : { name }))

const rowsOf = async (): Promise<unknown[]> =>
  (await database.query('SELECT name, token::text FROM holdfast_fences ORDER BY name')).rows

describe('a fence', () => {
  it('warns once of a token of a counter, and never of a token of the clock', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const [counted, timed] = ['1', '1700000000000000'].map((token) => ({ token, tokenKey: 'k' }))
    await guarded(timed!, 'timed')
    expect(warn).not.toHaveBeenCalled()
    await guarded(counted!, 'one')
    await guarded(counted!, 'two')
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn).toHaveBeenCalledWith(expect.any(String), { code: 'HOLDFAST_FENCE_COUNTER' })
    warn.mockRestore()
  })

  it('has one row for the fenced lock and the election of one name, named after their counter in Redis', async () => {
    const hold = await locks.getFencedLock('fence:one', { tokens: 'time' }).acquire()
    await guarded(hold)
    await hold.release()
    const election = getElection(locks, 'fence:one', { tokens: 'time' })
    let led: Term | undefined
    const campaign = election.lead(async (term) => {
      await guarded(term)
      led = term
      await election.close()
    })
    await campaign
    expect(led!.tokenKey).toBe(hold.tokenKey)
    expect(await rowsOf()).toEqual([{ name: 'redisson_lock_token:{app:fence:one}', token: led!.token }])
    await expect(guarded(hold)).rejects.toThrow(StaleHolderError)
  })

  it('tells a stale holder both tokens, and how to set a counter that Redis has lost', async () => {
    const holder = { token: '4', tokenKey: 'redisson_lock_token:{x}' }
    await guarded({ ...holder, token: '12' })
    const error: unknown = await guarded(holder).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'STALE_HOLDER',
      token: '4',
      latestToken: '12',
      fence: holder.tokenKey,
    })
    expect(String(error)).toContain('SET redisson_lock_token:{x} 12')
  })

  it('refuses a hold without a token, at compile time and at run time', async () => {
    const hold: Hold = await locks.getLock('fence:plain').acquire()
    // @ts-expect-error a plain lock gives no token
    await expect(guarded(hold)).rejects.toThrow(InvalidArgumentError)
    await hold.release()
    await getShare(locks, 'fence').run('plain', async (run) => {
      // @ts-expect-error a shared run has none either
      await expect(guarded(run)).rejects.toThrow(InvalidArgumentError)
    })
  })

  it.each([
    [{ token: '-1', tokenKey: 'k' }, undefined, /holder\.token/],
    [{ token: '9223372036854775808', tokenKey: 'k' }, undefined, /holder\.token/],
    [{ token: '1', tokenKey: 'k' }, '', /options\.name/],
    [{ token: '1', tokenKey: 'k' }, 'a\0b', /options\.name/],
    [{ token: '1', tokenKey: 'k' }, 'ü'.repeat(769), /options\.name/],
  ])('refuses the holder %j with the name %j before it sends anything', async (holder, name, argument) => {
    await expect(guarded(holder, name)).rejects.toThrow(argument)
    expect(await rowsOf()).toEqual([])
  })

  it.each([
    ['SQLSTATE of pg', { code: '40001' }],
    ['a deadlock of PostgreSQL', { code: '40P01' }],
    ['lock_timeout of PostgreSQL', { code: '55P03' }],
    ["MariaDB's ER_CHECKREAD", { code: 'ER_CHECKREAD', errno: 1020, sqlState: 'HY000' }],
    ['a deadlock of mysql2', { code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' }],
    ["Drizzle's wrapper", { cause: { code: '40001' } }],
    ["Prisma's", { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '1020' } } } }],
    ['node:sqlite', { code: 'ERR_SQLITE_ERROR', errcode: 517 }],
    ['better-sqlite3', { code: 'SQLITE_BUSY' }],
  ])('takes %s for no verdict', (_name, error) => {
    expect(isUndecided(error)).toBe(true)
  })

  it.each([
    [{ code: '23505' }],
    [{ code: 'ER_DUP_ENTRY', errno: 1062 }],
    [undefined],
    ['40001'],
    [{ errcode: 19 }],
  ])('passes on the error %j as it is', (error) => {
    expect(isUndecided(error)).toBe(false)
  })

  it("says that a transaction has to run again, with the library's error as cause", async () => {
    const failure = Object.assign(new Error('could not serialize'), { code: '40001' })
    const tx = { query: () => Promise.reject(failure) }
    const error: unknown = await fence(tx, { token: '1', tokenKey: 'k' }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(FenceUndecidedError)
    expect(error).toMatchObject({ code: 'FENCE_UNDECIDED', cause: failure })
  })
})
