import { describe, expect, it } from '@jest/globals'
import { LockLostError } from '../../../src/index.js'
import { eventually, own, useRig } from '../support/rig.js'
import { lostAt, nextEvent, renewed } from '../support/outcomes.js'
import { JavaReader } from '../support/java-readers.js'
import { MessageLog } from '../support/message-log.js'

describe('a read-write lock on the wire', () => {
  const rig = useRig({ redis: 'all' })
  const settled = { resyncInterval: 20_000 }
  const locks = own(() => rig.client())
  const lock = own(() => locks.getReadWriteLock(rig.name()))
  const java = own(() => new JavaReader(rig.admin, rig.name()))
  const stateOf = async () => ({
    hash: await rig.admin.hgetall(rig.name()),
    keys: (await rig.admin.keys(`*${rig.name()}*`)).sort(),
  })
  const channel = () => `redisson_rwlock:{${rig.name()}}`
  const timeout = (owner: string, hold: number) => `{${rig.name()}}:${owner}:rwlock_timeout:${hold}`

  it('reads as Redisson does: mode, owner, one time-out key of value 1 per hold, 0 when the last one goes', async () => {
    const reader = lock.readLock()
    const log = await MessageLog.open(rig.connection(), rig.admin, rig.name())
    await locks.run(async () => {
      const outer = await reader.acquire({ leaseMs: 20_000 })
      const inner = await reader.acquire({ leaseMs: 60_000 })
      const { owner } = outer
      expect(await stateOf()).toEqual({
        hash: { mode: 'read', [owner]: '2' },
        keys: [rig.name(), timeout(owner, 1), timeout(owner, 2)].sort(),
      })
      expect(await rig.admin.mget(timeout(owner, 1), timeout(owner, 2))).toEqual(['1', '1'])
      expect(await rig.admin.pttl(timeout(owner, 2))).toBeGreaterThan(50_000)
      expect(await rig.admin.pttl(rig.name())).toBeGreaterThan(50_000)
      await inner.release()
      expect((await stateOf()).keys).toEqual([rig.name(), timeout(owner, 1)].sort())
      await outer.release()
      expect(await stateOf()).toEqual({ hash: {}, keys: [] })
    })
    expect(await log.take()).toEqual([[channel(), '0']])
  })

  it('writes as Redisson does: the owner ends with :write, 1 is published, and 1 also when it reads on', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin, rig.name())
    await locks.run(async () => {
      const write = await lock.writeLock().acquire()
      expect(write.owner).toMatch(/:\d+:write$/)
      expect(await stateOf()).toEqual({ hash: { mode: 'write', [write.owner]: '1' }, keys: [rig.name()] })
      const read = await lock.readLock().acquire()
      await write.release()
      expect((await stateOf()).hash).toEqual({ mode: 'read', [read.owner]: '1' })
      expect(await log.take()).toEqual([
        [channel(), '1'],
        [channel(), '00'],
      ])
      await read.release()
    })
    expect(await log.take()).toEqual([[channel(), '0']])
  })

  it.each([
    ['wakes readers if the other one in the set has died', -1, ['1', '00']],
    ['wakes nobody while another one waits', 50_000, []],
  ])('a writer that gives up %s (I4)', async (_, othersLifeMs, messages) => {
    const writers = `holdfast:writers:{${rig.name()}}`
    const lock = (await rig.client(settled)).getReadWriteLock(rig.name())
    const reading = await lock.readLock().acquire()
    const giveUp = new AbortController()
    const writer = lock.writeLock().acquire({ signal: giveUp.signal })
    await eventually(async () => (await rig.admin.zcard(writers)) === 1)
    await rig.admin.zadd(writers, (await rig.now()) + othersLifeMs, 'other~1:1:write')
    const log = await MessageLog.open(rig.connection(), rig.admin, rig.name())
    giveUp.abort(new Error('enough'))
    await expect(writer).rejects.toThrow('enough')
    await eventually(async () => (await rig.admin.zcard(writers)) === 1)
    expect(await log.take()).toEqual(messages.map((message) => [channel(), message]))
    await reading.release()
    await rig.admin.del(writers)
  })

  it('a Java reader and ours read together; the first to go leaves the other its lease', async () => {
    expect(await java.read(10_000)).toBeNull()
    const ours = await lock.readLock().acquire({ leaseMs: 60_000 })
    expect(await lock.writeLock().tryLock()).toBe(false)
    await ours.release()
    await rig.expectTtl(rig.name(), 10_000)
    const again = await lock.readLock().acquire()
    await java.unlockRead()
    expect((await stateOf()).hash).toEqual({ mode: 'read', [again.owner]: '1' })
    await again.verify()
    await again.release()
  })

  it('a reader beside one with a longer lease has its own: verify adds no trust, and says lost when it is over (I3)', async () => {
    const [one, other] = [await rig.client(), await rig.client()]
    const lock = one.getReadWriteLock(rig.name()).readLock()
    const longer = await other.getReadWriteLock(rig.name()).readLock().acquire({ leaseMs: 60_000 })
    const hold = await lock.acquire({ leaseMs: 5_000 })
    await hold.verify()
    expect(hold.trustedForMs).toBeGreaterThan(0)
    expect(hold.trustedForMs).toBeLessThan(5_000)
    await rig.admin.persist(timeout(hold.owner, 1))
    await hold.verify()
    expect(hold.trustedForMs).toBeLessThan(5_000)
    await rig.admin.del(timeout(hold.owner, 1))
    await expect(hold.verify()).rejects.toThrow(LockLostError)
    expect(await hold.release()).toBe('lost')
    await longer.verify()
    await longer.release()
  })

  it('Java excludes our writer and is excluded by it; its unlocks wake ours (I1, I4)', async () => {
    const locks = await rig.client(settled)
    const lock = locks.getReadWriteLock(rig.name())
    for (const [take, free] of [
      [() => java.read(), () => java.unlockRead()],
      [() => java.write(), () => java.unlockWrite()],
    ] as const) {
      expect(await take()).toBeNull()
      const parked = nextEvent(locks, 'waiting')
      const write = lock.writeLock().acquire()
      await parked
      await free()
      const hold = await write
      expect(await java.read()).toBeGreaterThan(0)
      expect(await java.write()).toBeGreaterThan(0)
      await hold.release()
    }
  })

  it('a dead reader is not kept alive by a living one: the writer comes when that has gone', async () => {
    const [one, other] = [await rig.client(settled), await rig.client(settled)]
    // Dead: its time-out key has run out, its field is there as long as others renew the lock.
    await java.read(30_000)
    const living = await one.getReadWriteLock(rig.name()).readLock().acquire()
    await rig.admin.del(timeout(java.owner, 1))
    const parked = nextEvent(other, 'waiting')
    const writer = other.getReadWriteLock(rig.name()).writeLock().acquire()
    await parked
    await living.release()
    await (await writer).release()
  })

  it('a dead reader of a client that crashed keeps a writer out for its lease, and no longer', async () => {
    const [one, other] = [await rig.client({ lockWatchdogTimeout: 3_000 }), await rig.client()]
    await java.read(400)
    const living = await one.getReadWriteLock(rig.name()).readLock().acquire()
    await eventually(async () => (await rig.admin.exists(timeout(java.owner, 1))) === 0)
    await renewed(living)
    await living.release()
    // Not for the lease that the living one has renewed.
    expect(await rig.admin.exists(rig.name())).toBe(0)
    await (await other.getReadWriteLock(rig.name()).writeLock().acquire()).release()
  })

  it('a reader that is left by a writer has the lock for its own lease, and dead it has not (I1)', async () => {
    const [one, other] = [await rig.client(settled), await rig.client()]
    const [mine, theirs] = [one, other].map((locks) => locks.getReadWriteLock(rig.name()))
    const downgrade = (): Promise<void> =>
      one.run(async () => {
        const write = await mine!.writeLock().acquire({ leaseMs: 60_000 })
        const read = await mine!.readLock().acquire({ leaseMs: 20_000 })
        await beforeRelease(read.owner)
        await write.release()
      })
    let beforeRelease: (reader: string) => unknown = () => undefined
    await downgrade()
    expect(await rig.admin.pttl(rig.name())).toBeLessThanOrEqual(20_000)
    await rig.admin.del((await stateOf()).keys)
    // Dead: its time-out key has run out.
    beforeRelease = (reader) => rig.admin.del(timeout(reader, 1))
    await downgrade()
    expect(await theirs!.writeLock().tryLock()).toBe(true)
    await theirs!.writeLock().unlock()
  })

  it('a dead writer keeps everybody out for its lease', async () => {
    await java.write(400)
    const read = await lock.readLock().acquire({ waitMs: 3_000 })
    expect(read.owner in (await stateOf()).hash).toBe(true)
    await read.release()
  })

  it('a foreign reader without time-out keys goes with the last reader that has some', async () => {
    await rig.admin.hset(rig.name(), 'mode', 'read', 'somebody:1', '1')
    await rig.admin.pexpire(rig.name(), 30_000)
    expect(await lock.writeLock().tryLock()).toBe(false)
    const read = await lock.readLock().acquire()
    await read.release()
    expect(await lock.writeLock().tryLock()).toBe(true)
    await lock.writeLock().unlock()
  })

  it('force unlock frees its own mode alone, and tells the holders', async () => {
    const [one, other] = [await rig.client(), await rig.client()]
    one.on('lost', () => undefined)
    const [mine, theirs] = [one, other].map((locks) => locks.getReadWriteLock(rig.name()))
    const read = await mine!.readLock().acquire()
    expect(await theirs!.writeLock().forceUnlock()).toBe(false)
    const told = lostAt(read)
    expect(await theirs!.readLock().forceUnlock()).toBe(true)
    await told
    expect((read.signal.reason as LockLostError).reason).toBe('forced')
    await rig.admin.del(timeout(read.owner, 1))
    const write = await mine!.writeLock().acquire()
    expect(await theirs!.readLock().forceUnlock()).toBe(false)
    expect(await mine!.writeLock().forceUnlock()).toBe(true)
    expect(await write.release()).toBe('lost')
  })

  it('a hash without a mode is somebody else’s lock: held', async () => {
    const plain = await locks.getLock(rig.name()).acquire()
    expect(await lock.readLock().tryLock()).toBe(false)
    expect(await lock.writeLock().tryLock()).toBe(false)
    await plain.release()
  })
})
