import { beforeEach, describe, expect, it } from '@jest/globals'
import { NotLockOwnerError } from '../../../src/index.js'
import { inspect, renew } from '../../../src/scripts/lock.js'
import { lostAt } from '../support/outcomes.js'
import { JavaClient } from '../support/java-client.js'
import { MessageLog } from '../support/message-log.js'
import { CHANNEL, TOMBSTONE, LEASE_MS, NAME, OTHER, OWNER, plainScripts } from '../support/plain-scripts.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

const rig = useRig()
const log = own(() => MessageLog.open(rig.connection(), rig.admin))

async function expectHash(holds: Record<string, string>, key = NAME): Promise<void> {
  expect(await rig.contents()).toEqual({ [key]: { type: 'hash', value: holds } })
}

const expectTtl = (ms: number, key = NAME): Promise<void> => rig.expectTtl(key, ms)

describe('what each transition leaves in an empty Redis, and what it publishes', () => {
  const locks = own(() => rig.client({ clientName: 'node' }))
  const lock = own(() => locks.getLock(NAME))

  it('connecting and asking for a lock write nothing', async () => {
    locks.getLock(NAME)
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([])
  })

  it('first acquire: one hash named as the lock, field <clientId>:<threadId> = 1, a lease, no message', async () => {
    const hold = await lock.acquire()
    expect(hold.owner).toMatch(/^node~[\w-]{21}:\d+$/)
    expect(hold.owner.split(':')[0]).toBe(locks.clientId)
    await expectHash({ [hold.owner]: '1' })
    await expectTtl(LEASE_MS)
    expect(await log.take()).toEqual([])
    await hold.release()
  })

  it('first acquire with a lease of its own: the same hash with that lease', async () => {
    const hold = await lock.acquire({ leaseMs: 90_000 })
    await expectHash({ [hold.owner]: '1' })
    await expectTtl(90_000)
    await hold.release()
  })

  it('refused acquire: nothing changes, neither count nor lease, and nothing is said', async () => {
    const hold = await lock.acquire({ leaseMs: 8_000 })
    const other = (await rig.slow()).getLock(NAME)
    expect(await other.tryLock()).toBe(false)
    expect(await other.tryLock(1, 60_000)).toBe(false)
    expect(await other.tryAcquire({ leaseMs: 60_000 })).toBeNull()
    await expectHash({ [hold.owner]: '1' })
    await expectTtl(8_000)
    expect(await log.take()).toEqual([])
    await hold.release()
  })

  it('re-entry: the absolute count, and a lease that only grows', async () => {
    await locks.run(async () => {
      const { owner } = await lock.lock(10_000)
      await lock.lock(5_000)
      await expectHash({ [owner]: '2' })
      await expectTtl(10_000)
      await lock.lock(60_000)
      await expectHash({ [owner]: '3' })
      await expectTtl(60_000)
      expect(await log.take()).toEqual([])
      await lock.unlock()
      await lock.unlock()
      await lock.unlock()
    })
  })

  it('partial release: the lower count, the lease as it was, no message', async () => {
    await locks.run(async () => {
      const { owner } = await lock.lock(60_000)
      await lock.lock(60_000)
      await lock.unlock()
      await expectHash({ [owner]: '1' })
      await expectTtl(60_000)
      expect(await log.take()).toEqual([])
      await lock.unlock()
    })
  })

  it('full release: no key at all, and Redisson\'s "0" once on its channel', async () => {
    const hold = await lock.acquire()
    expect(await hold.release()).toBe('released')
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([[CHANNEL, '0']])
    expect(await hold.release()).toBe('already-released')
    expect(await log.take()).toEqual([])
  })

  it('full release of a name that has braces: its own hash tag, no braces of ours', async () => {
    const hold = await locks.getLock('a{b}c').acquire()
    await expectHash({ [hold.owner]: '1' }, 'a{b}c')
    await hold.release()
    expect(await log.take()).toEqual([['redisson_lock__channel:a{b}c', '0']])
  })

  it('renewal: the lease starts again, the count stays, no message', async () => {
    const watched = await rig.client({ lockWatchdogTimeout: 3_000 })
    const hold = await watched.getLock(NAME).acquire()
    await eventually(async () => (await rig.admin.pttl(NAME)) < 2_300)
    await eventually(async () => (await rig.admin.pttl(NAME)) > 2_500)
    await expectHash({ [hold.owner]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(3_000)
    expect(await log.take()).toEqual([])
    await hold.release()
  })

  it('force-release by the holder: no key, "0" on the channel, the owner in its own inbox', async () => {
    const hold = await lock.acquire()
    expect(await lock.forceUnlock()).toBe(true)
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([
      [CHANNEL, '0'],
      [`holdfast:client:${locks.clientId}`, hold.owner],
    ])
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' })
  })

  it('force-release by a stranger: the same bytes, and the holder hears of it (I1)', async () => {
    const hold = await lock.acquire()
    const lost = lostAt(hold)
    expect(await (await rig.client()).getLock(NAME).forceUnlock()).toBe(true)
    await lost
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' })
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([
      [CHANNEL, '0'],
      [`holdfast:client:${locks.clientId}`, hold.owner],
    ])
    expect(await hold.release()).toBe('lost')
    expect(await log.take()).toEqual([])
  })

  it('force-release of a free lock: nothing, and no message', async () => {
    expect(await lock.forceUnlock()).toBe(false)
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([])
  })

  it('inspection changes nothing', async () => {
    expect([await lock.isLocked(), await lock.remainTimeToLive(), await lock.getHoldCount()]).toEqual([
      false,
      -2,
      0,
    ])
    expect(await rig.contents()).toEqual({})
    const hold = await lock.acquire()
    expect([await lock.isLocked(), await lock.getHoldCount()]).toEqual([true, 1])
    expect(await lock.isHeldByCurrentContext()).toBe(true)
    await hold.verify()
    await expectHash({ [hold.owner]: '1' })
    expect(await log.take()).toEqual([])
    await hold.release()
  })

  it('release by somebody else: NotLockOwnerError, the holder keeps count and lease, no message', async () => {
    const hold = await lock.acquire()
    const other = await rig.client()
    await expect(other.getLock(NAME).unlock()).rejects.toThrow(NotLockOwnerError)
    await expect(other.thread().getLock(NAME).unlock()).rejects.toThrow(NotLockOwnerError)
    await expect(other.run(() => other.getLock(NAME).unlock())).rejects.toThrow(NotLockOwnerError)
    await expectHash({ [hold.owner]: '1' })
    await expectTtl(LEASE_MS)
    expect(await log.take()).toEqual([])
    await hold.release()
  })

  it('thread ids are never used again: every outermost acquisition has an owner of its own', async () => {
    const owners = new Set<string>()
    for (let i = 0; i < 20; i += 1) {
      await lock.withLock((hold) => owners.add(hold.owner))
    }
    expect(owners.size).toBe(20)
  })
})

describe('together with a Java client', () => {
  // Only messages can end a wait soon: no tick, and no lease that ends.
  const locks = own(() => rig.client({ resyncInterval: 25_000 }))
  const lock = own(() => locks.getLock(NAME))
  const java = own(() => new JavaClient(rig.connection()))

  it('a Java holder excludes us (I1), and shows as the holder', async () => {
    await java.hold(NAME)
    expect(await lock.tryLock()).toBe(false)
    const limited = (await rig.slow()).getLock(NAME)
    expect(await limited.tryAcquire({ waitMs: 1 })).toBeNull()
    await expect(limited.acquire({ waitMs: 1 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      holder: { owner: java.owner, holds: 1 },
    })
    expect(await limited.isLocked()).toBe(true)
    expect(await lock.getHoldCount()).toBe(0)
    await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
    await expectHash({ [java.owner]: '1' })
    await java.unlock(NAME)
  })

  it('a Java unlock wakes our waiter long before the lease would have ended (I4)', async () => {
    await java.hold(NAME, 60_000)
    const waiting = lock.acquire()
    await rig.heard(NAME)
    await java.unlock(NAME)
    const hold = await soon(waiting)
    await expectHash({ [hold.owner]: '1' })
    await hold.release()
  })

  it('our holder excludes a Java acquire, which reads our lease, and our release lets it in', async () => {
    const hold = await lock.acquire({ leaseMs: 60_000 })
    const ttl = await java.acquire(NAME)
    expect(ttl).toBeGreaterThan(57_000)
    expect(ttl).toBeLessThanOrEqual(60_000)
    await expectHash({ [hold.owner]: '1' })
    await hold.release()
    expect(await log.take()).toEqual([[CHANNEL, '0']])
    expect(await java.acquire(NAME)).toBeNull()
    await expectHash({ [java.owner]: '1' })
    await java.unlock(NAME)
  })

  it('our forceUnlock frees what a Java client holds and says so on its channel', async () => {
    await java.hold(NAME)
    expect(await lock.forceUnlock()).toBe(true)
    expect(await rig.contents()).toEqual({})
    expect((await log.take())[0]).toEqual([CHANNEL, '0'])
    expect(await java.acquire(NAME)).toBeNull()
    await java.unlock(NAME)
  })
})

describe('every RETURNS row of every script, by its module', () => {
  const runner = own(() => rig.runner())
  const { acquireAs, releaseAs, force } = plainScripts(() => runner)
  beforeEach(() => rig.atEnd(() => force()))
  const give = (owner: string, holds: number, leaseMs = LEASE_MS) =>
    rig.admin.multi().hset(NAME, owner, holds).pexpire(NAME, leaseMs).exec()

  it('acquire 1: acquired, a free lock', async () => {
    expect(await acquireAs()).toEqual({ kind: 'acquired' })
    await expectHash({ [OWNER]: '1' })
    await expectTtl(LEASE_MS)
  })

  it('acquire 1: acquired, a free lock in spite of an older tombstone, and by a command that leaves one', async () => {
    await rig.admin.set(TOMBSTONE, '1', 'PX', 60_000)
    expect(await acquireAs({ stamp: { sequence: 3, tombstoneThrough: 2 } })).toEqual({ kind: 'acquired' })
    expect(await rig.contents()).toEqual({
      [NAME]: { type: 'hash', value: { [OWNER]: '1' } },
      [TOMBSTONE]: { type: 'string', value: '2' },
    })
    await expectTtl(LEASE_MS)
    await expectTtl(300_000, TOMBSTONE)
  })

  it('acquire 1: acquired, a re-entry', async () => {
    await give(OWNER, 1, 5_000)
    expect(await acquireAs({ holds: 2 })).toEqual({ kind: 'acquired' })
    await expectHash({ [OWNER]: '2' })
    await expectTtl(LEASE_MS)
  })

  it('acquire 2: lost, a re-entry into nothing creates nothing (I6)', async () => {
    expect(await acquireAs({ holds: 2 })).toEqual({ kind: 'lost' })
    expect(await rig.contents()).toEqual({})
  })

  it('acquire 2: lost, a re-entry into what somebody else has', async () => {
    await give(OTHER, 3, 10_000)
    expect(await acquireAs({ holds: 2 })).toEqual({ kind: 'lost' })
    await expectHash({ [OTHER]: '3' })
    await expectTtl(10_000)
  })

  it.each([1, 2])(
    'acquire 3: superseded, sequence %i at a tombstone of 2, whoever has the lock',
    async (sequence) => {
      await rig.admin.set(TOMBSTONE, '2', 'PX', 60_000)
      const stamp = { sequence, tombstoneThrough: 0 }
      expect(await acquireAs({ stamp })).toEqual({ kind: 'superseded' })
      expect(await acquireAs({ stamp, holds: 2 })).toEqual({ kind: 'superseded' })
      expect(await rig.contents()).toEqual({ [TOMBSTONE]: { type: 'string', value: '2' } })
      await give(OTHER, 1)
      expect(await acquireAs({ stamp })).toEqual({ kind: 'superseded' })
      expect(await rig.admin.hgetall(NAME)).toEqual({ [OTHER]: '1' })
    },
  )

  it('acquire {ttl, holder, holds}: somebody else has it', async () => {
    await give(OTHER, 3, 10_000)
    const reply = await acquireAs()
    expect(reply).toEqual({ kind: 'held', ttlMs: expect.any(Number), holder: OTHER, holds: 3 })
    expect((reply as { ttlMs: number }).ttlMs).toBeGreaterThan(7_000)
    await expectHash({ [OTHER]: '3' })
    await expectTtl(10_000)
  })

  it('acquire {-1, holder, holds}: somebody else has it without an end', async () => {
    await rig.admin.hset(NAME, OTHER, '1')
    expect(await acquireAs()).toEqual({ kind: 'held', ttlMs: -1, holder: OTHER, holds: 1 })
    expect(await rig.admin.pttl(NAME)).toBe(-1)
  })

  it('release 1: released', async () => {
    await give(OWNER, 2)
    expect(await releaseAs()).toMatchObject({ kind: 'released' })
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([[CHANNEL, '0']])
  })

  it('release 1: released, and with a tombstone where a copy may be on its way', async () => {
    await give(OWNER, 1)
    expect(await releaseAs({ stamp: { sequence: 2, tombstoneThrough: 1 } })).toMatchObject({
      kind: 'released',
    })
    expect(await rig.contents()).toEqual({ [TOMBSTONE]: { type: 'string', value: '1' } })
    await expectTtl(300_000, TOMBSTONE)
  })

  it('release 2: still held', async () => {
    await give(OWNER, 3, 10_000)
    expect(await releaseAs({ holds: 2 })).toEqual({ kind: 'still-held' })
    await expectHash({ [OWNER]: '2' })
    await expectTtl(10_000)
    expect(await log.take()).toEqual([])
  })

  it('release 3: superseded', async () => {
    await give(OWNER, 3)
    await rig.admin.set(TOMBSTONE, '2', 'PX', 60_000)
    expect(await releaseAs({ holds: 1 })).toEqual({ kind: 'superseded' })
    expect(await rig.admin.hgetall(NAME)).toEqual({ [OWNER]: '3' })
    expect(await log.take()).toEqual([])
  })

  it.each([0, 1])('release 0: not held, nothing there, to keep %i', async (holds) => {
    expect(await releaseAs({ holds })).toEqual({ kind: 'not-held' })
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([])
  })

  it.each([0, 1])('release 0: not held, somebody else has it, to keep %i', async (holds) => {
    await give(OTHER, 2, 10_000)
    expect(await releaseAs({ holds })).toEqual({ kind: 'not-held' })
    await expectHash({ [OTHER]: '2' })
    await expectTtl(10_000)
    expect(await log.take()).toEqual([])
  })

  it('renew: each lock has its own answer, in order, and a longer lease stays (I6)', async () => {
    const owners = [OWNER, OWNER, OWNER, OTHER, OWNER]
    await rig.admin.multi().hset('l0', OWNER, '2').pexpire('l0', 10_000).exec()
    await rig.admin.multi().hset('l1', OTHER, '1').pexpire('l1', 10_000).exec()
    await rig.admin.set('l3', 'not a lock')
    await rig.admin.multi().hset('l4', OWNER, '1').pexpire('l4', 90_000).exec()
    const locks = owners.map((owner, i) => ({ key: `l${i}`, owner }))
    expect(await renew(runner, { locks, leaseMs: LEASE_MS })).toEqual([
      'renewed',
      'lost',
      'lost',
      'lost',
      'renewed',
    ])
    expect(await rig.contents()).toEqual({
      l0: { type: 'hash', value: { [OWNER]: '2' } },
      l1: { type: 'hash', value: { [OTHER]: '1' } },
      l3: { type: 'string', value: 'not a lock' },
      l4: { type: 'hash', value: { [OWNER]: '1' } },
    })
    await expectTtl(LEASE_MS, 'l0')
    await expectTtl(10_000, 'l1')
    await expectTtl(90_000, 'l4')
    expect(await rig.admin.pttl('l3')).toBe(-1)
    expect(await log.take()).toEqual([])
    await rig.admin.del('l0', 'l1', 'l3', 'l4')
  })

  it('force-release: the number of owners that lost it, each told', async () => {
    await rig.admin.hset(NAME, OWNER, '1', OTHER, '2')
    expect(await force()).toEqual({ kind: 'released', owners: 2 })
    expect(await rig.contents()).toEqual({})
    const messages = await log.take()
    expect(messages[0]).toEqual([CHANNEL, '0'])
    expect(messages.slice(1).sort()).toEqual([
      ['holdfast:client:a~1', OWNER],
      ['holdfast:client:b~1', OTHER],
    ])
  })

  it('force-release of one owner: -1 where another has the lock, and the same run says nothing', async () => {
    await rig.admin.hset(NAME, OTHER, '2')
    expect(await force(NAME, OWNER)).toEqual({ kind: 'held-by-another' })
    expect(await rig.admin.hgetall(NAME)).toEqual({ [OTHER]: '2' })
    expect(await log.take()).toEqual([])
    expect(await force(NAME, OTHER)).toEqual({ kind: 'released', owners: 1 })
    expect(await force(NAME, OTHER)).toEqual({ kind: 'not-held' })
    expect(await log.take()).toEqual([
      [CHANNEL, '0'],
      ['holdfast:client:b~1', OTHER],
    ])
  })

  it('force-release 0: nobody had it', async () => {
    expect(await force()).toEqual({ kind: 'not-held' })
    expect(await log.take()).toEqual([])
  })

  it('inspect: owners and holds; -2 without a lock, -1 without an end', async () => {
    const look = () => inspect(runner, { lockName: NAME, key: NAME })
    expect(await look()).toEqual({ ttlMs: -2, holds: new Map() })
    await rig.admin.hset(NAME, OWNER, '1', OTHER, '12')
    const holds = new Map([
      [OWNER, 1],
      [OTHER, 12],
    ])
    // A lock that is not of readers has one owner.
    expect(await look()).toEqual({ ttlMs: -1, holds, isNoLock: true })
    await rig.admin.hdel(NAME, OTHER)
    expect(await look()).toEqual({ ttlMs: -1, holds: new Map([[OWNER, 1]]) })
    await rig.admin.pexpire(NAME, 10_000)
    const { ttlMs } = await look()
    expect(ttlMs).toBeGreaterThan(7_000)
    expect(ttlMs).toBeLessThanOrEqual(10_000)
    await expectHash({ [OWNER]: '1' })
  })
})

describe("ioredis's keyPrefix", () => {
  const prefixed = () => rig.connection({ keyPrefix: 'app:' })

  it('is part of the raw name: the hash at prefix + name, the channel tagged with prefix + name', async () => {
    const locks = await rig.client({}, prefixed())
    const hold = await locks.getLock(NAME).acquire()
    expect(hold.lockName).toBe(NAME)
    await expectHash({ [hold.owner]: '1' }, 'app:order:42')
    await hold.release()
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([['redisson_lock__channel:{app:order:42}', '0']])
  })

  it('re-entry, renewal, extension, inspection and force-release go to the same key', async () => {
    const locks = await rig.client({}, prefixed())
    const lock = locks.getLock(NAME)
    await locks.run(async () => {
      const hold = await lock.lock(20_000)
      await lock.lock()
      await expectHash({ [hold.owner]: '2' }, 'app:order:42')
      await hold.extend(90_000)
      await expectTtl(90_000, 'app:order:42')
      await hold.verify()
      expect(await lock.getHoldCount()).toBe(2)
      await lock.unlock()
      await expectHash({ [hold.owner]: '1' }, 'app:order:42')
      expect(await lock.forceUnlock()).toBe(true)
    })
    expect(await rig.contents()).toEqual({})
  })

  it('two clients with the same prefix exclude and wake each other (I1, I4)', async () => {
    const [one, two] = [
      await rig.client({}, prefixed()),
      await rig.client({ resyncInterval: 25_000 }, prefixed()),
    ]
    const hold = await one.getLock(NAME).acquire({ leaseMs: 60_000 })
    expect(await two.getLock(NAME).tryLock()).toBe(false)
    const waiting = two.getLock(NAME).acquire()
    await rig.heard('app:order:42')
    await hold.release()
    await (await soon(waiting)).release()
  })

  it('clients with other prefixes do not meet', async () => {
    const one = await (await rig.client({}, prefixed())).getLock(NAME).acquire()
    const two = await (await rig.client()).getLock(NAME).acquire()
    expect(Object.keys(await rig.contents())).toEqual(['app:order:42', NAME])
    await Promise.all([one.release(), two.release()])
  })
})
