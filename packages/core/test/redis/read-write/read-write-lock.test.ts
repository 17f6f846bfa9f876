import { describe, expect, it } from '@jest/globals'
import {
  LockLostError,
  LockTimeoutError,
  SelfDeadlockError,
  type Hold,
  type LockClient,
} from '../../../src/index.js'
import { failureOf, nextEvent } from '../support/outcomes.js'
import { scriptsRunBy } from '../support/carrier.js'
import { eventually, own, signalled, soon, useRig } from '../support/rig.js'

// Redisson's own tests of RReadWriteLock assert this (RedissonReadWriteLockTest); it is asserted here of a client for Node,
// and what Holdfast promises beyond: readers that stand back, readers that are woken by a downgrade.

const rig = useRig({ redis: 'all' })
const settled = { resyncInterval: 20_000 }
const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))
const releaseAll = (holds: readonly Hold[]) => Promise.all(holds.map((hold) => hold.release()))
const locks = own(() => rig.client(settled))
const others = own(() => rig.client(settled))
const lock = own(() => locks.getReadWriteLock(rig.name()))
const theirs = own(() => others.getReadWriteLock(rig.name()))
const writersThatWait = () => rig.admin.zcard(`holdfast:writers:{${rig.name()}}`)

const channel = () => `redisson_rwlock:{${rig.name()}}`

describe('a read-write lock', () => {
  it.each([
    ['read', 'read', true],
    ['read', 'write', false],
    ['write', 'read', false],
    ['write', 'write', false],
  ] as const)('held to %s, another may %s: %s (I1)', async (first, second, allowed) => {
    const faces = (of = lock) => ({ read: of.readLock(), write: of.writeLock() })
    const hold = await faces()[first].acquire()
    const second_ = await faces(theirs)[second].tryAcquire()
    expect(second_ !== null).toBe(allowed)
    expect(await faces(theirs)[first].isLocked()).toBe(true)
    await second_?.release()
    await hold.release()
    expect(await faces()[first].isLocked()).toBe(false)
  })

  it('lets in together all readers that wait behind a writer, and wakes them by its release alone (I4)', async () => {
    const writer = await lock.writeLock().acquire()
    let inside = 0
    const [parked, all] = [signalled(), signalled()]
    let waiting = 0
    others.on('waiting', () => (waiting += 1) === 20 && parked.resolve())
    const readers = times(20, () =>
      theirs.readLock().withLock(() => {
        inside += 1
        if (inside === 20) all.resolve()
        return all.promise
      }),
    )
    await parked.promise
    await writer.release()
    await Promise.all(readers)
    expect(inside).toBe(20)
  })

  it('sends the tries of adjacent readers together: at most one script per 32 of them', async () => {
    const connection = rig.connection()
    const other = await rig.client(settled, connection)
    const writer = await lock.writeLock().acquire()
    const many = other.getReadWriteLock(rig.name())
    const parked = signalled()
    let waiting = 0
    other.on('waiting', () => (waiting += 1) === 64 && parked.resolve())
    const readers = times(64, () => many.readLock().acquire())
    await parked.promise
    await eventually(async () => (await rig.listeners(channel())) === 1)
    const scripts = scriptsRunBy(connection)
    await writer.release()
    const holds = await Promise.all(readers)
    // Two batches, and those that came with a message.
    expect(scripts().length).toBeLessThanOrEqual(5)
    await releaseAll(holds)
  })

  it('a new reader stands back behind a writer that waits, also one of another client, and comes after it', async () => {
    const reading = await lock.readLock().acquire()
    const order: string[] = []
    const writer = theirs.writeLock().withLock(() => void order.push('writer'))
    await eventually(async () => (await writersThatWait()) === 1)
    expect(await lock.readLock().tryAcquire()).toBeNull()
    const reader = lock.readLock().withLock(() => void order.push('reader'))
    await reading.release()
    await Promise.all([writer, reader])
    expect(order).toEqual(['writer', 'reader'])
  })

  it('readersStandBack: false lets readers join readers, whoever waits', async () => {
    const joining = locks.getReadWriteLock(rig.name(), { readersStandBack: false })
    const reading = await joining.readLock().acquire()
    const writer = theirs.writeLock().acquire()
    await eventually(async () => (await writersThatWait()) === 1)
    const joined = await joining.readLock().tryAcquire()
    expect(joined).not.toBeNull()
    await releaseAll([reading, joined!])
    await (await writer).release()
  })

  it('a caller that reads may read again, and so may what was forked from it, while a writer waits', async () => {
    const reader = lock.readLock()
    await locks.run(async () => {
      const hold = await reader.acquire()
      const writer = theirs.writeLock().acquire()
      await eventually(async () => (await writersThatWait()) === 1)
      await reader.withLock(async () => expect(await reader.getHoldCount()).toBe(2))
      await locks.fork(() => reader.withLock(() => undefined))
      await locks.fork(() => locks.fork(() => reader.withLock(() => undefined)))
      await hold.release()
      await (await writer).release()
    })
  })

  it('a local writer in between does not keep a forked reader of a reader waiting', async () => {
    await locks.run(async () => {
      const hold = await lock.readLock().acquire()
      const writer = locks.fork(() => lock.writeLock().acquire({ waitMs: 5_000 }), { detached: true })
      await eventually(async () => (await writersThatWait()) === 1)
      await locks.fork(() => lock.readLock().withLock(() => undefined))
      await hold.release()
      await (await writer).release()
    })
  })

  it('a writer that gives up lets the readers behind it in at once, and leaves nothing (I8)', async () => {
    const reading = await lock.readLock().acquire()
    const giveUp = new AbortController()
    const writer = theirs.writeLock().acquire({ signal: giveUp.signal })
    await eventually(async () => (await writersThatWait()) === 1)
    const reader = lock.readLock().acquire()
    giveUp.abort(new Error('enough'))
    await expect(writer).rejects.toThrow('enough')
    await releaseAll([await reader, reading])
    expect(await writersThatWait()).toBe(0)
  })

  it('a writer whose client died keeps readers back no longer than its entry lives', async () => {
    const asking = (await rig.client({ resyncInterval: 100 })).getReadWriteLock(rig.name()).readLock()
    const reading = await asking.acquire()
    // A writer whose client is gone leaves this.
    const livesFor = async (ms: number): Promise<void> => {
      await rig.admin.zadd(`holdfast:writers:{${rig.name()}}`, (await rig.now()) + ms, 'gone~1:1:write')
      await rig.admin.pexpire(`holdfast:writers:{${rig.name()}}`, 60_000)
    }
    await livesFor(50_000)
    expect(await asking.tryAcquire()).toBeNull()
    await livesFor(500)
    await releaseAll([await soon(asking.acquire({ waitMs: 20_000 })), reading])
    await rig.admin.del(`holdfast:writers:{${rig.name()}}`)
  })

  it('neither side keeps the other out: readers and writers that never stop both get their turns', async () => {
    const clients = [await rig.client({ resyncInterval: 1_000 }), await rig.client({ resyncInterval: 1_000 })]
    const counts = { read: 0, write: 0 }
    const done = signalled()
    const flow = async (client: LockClient, mode: 'read' | 'write'): Promise<void> => {
      const shared = client.getReadWriteLock(rig.name())
      while (counts.read < 100 || counts.write < 20) {
        await (mode === 'read' ? shared.readLock() : shared.writeLock()).withLock(
          () => void (counts[mode] += 1),
        )
      }
      done.resolve()
    }
    const flows = clients.flatMap((client) => [
      ...times(4, () => flow(client, 'read')),
      ...times(2, () => flow(client, 'write')),
    ])
    await Promise.all(flows)
    expect(counts.write).toBeGreaterThanOrEqual(20)
  })

  it('from read to write: a try and a limited wait are refused, an endless one is refused at once', async () => {
    const locks = await rig.slow()
    const lock = locks.getReadWriteLock(rig.name())
    await locks.run(async () => {
      const hold = await lock.readLock().acquire()
      for (const ask of [
        () => lock.writeLock().lock(),
        () => lock.writeLock().acquire(),
        () => lock.writeLock().withLock(() => undefined),
      ]) {
        await expect(ask()).rejects.toThrow(SelfDeadlockError)
        await expect(ask()).rejects.toThrow(/read lock cannot become a write lock/)
      }
      expect(await lock.writeLock().tryLock()).toBe(false)
      expect(await lock.writeLock().tryAcquire()).toBeNull()
      expect(await lock.writeLock().tryLock(1)).toBe(false)
      expect(await lock.writeLock().tryAcquire({ waitMs: 1 })).toBeNull()
      const failure = await failureOf(lock.writeLock().acquire({ waitMs: 1 }))
      expect(failure).toBeInstanceOf(LockTimeoutError)
      expect((failure as LockTimeoutError).waitedMs).toBeGreaterThan(0.9)
      expect((failure as LockTimeoutError).holder?.owner).toBe(hold.owner)
      await expect(locks.fork(() => lock.writeLock().lock())).rejects.toThrow(SelfDeadlockError)
      expect(await locks.fork(() => lock.writeLock().tryLock())).toBe(false)
      await expect(locks.fork(() => lock.writeLock().acquire({ waitMs: 1 }))).rejects.toThrow(
        LockTimeoutError,
      )
      hold.ensure()
      expect(await hold.release()).toBe('released')
      expect(await lock.writeLock().tryLock()).toBe(true)
      await lock.writeLock().unlock()
    })
  })

  it('a limited wait for the write lock gets it when its own context releases the read lock', async () => {
    const waiting = nextEvent(locks, 'waiting')
    await locks.run(async () => {
      const reading = await lock.readLock().acquire()
      const writing = lock.writeLock().acquire({ waitMs: 20_000 })
      await waiting
      // It passes its own writer, who waits for it.
      expect(await lock.readLock().tryLock()).toBe(true)
      await lock.readLock().unlock()
      expect(await reading.release()).toBe('released')
      await releaseAll([await writing])
    })
  })
})

describe('from write to read', () => {
  it('keeps others out until the write lock goes, then lets readers in and no writer, by message (I1, I4)', async () => {
    await locks.run(async () => {
      const write = await lock.writeLock().acquire()
      const read = await lock.readLock().acquire()
      expect(read.owner).not.toBe(write.owner)
      expect(await theirs.readLock().tryLock()).toBe(false)
      const parked = nextEvent(others, 'waiting')
      const reader = theirs.readLock().acquire()
      await parked
      await write.release()
      await (await reader).release()
      expect(await theirs.writeLock().tryLock()).toBe(false)
      expect(await lock.readLock().isHeldByCurrentContext()).toBe(true)
      expect(await lock.writeLock().isLocked()).toBe(false)
      expect(await read.release()).toBe('released')
    })
    const after = await theirs.writeLock().acquire()
    await after.release()
  })

  it('an inner read unlock keeps the write lock, and its lease', async () => {
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
    await lock.writeLock().withLock(async () => {
      await expect(locks.fork(() => lock.readLock().lock())).rejects.toThrow(SelfDeadlockError)
      expect(await locks.fork(() => lock.readLock().tryLock())).toBe(false)
    })
  })

  it('reads and holds are renewed before and after (I3)', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 1_800 })
    const lock = locks.getReadWriteLock(rig.name())
    await locks.run(async () => {
      const write = await lock.writeLock().acquire()
      const read = await lock.readLock().acquire()
      const keys = () => rig.admin.keys(`{${rig.name()}}:*:rwlock_timeout:1`)
      const renewed = async (): Promise<void> => {
        const [key = ''] = await keys()
        await rig.admin.pexpire(key, 1_500)
        await eventually(async () => (await rig.admin.pttl(key)) > 1_600)
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
    locks.on('lost', () => undefined)
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
