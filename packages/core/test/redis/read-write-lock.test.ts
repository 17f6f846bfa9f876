import { describe, expect, it } from '@jest/globals'
import { LockClient, LockTimeoutError, SelfDeadlockError, type Hold } from '../../src/index.js'
import { carrierOf, scriptsRunBy } from './support/carrier.js'
import { eventually, signalled, useRig } from './support/rig.js'

// Redisson's own tests of RReadWriteLock assert this (RedissonReadWriteLockTest); it is asserted here of a client for Node,
// and what Holdfast promises beyond: readers that stand back, readers that are woken by a downgrade.

describe('a read-write lock', () => {
  const rig = useRig({ redis: 'all' })
  const settled = { resyncInterval: 20_000 }
  const times = <T>(count: number, make: (i: number) => T): T[] =>
    Array.from({ length: count }, (_, i) => make(i))
  const releaseAll = (holds: readonly Hold[]) => Promise.all(holds.map((hold) => hold.release()))
  const two = async (options = {}): Promise<[LockClient, LockClient]> => [
    await rig.client({ ...settled, ...options }),
    await rig.client({ ...settled, ...options }),
  ]
  const writersThatWait = () => rig.admin.zcard(`holdfast:writers:{${rig.name()}}`)

  it.each([
    ['read', 'read', true],
    ['read', 'write', false],
    ['write', 'read', false],
    ['write', 'write', false],
  ] as const)('held to %s, another may %s: %s (I1)', async (first, second, allowed) => {
    const [one, other] = await two()
    const [mine, theirs] = [one, other].map((locks) => locks.getReadWriteLock(rig.name()))
    const faces = (lock = mine!) => ({ read: lock.readLock(), write: lock.writeLock() })
    const hold = await faces()[first].acquire()
    const second_ = await faces(theirs)[second].tryAcquire()
    expect(second_ !== null).toBe(allowed)
    expect(await faces(theirs)[first].isLocked()).toBe(true)
    await second_?.release()
    await hold.release()
    expect(await faces()[first].isLocked()).toBe(false)
  })

  it('lets in together all readers that wait behind a writer, and wakes them by its release alone (I4)', async () => {
    const [one, other] = await two()
    const writer = await one.getReadWriteLock(rig.name()).writeLock().acquire()
    const lock = other.getReadWriteLock(rig.name())
    let inside = 0
    const [parked, all] = [signalled(), signalled()]
    let waiting = 0
    other.on('waiting', () => (waiting += 1) === 20 && parked.resolve())
    const readers = times(20, () =>
      lock.readLock().withLock(() => {
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
    const other = await LockClient.connect(carrierOf(connection))
    const writer = await (await rig.client()).getReadWriteLock(rig.name()).writeLock().acquire()
    const lock = other.getReadWriteLock(rig.name())
    const parked = signalled()
    let waiting = 0
    other.on('waiting', () => (waiting += 1) === 64 && parked.resolve())
    const readers = times(64, () => lock.readLock().acquire())
    await parked.promise
    await eventually(async () => (await rig.admin.pubsub('NUMSUB', channel()))[1] === 1)
    const scripts = scriptsRunBy(connection)
    await writer.release()
    const holds = await Promise.all(readers)
    // Two batches, and those that came with a message.
    expect(scripts().length).toBeLessThanOrEqual(5)
    await releaseAll(holds)
    await other.close({ graceMs: 0 })
  })

  it('a new reader stands back behind a writer that waits, also one of another client, and comes after it', async () => {
    const [one, other] = await two()
    const [mine, theirs] = [one, other].map((locks) => locks.getReadWriteLock(rig.name()))
    const reading = await mine!.readLock().acquire()
    const order: string[] = []
    const writer = theirs!.writeLock().withLock(() => void order.push('writer'))
    await eventually(async () => (await writersThatWait()) === 1)
    expect(await mine!.readLock().tryAcquire()).toBeNull()
    const reader = mine!.readLock().withLock(() => void order.push('reader'))
    await reading.release()
    await Promise.all([writer, reader])
    expect(order).toEqual(['writer', 'reader'])
  })

  it('readersStandBack: false lets readers join readers, whoever waits', async () => {
    const [one, other] = await two()
    const lock = one.getReadWriteLock(rig.name(), { readersStandBack: false })
    const reading = await lock.readLock().acquire()
    const writer = other.getReadWriteLock(rig.name()).writeLock().acquire()
    await eventually(async () => (await writersThatWait()) === 1)
    const joined = await lock.readLock().tryAcquire()
    expect(joined).not.toBeNull()
    await releaseAll([reading, joined!])
    await (await writer).release()
  })

  it('a caller that reads may read again, and so may what was forked from it, while a writer waits', async () => {
    const [one, other] = await two()
    const lock = one.getReadWriteLock(rig.name()).readLock()
    await one.run(async () => {
      const hold = await lock.acquire()
      const writer = other.getReadWriteLock(rig.name()).writeLock().acquire()
      await eventually(async () => (await writersThatWait()) === 1)
      await lock.withLock(async () => expect(await lock.getHoldCount()).toBe(2))
      await one.fork(() => lock.withLock(() => undefined))
      await one.fork(() => one.fork(() => lock.withLock(() => undefined)))
      await hold.release()
      await (await writer).release()
    })
  })

  it('a local writer in between does not keep a forked reader of a reader waiting', async () => {
    const locks = await rig.client(settled)
    const lock = locks.getReadWriteLock(rig.name())
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
    const [one, other] = await two()
    const lock = one.getReadWriteLock(rig.name())
    const reading = await lock.readLock().acquire()
    const giveUp = new AbortController()
    const writer = other.getReadWriteLock(rig.name()).writeLock().acquire({ signal: giveUp.signal })
    await eventually(async () => (await writersThatWait()) === 1)
    const reader = lock.readLock().acquire()
    giveUp.abort(new Error('enough'))
    await expect(writer).rejects.toThrow('enough')
    await releaseAll([await reader, reading])
    expect(await writersThatWait()).toBe(0)
  })

  it('a writer whose client died keeps readers back no longer than its entry lives', async () => {
    const locks = await rig.client({ resyncInterval: 100 })
    const lock = locks.getReadWriteLock(rig.name())
    const reading = await lock.readLock().acquire()
    // A writer whose client is gone leaves this.
    const soon = Math.floor(Number((await rig.admin.time())[0]) * 1000) + 1_400
    await rig.admin.zadd(`holdfast:writers:{${rig.name()}}`, soon, 'gone~1:1:write')
    await rig.admin.pexpire(`holdfast:writers:{${rig.name()}}`, 5_000)
    expect(await lock.readLock().tryAcquire()).toBeNull()
    await releaseAll([await lock.readLock().acquire({ waitMs: 4_000 }), reading])
    await rig.admin.del(`holdfast:writers:{${rig.name()}}`)
  })

  it('neither side keeps the other out: readers and writers that never stop both get their turns', async () => {
    const [one, other] = await two({ resyncInterval: 1_000 })
    const counts = { read: 0, write: 0 }
    const done = signalled()
    const flow = async (locks: LockClient, mode: 'read' | 'write'): Promise<void> => {
      const lock = locks.getReadWriteLock(rig.name())
      while (counts.read < 100 || counts.write < 20) {
        await (mode === 'read' ? lock.readLock() : lock.writeLock()).withLock(() => void (counts[mode] += 1))
      }
      done.resolve()
    }
    const flows = [one, other].flatMap((locks) => [
      ...times(4, () => flow(locks, 'read')),
      ...times(2, () => flow(locks, 'write')),
    ])
    await Promise.all(flows)
    expect(counts.write).toBeGreaterThanOrEqual(20)
  })

  it('from read to write: a try and a limited wait are refused, an endless one is refused at once', async () => {
    const locks = await rig.client()
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
      expect(await lock.writeLock().tryLock(80)).toBe(false)
      expect(await lock.writeLock().tryAcquire({ waitMs: 80 })).toBeNull()
      const failure: unknown = await lock
        .writeLock()
        .acquire({ waitMs: 80 })
        .catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(LockTimeoutError)
      expect((failure as LockTimeoutError).waitedMs).toBeGreaterThanOrEqual(80)
      expect((failure as LockTimeoutError).holder?.owner).toBe(hold.owner)
      await expect(locks.fork(() => lock.writeLock().lock())).rejects.toThrow(SelfDeadlockError)
      expect(await locks.fork(() => lock.writeLock().tryLock())).toBe(false)
      await expect(locks.fork(() => lock.writeLock().acquire({ waitMs: 50 }))).rejects.toThrow(
        LockTimeoutError,
      )
      hold.ensure()
      expect(await hold.release()).toBe('released')
      expect(await lock.writeLock().tryLock()).toBe(true)
      await lock.writeLock().unlock()
    })
  })

  it('a limited wait for the write lock gets it when its own context releases the read lock', async () => {
    const locks = await rig.client()
    const lock = locks.getReadWriteLock(rig.name())
    const waiting = signalled()
    locks.on('waiting', () => waiting.resolve())
    await locks.run(async () => {
      const reading = await lock.readLock().acquire()
      const writing = lock.writeLock().acquire({ waitMs: 20_000 })
      await waiting.promise
      // It passes its own writer, who waits for it.
      expect(await lock.readLock().tryLock()).toBe(true)
      await lock.readLock().unlock()
      expect(await reading.release()).toBe('released')
      await releaseAll([await writing])
    })
  })

  const channel = () => `redisson_rwlock:{${rig.name()}}`
})
