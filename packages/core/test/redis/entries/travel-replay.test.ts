import { expect } from '@jest/globals'
import { RedisUnavailableError, type LockClient } from '../../../src/index.js'
import { rename, renew, acquireScript, releaseScript, shorten } from '../../../src/scripts/lock.js'
import {
  adoptScript,
  handOverScript,
  sendAdopt,
  sendHandOver,
  type AdoptArguments,
  type HandOverArguments,
} from '../../../src/entries/travel/scripts.js'
import { adopt, handOver, HandoverGoneError, revoke } from '../../../src/entries/travel/index.js'
import { LEASE_MS, NAME, OTHER, OWNER, plainScripts, stamp, TOMBSTONE } from '../support/plain-scripts.js'
import { runsOf } from '../support/requests.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

const TRAVELLER = `handover~${'0f'.repeat(16)}:1`
const KEEP_MS = 20_000
const TOKEN_KEY = 'redisson_lock_token:{order:42}'
const LATCH = `holdfast:latch:{order:42}:${OTHER}`
const rig = useRig()

const fields = () => rig.admin.hgetall(NAME)

describe('every RETURNS row of the scripts, by their twins, and late copies', () => {
  const runner = own(() => rig.runner())
  const { acquireAs, releaseAs } = plainScripts(() => runner)

  const lock = { lockName: NAME, key: NAME, traveller: TRAVELLER }
  const handOverAs = (change: Partial<HandOverArguments> = {}) =>
    sendHandOver(runner, {
      ...lock,
      owner: OWNER,
      stamp: stamp(2),
      keepMs: KEEP_MS,
      isNoted: false,
      ...change,
    })
  const adoptAs = (change: Partial<AdoptArguments> = {}) =>
    sendAdopt(runner, {
      ...lock,
      owner: OTHER,
      stamp: stamp(1),
      leaseMs: LEASE_MS,
      note: undefined,
      rule: undefined,
      ...change,
    })
  const releaseAdopted = () => releaseAs({ owner: OTHER, tombstoneKey: LATCH })

  it('hand-over 1: one level under the name, for keepMs, and the tombstone of the owner', async () => {
    await acquireAs()
    await acquireAs({ holds: 3, stamp: stamp(2) })
    expect(await handOverAs({ stamp: stamp(3) })).toBe('handed-over')
    expect(await fields()).toEqual({ [TRAVELLER]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(KEEP_MS)
    expect(await rig.admin.get(TOMBSTONE)).toBe('3')
    expect(await rig.admin.pttl(TOMBSTONE)).toBeGreaterThan(KEEP_MS)
    await rig.admin.del(NAME)
  })

  it('hand-over 1 for its copy, which does not keep the lock for longer', async () => {
    await acquireAs()
    await handOverAs()
    await rig.admin.pexpire(NAME, 5_000)
    expect(await handOverAs()).toBe('handed-over')
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(5_000)
    await rig.admin.del(NAME)
  })

  it('hand-over 0: nothing is created, and another owner keeps the lock', async () => {
    expect(await handOverAs()).toBe('lost')
    expect(Object.keys(await rig.contents())).toEqual([TOMBSTONE])
    await acquireAs({ owner: OTHER, tombstoneKey: LATCH })
    expect(await handOverAs()).toBe('lost')
    expect(await fields()).toEqual({ [OTHER]: '1' })
    await releaseAdopted()
  })

  it('hand-over leaves no tombstone out where something else has the name of the lock', async () => {
    await rig.admin.set(NAME, 'not a lock')
    await expect(handOverAs()).rejects.toThrow(/WRONGTYPE|wrong kind/)
    expect(await rig.admin.get(TOMBSTONE)).toBe('2')
    await rig.admin.del(NAME)
  })

  it('adopt 1, and the same for its copy, which never shortens the lease', async () => {
    await acquireAs()
    await handOverAs()
    expect(await adoptAs({ leaseMs: 10_000 })).toEqual({ kind: 'acquired' })
    expect(await fields()).toEqual({ [OTHER]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(10_000)
    await rig.admin.pexpire(NAME, 15_000)
    expect(await adoptAs({ leaseMs: 10_000 })).toEqual({ kind: 'acquired' })
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(10_000)
    await releaseAdopted()
  })

  it('adopt {fencing token}: one for the adoption, the same for its copy', async () => {
    await rig.admin.set(TOKEN_KEY, '7')
    await acquireAs()
    await handOverAs()
    const rule = { tokens: 'counter', tokenTtlMs: undefined } as const
    expect(await adoptAs({ rule })).toEqual({ kind: 'acquired', token: '8' })
    expect(await adoptAs({ rule })).toEqual({ kind: 'acquired', token: '8' })
    expect(await adoptAs({ rule, owner: 'c~1:1' })).toMatchObject({ kind: 'held', holder: OTHER })
    expect(await rig.admin.get(TOKEN_KEY)).toBe('8')
    await releaseAdopted()
  })

  it('adopt 3: a copy that comes after what it took was released', async () => {
    await acquireAs()
    await handOverAs()
    await rig.admin.set(LATCH, '1', 'PX', 60_000)
    expect(await adoptAs()).toEqual({ kind: 'superseded' })
    expect(await fields()).toEqual({ [TRAVELLER]: '1' })
    await rig.admin.del(NAME)
  })

  it('adopt {ttl, holder, holds}: never creates, and tells who has the lock', async () => {
    expect(await adoptAs()).toEqual({ kind: 'held', ttlMs: -2, holder: '', holds: 0 })
    expect(Object.keys(await rig.contents())).toEqual([])
    await acquireAs()
    expect(await adoptAs()).toMatchObject({ kind: 'held', holder: OWNER, holds: 1 })
    await releaseAs()
  })

  it('adopt works out of memory and a hand-over does, as a release and a renewal do', async () => {
    await acquireAs()
    const rule = { tokens: 'counter', tokenTtlMs: 60_000 } as const
    await rig.outOfMemory(async () => {
      expect(await handOverAs()).toBe('handed-over')
      expect(await adoptAs({ rule })).toMatchObject({ kind: 'acquired' })
      expect(await releaseAdopted()).toMatchObject({ kind: 'released' })
    })
  })

  const rest = { lockName: NAME, key: NAME, tombstoneKey: TOMBSTONE, owner: OWNER }
  const copies: [string, () => Promise<unknown>][] = [
    ['acquire', () => acquireAs()],
    ['re-entry', () => acquireAs({ holds: 2 })],
    ['release', () => releaseAs()],
    ['release of a level', () => releaseAs({ holds: 1 })],
    ['renewal', () => renew(runner, { locks: [{ key: NAME, owner: OWNER }], leaseMs: 600_000 })],
    ['shortening', () => shorten(runner, { ...rest, leaseMs: 1, stamp: stamp(1) })],
    ['rename', () => rename(runner, { ...rest, from: ['a~1:0'], to: { owner: OWNER, note: undefined } })],
    ['hand-over', () => handOverAs()],
  ]

  it.each(copies)(
    'a late copy of the %s of the old owner changes nothing, at any step (I1, I2)',
    async (_what, copy) => {
      const expectAfterCopy = async (expected: object): Promise<void> => {
        const before = await rig.admin.pttl(NAME)
        await copy()
        expect(await fields()).toEqual(expected)
        expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(Math.max(before, -2))
      }
      await acquireAs()
      await handOverAs()
      await expectAfterCopy({ [TRAVELLER]: '1' })
      await adoptAs()
      await expectAfterCopy({ [OTHER]: '1' })
      await releaseAdopted()
      await expectAfterCopy({})
      await acquireAs({ owner: 'c~1:1', tombstoneKey: 'holdfast:latch:{order:42}:c~1:1' })
      await expectAfterCopy({ 'c~1:1': '1' })
      await rig.admin.del(NAME)
    },
  )

  it('a late copy of the adoption takes nothing after the release (I1, I6)', async () => {
    await acquireAs()
    await handOverAs()
    await adoptAs()
    await releaseAdopted()
    expect(await adoptAs()).toMatchObject({ kind: 'held', holder: '' })
    expect(await fields()).toEqual({})
  })
})

describe.each([
  ['plain', (locks: LockClient) => locks.getLock(NAME)],
  ['fair', (locks: LockClient) => locks.getFairLock(NAME)],
  ['fenced', (locks: LockClient) => locks.getFencedLock(NAME)],
])('a client whose connection breaks: %s', (_kind, lockOf) => {
  const proxy = own(() => rig.proxy())
  const broken = own(() =>
    rig.client({ commandTimeout: 500, unavailableTimeoutMs: 2_000 }, rig.connection({}, proxy)),
  )
  const other = own(() => rig.client())

  it.each(['loseReply', 'loseRequest'] as const)('hands over in spite of it: %s', async (fault) => {
    const hold = await lockOf(broken).acquire()
    proxy[fault](runsOf(handOverScript))
    const token = await soon(handOver(hold))
    await (await adopt(other, token)).release()
    expect(await rig.keysLeft()).toEqual([])
  })

  it('aborts the signal before the command is sent, and has no token without an answer', async () => {
    const hold = await lockOf(broken).acquire()
    proxy.blackHole()
    const given = handOver(hold)
    await eventually(() => Promise.resolve(hold.signal.aborted))
    await expect(given).rejects.toThrow(RedisUnavailableError)
    proxy.pass()
    // Released in the background, whichever copies came through.
    await (await soon(lockOf(other).acquire())).release()
  })

  it('releases the lock where the hand-over ran and its answers were lost', async () => {
    const hold = await lockOf(broken).acquire()
    const lost = proxy.loseReply(runsOf(handOverScript))
    const given = handOver(hold)
    given.catch(() => undefined)
    await lost.happened
    proxy.refuse()
    await expect(given).rejects.toThrow(RedisUnavailableError)
    expect(Object.keys(await fields())).toEqual([expect.stringMatching(/^handover~/)])
    proxy.pass()
    await (await soon(lockOf(other).acquire())).release()
  })

  it.each(['loseReply', 'loseRequest'] as const)('adopts in spite of it: %s', async (fault) => {
    const token = await handOver(await lockOf(other).acquire())
    proxy[fault](runsOf(adoptScript))
    const adopted = await soon(adopt(broken, token))
    expect(await fields()).toEqual({ [adopted.owner]: '1' })
    expect(await adopted.release()).toBe('released')
  })

  it('trusts an adoption from the send of the copy that was answered (I3)', async () => {
    const token = await handOver(await lockOf(other).acquire())
    const fault = proxy.loseReply(runsOf(adoptScript))
    const adopted = await adopt(broken, token, { leaseMs: KEEP_MS })
    expect(fault.count).toBe(1)
    expect(adopted.trustedForMs).toBeLessThan(await rig.admin.pttl(NAME))
    await adopted.release()
  })

  it('leaves no owner behind where no answer to the adoption came, also when a copy comes late', async () => {
    const token = await handOver(await lockOf(other).acquire())
    proxy.blackHole()
    await expect(adopt(broken, token)).rejects.toThrow(RedisUnavailableError)
    proxy.pass()
    // The copy that adopts is delivered now, and undone.
    await eventually(async () => (await rig.keysLeft()).length === 0)
    await expect(adopt(other, token)).rejects.toThrow(HandoverGoneError)
  })

  it('revokes in spite of it: the lost answer of a copy counts', async () => {
    const token = await handOver(await lockOf(other).acquire())
    proxy.loseReply(runsOf(releaseScript))
    expect(await revoke(broken, token)).toBe(true)
    expect(await lockOf(other).isLocked()).toBe(false)
  })
})

describe('a client whose bytes arrive twice', () => {
  it('has a copy of its acquire arrive when the adopter has released: nobody gets the lock by it (I1)', async () => {
    const proxy = await rig.proxy()
    const [broken, other] = [await rig.client({}, rig.connection({}, proxy)), await rig.client()]
    const copy = proxy.copyLate(runsOf(acquireScript), 400)
    const token = await handOver(await broken.getLock(NAME).acquire())
    await (await adopt(other, token)).release()
    await copy.happened
    expect(await fields()).toEqual({})
  })
})
