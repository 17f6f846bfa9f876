import { describe, expect, it } from '@jest/globals'
import { LockLostError, SelfDeadlockError } from '../../src/index.js'
import { eventually, signalled, useRig } from './support/rig.js'

describe('from write to read', () => {
  const rig = useRig({ redis: 'all' })
  const settled = { resyncInterval: 20_000 }

  it('keeps others out until the write lock goes, then lets readers in and no writer, by message (I1, I4)', async () => {
    const [one, other] = [await rig.client(settled), await rig.client(settled)]
    const [mine, theirs] = [one, other].map((locks) => locks.getReadWriteLock(rig.name()))
    await one.run(async () => {
      const write = await mine!.writeLock().acquire()
      const read = await mine!.readLock().acquire()
      expect(read.owner).not.toBe(write.owner)
      expect(await theirs!.readLock().tryLock()).toBe(false)
      const parked = signalled()
      other.on('waiting', () => parked.resolve())
      const reader = theirs!.readLock().acquire()
      await parked.promise
      await write.release()
      await (await reader).release()
      expect(await theirs!.writeLock().tryLock()).toBe(false)
      expect(await mine!.readLock().isHeldByCurrentContext()).toBe(true)
      expect(await mine!.writeLock().isLocked()).toBe(false)
      expect(await read.release()).toBe('released')
    })
    const after = await theirs!.writeLock().acquire()
    await after.release()
  })

  it('an inner read unlock keeps the write lock, and its lease', async () => {
    const locks = await rig.client()
    const lock = locks.getReadWriteLock(rig.name())
    await locks.run(async () => {
      await lock.writeLock().lock(20_000)
      await lock.readLock().lock(1_000)
      await lock.readLock().unlock()
      expect(await lock.writeLock().isHeldByCurrentContext()).toBe(true)
      expect(await lock.writeLock().remainTimeToLive()).toBeGreaterThan(15_000)
      await lock.writeLock().unlock()
    })
  })

  it('re-entry, both ways: counts of each are their own (I2)', async () => {
    const locks = await rig.client()
    const lock = locks.getReadWriteLock(rig.name())
    await locks.run(async () => {
      await lock.writeLock().lock()
      await lock.writeLock().lock()
      await lock.readLock().lock()
      await lock.readLock().lock()
      await lock.readLock().lock()
      expect([await lock.writeLock().getHoldCount(), await lock.readLock().getHoldCount()]).toEqual([2, 3])
      await lock.writeLock().unlock()
      await lock.writeLock().unlock()
      expect([await lock.writeLock().getHoldCount(), await lock.readLock().getHoldCount()]).toEqual([0, 3])
      await lock.readLock().unlock()
      await lock.readLock().unlock()
      await lock.readLock().unlock()
    })
  })

  it('two read locks at the same time inside one write lock are two owners, neither loses a count (I2)', async () => {
    const locks = await rig.client()
    const lock = locks.getReadWriteLock(rig.name())
    await lock.writeLock().withLock(async () => {
      const readers = await Promise.all([
        lock.readLock().withLock((hold) => hold.owner),
        lock.readLock().withLock((hold) => hold.owner),
      ])
      expect(new Set(readers).size).toBe(2)
      expect(await lock.readLock().isLocked()).toBe(false)
    })
  })

  it('what was forked from a writer cannot read, and is told so at once', async () => {
    const locks = await rig.client()
    const lock = locks.getReadWriteLock(rig.name())
    await lock.writeLock().withLock(async () => {
      await expect(locks.fork(() => lock.readLock().lock())).rejects.toThrow(SelfDeadlockError)
      expect(await locks.fork(() => lock.readLock().tryLock())).toBe(false)
    })
  })

  it('reads and holds are renewed before and after (I3)', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 600 })
    const lock = locks.getReadWriteLock(rig.name())
    await locks.run(async () => {
      const write = await lock.writeLock().acquire()
      const read = await lock.readLock().acquire()
      const keys = () => rig.admin.keys(`{${rig.name()}}:*:rwlock_timeout:1`)
      const renewed = async (): Promise<void> => {
        const [key = ''] = await keys()
        await rig.admin.pexpire(key, 250)
        await eventually(async () => (await rig.admin.pttl(key)) > 400)
      }
      await renewed()
      await write.release()
      await renewed()
      read.ensure()
      await read.release()
      expect(await keys()).toEqual([])
    })
  })

  it('a write lock that is lost is told; the read lock beside it goes with the key', async () => {
    const locks = await rig.client()
    locks.on('lost', () => undefined)
    const lock = locks.getReadWriteLock(rig.name())
    await locks.run(async () => {
      const write = await lock.writeLock().acquire()
      const read = await lock.readLock().acquire()
      await rig.admin.del(rig.name())
      await expect(write.verify()).rejects.toThrow(LockLostError)
      await expect(read.verify()).rejects.toThrow(LockLostError)
      expect([await write.release(), await read.release()]).toEqual(['lost', 'lost'])
    })
    await rig.admin.del(...(await rig.admin.keys(`{${rig.name()}}:*`)))
  })
})
