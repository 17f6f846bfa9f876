import { beforeEach, describe, expect, it } from '@jest/globals'
import type { FaultProxy } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import type { FencedLock, LockClient } from '../../../src/index.js'
import { batchScript } from '../../../src/redis/batch.js'
import { acquireFencedCall, acquireFencedScript } from '../../../src/scripts/fenced-lock.js'
import { scriptsRunBy } from '../support/carrier.js'
import { fencedKeys, NAME, TOKEN_KEY } from '../support/fenced-keys.js'
import { runsOf } from '../support/requests.js'
import { eventually, own, signalled, soon, useRig } from '../support/rig.js'

const OWNER = 'a~1:1'
const OTHER = 'b~1:9'
const TOMBSTONE = `holdfast:latch:{order:42}:${OWNER}`

const rig = useRig()
const keys = fencedKeys(rig)

describe('every RETURNS row of the scripts, by their twins', () => {
  const runner = own(() => rig.runner())
  const acquireAs = (change: object = {}) =>
    runner.run(
      acquireFencedCall({
        lockName: NAME,
        key: NAME,
        tombstoneKey: TOMBSTONE,
        tokenKey: TOKEN_KEY,
        owner: OWNER,
        holds: 1,
        leaseMs: 30_000,
        stamp: { sequence: 1, tombstoneThrough: 0 },
        tokens: 'counter',
        tokenTtlMs: undefined,
        ...change,
      }),
    )
  const give = (owner: string) => rig.admin.multi().hset(NAME, owner, 1).pexpire(NAME, 10_000).exec()

  it.each(['counter', 'time'])(
    '{token}: acquired, and the same again for the same owner (%s)',
    async (tokens) => {
      const first = await acquireAs({ tokens })
      expect(first).toEqual({ kind: 'acquired', token: expect.stringMatching(/^[1-9]\d*$/) as unknown })
      expect(await acquireAs({ tokens })).toEqual(first)
      expect(await acquireAs({ tokens, stamp: { sequence: 2, tombstoneThrough: 1 } })).toEqual(first)
      expect(await keys.counter()).toBe((first as { token: string }).token)
      expect(await rig.admin.hgetall(NAME)).toEqual({ [OWNER]: '1' })
      await rig.admin.del(NAME)
    },
  )

  it('{token}: acquired again, where the counter was lost under the lock', async () => {
    await rig.admin.set(TOKEN_KEY, '7')
    expect(await acquireAs()).toEqual({ kind: 'acquired', token: '8' })
    await rig.admin.del(TOKEN_KEY)
    expect(await acquireAs()).toEqual({ kind: 'acquired', token: '1' })
    await rig.admin.del(NAME)
  })

  it('3: superseded, a late copy counts nothing', async () => {
    await rig.admin.set(TOMBSTONE, '1', 'PX', 60_000)
    expect(await acquireAs()).toEqual({ kind: 'superseded' })
    expect(Object.keys(await rig.contents())).toEqual([TOMBSTONE])
  })

  it('{ttl, holder, holds}: held, nothing counted', async () => {
    await give(OTHER)
    expect(await acquireAs()).toEqual({ kind: 'held', ttlMs: expect.any(Number), holder: OTHER, holds: 1 })
    await keys.expectOnly({ [OTHER]: '1' }, null)
    await rig.admin.del(NAME)
  })
})

describe.each([
  ['counter', { tokens: 'counter' }],
  ['time', { tokens: 'time' }],
] as const)('a client whose connection breaks, tokens by %s', (_name, options) => {
  let proxy: FaultProxy
  let connection: Redis
  let locks: LockClient
  let lock: FencedLock
  const isAcquire = runsOf(acquireFencedScript)

  beforeEach(async () => {
    proxy = await rig.proxy()
    connection = rig.connection({}, proxy)
    locks = await rig.client({ commandTimeout: 300 }, connection)
    lock = locks.getFencedLock(NAME, options)
  })

  it('loses the reply of an acquire: one hold, and the token that was counted for it (I2, I9)', async () => {
    const fault = proxy.loseReply(isAcquire)
    const tokenOfFirst = fault.happened.then(() => keys.counter())
    const hold = await soon(lock.acquire())
    expect(fault.count).toBe(1)
    expect(hold.token).toBe(await tokenOfFirst)
    expect(await rig.admin.hgetall(NAME)).toEqual({ [hold.owner]: '1' })
    expect(await hold.release()).toBe('released')
    expect(await keys.counter()).toBe(hold.token)
  })

  it('has no answer in time and asks again: the token of the first copy', async () => {
    await lock.withLock(() => undefined)
    const sent = scriptsRunBy(connection)
    proxy.blackHole()
    const waiting = lock.acquire()
    await eventually(() => sent().length === 2)
    proxy.pass()
    const hold = await soon(waiting)
    expect(await keys.counter()).toBe(hold.token)
    expect(options.tokens === 'time' || hold.token === '2').toBe(true)
    await hold.release()
  })

  it('has a copy of its acquire arrive during the hold, and after it: the same token, no orphan', async () => {
    proxy.loseReply(isAcquire)
    const [early, late] = [signalled(), signalled()]
    const copies = [early, late].map(({ promise }) => proxy.copyLate(isAcquire, promise))
    const hold = await soon(lock.acquire())
    early.resolve()
    await soon(copies[0]!.happened)
    expect(await rig.admin.hgetall(NAME)).toEqual({ [hold.owner]: '1' })
    expect(await keys.counter()).toBe(hold.token)
    expect(await hold.release()).toBe('released')
    late.resolve()
    await soon(copies[1]!.happened)
    expect(await rig.admin.exists(NAME)).toBe(0)
    expect(await keys.counter()).toBe(hold.token)
  })

  it('loses the reply of a batch: each lock of it has one hold and one token', async () => {
    const names = ['a', 'b', 'c']
    const acquireAll = () => Promise.all(names.map((name) => locks.getFencedLock(name, options).acquire()))
    const first = await acquireAll()
    await Promise.all(first.map((hold) => hold.release()))
    // A turn later, when nobody is expected to go on: all leave as one script.
    await rig.admin.ping()
    const fault = proxy.loseReply((bytes) => bytes.includes(batchScript.sha1))
    const holds = await soon(acquireAll())
    expect(fault.count).toBe(1)
    for (const [i, hold] of holds.entries()) {
      expect(await rig.admin.hgetall(hold.lockName)).toEqual({ [hold.owner]: '1' })
      expect(await rig.admin.get(`redisson_lock_token:{${hold.lockName}}`)).toBe(hold.token)
      expect(BigInt(hold.token)).toBeGreaterThan(BigInt(first[i]!.token))
      expect(options.tokens === 'time' || hold.token === '2').toBe(true)
    }
    await Promise.all(holds.map((hold) => hold.release()))
  })
})
