import { beforeEach, describe, expect, it } from '@jest/globals'
import { InvalidArgumentError, type FencedLock, type LockClient } from '../../src/index.js'
import { fencedKeys, NAME, TOKEN_KEY } from './support/fenced-keys.js'
import { useRig } from './support/rig.js'

const rig = useRig()
const keys = fencedKeys(rig)
let locks: LockClient
let lock: FencedLock

beforeEach(async () => {
  // Only messages can end a wait soon: no tick, and no lease that ends.
  locks = await rig.client({ clientName: 'node', resyncInterval: 25_000 })
  lock = locks.getFencedLock(NAME)
})

describe('options', () => {
  const now = async (): Promise<bigint> => {
    const [seconds = 0, micros = 0] = await rig.admin.time()
    return BigInt(seconds) * 1_000_000n + BigInt(micros)
  }
  const tokenOf = (of: FencedLock) => of.withLock((hold) => hold.token)

  it("tokens: 'time' is the clock of Redis in microseconds, and at least the last one + 1", async () => {
    const timed = locks.getFencedLock(NAME, { tokens: 'time' })
    const before = await now()
    const first = BigInt(await tokenOf(timed))
    expect(first).toBeGreaterThan(before)
    expect(first).toBeLessThan(await now())
    expect(BigInt(await tokenOf(timed))).toBeGreaterThan(first)
    const ahead = (await now()) + 3_600_000_000n
    await rig.admin.set(TOKEN_KEY, String(ahead))
    expect(await tokenOf(timed)).toBe(String(ahead + 1n))
    expect(await rig.admin.pttl(TOKEN_KEY)).toBe(-1)
  })

  it("tokens: 'time' survives a Redis that lost its data; 'counter' starts again at 1", async () => {
    const timed = locks.getFencedLock(NAME, { tokens: 'time' })
    const counted = locks.getFencedLock('counted')
    const before = [BigInt(await tokenOf(timed)), await tokenOf(counted)] as const
    await rig.admin.flushall()
    expect(BigInt(await tokenOf(timed))).toBeGreaterThan(before[0])
    expect([before[1], await tokenOf(counted)]).toEqual(['1', '1'])
  })

  it.each(['counter', 'time'] as const)(
    'tokenTtlMs with %s: a lifetime that each acquisition renews',
    async (tokens) => {
      const expiring = locks.getFencedLock(NAME, { tokens, tokenTtlMs: 90_000 })
      const first = BigInt(await tokenOf(expiring))
      await keys.expectTtl(TOKEN_KEY, 90_000)
      await rig.admin.pexpire(TOKEN_KEY, 5_000)
      const second = await expiring.acquire()
      expect(BigInt(second.token)).toBeGreaterThan(first)
      await keys.expectTtl(TOKEN_KEY, 90_000)
      await second.release()
      await rig.admin.del(TOKEN_KEY)
      const third = BigInt(await tokenOf(expiring))
      expect(tokens === 'time' ? third > BigInt(second.token) : third === 1n).toBe(true)
    },
  )

  it.each([
    ['tokens', 'sometimes'],
    ['tokens', null],
    ['tokenTtlMs', 0],
    ['tokenTtlMs', -1],
    ['tokenTtlMs', 1.5],
    ['tokenTtlMs', Number.NaN],
    ['tokenTtlMs', '1000'],
  ])('%s %p is an InvalidArgumentError that names it', (argument, value) => {
    for (const get of [locks, locks.thread()]) {
      const ask = () => get.getFencedLock(NAME, { [argument]: value })
      expect(ask).toThrow(InvalidArgumentError)
      expect(ask).toThrow(expect.objectContaining({ argument, value }))
    }
  })

  it('name, options, waits and leases are checked as everywhere', async () => {
    expect(() => locks.getFencedLock('')).toThrow(expect.objectContaining({ argument: 'name' }))
    expect(() => locks.getFencedLock(NAME, 'time' as unknown as object)).toThrow(
      expect.objectContaining({ argument: 'options' }),
    )
    await expect(lock.lockAndGetToken(0)).rejects.toMatchObject({ argument: 'leaseMs' })
    await expect(lock.tryLockAndGetToken(-1)).rejects.toMatchObject({ argument: 'waitMs' })
    await locks.close()
    expect(() => locks.getFencedLock(NAME)).toThrow(expect.objectContaining({ code: 'CLIENT_CLOSED' }))
    await expect(lock.getToken()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})
