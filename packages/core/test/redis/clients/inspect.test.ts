import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../../src/index.js'
import { outcomeOf } from '../support/outcomes.js'
import { JavaClient } from '../support/java-client.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const rig = useRig()
const locks = own(() => rig.client({ clientName: 'orders', describeHolds: () => TRACE }))
const others = own(() => rig.client({ clientName: 'others' }))

describe('inspect()', () => {
  it.each([
    ['lock', () => others.getLock(NAME)],
    ['fair', () => others.getFairLock(NAME)],
    ['fenced', () => others.getFencedLock(NAME)],
    ['spin', () => others.getSpinLock(NAME)],
    ['non-reentrant', () => others.getNonReentrantLock(NAME)],
    ['read-write', () => others.getReadWriteLock(NAME).readLock()],
  ] as const)('%s: null while nobody has it, and nothing is left by asking', async (_, lockOf) => {
    expect(await lockOf().inspect()).toBeNull()
    expect(await rig.admin.keys('*')).toEqual([])
  })

  it.each([
    ['reentrant', (client: LockClient) => client.getLock(NAME)],
    ['spin', (client: LockClient) => client.getSpinLock(NAME)],
    ['non-reentrant', (client: LockClient) => client.getNonReentrantLock(NAME)],
  ] as const)('%s: who has it, since when, for what, and for how long still', async (kind, lockOf) => {
    const hold = await lockOf(locks).acquire()
    const inspection = await lockOf(others).inspect()
    const [holder] = inspection?.holders ?? []
    expect(inspection).toEqual({
      name: NAME,
      kind,
      mode: undefined,
      holders: [holder],
      leaseLeftMs: holder?.leaseLeftMs,
      waiting: undefined,
      token: undefined,
    })
    expect(holder).toEqual({
      owner: hold.owner,
      clientName: 'orders',
      threadId: /\d+$/.exec(hold.owner)![0],
      holds: 1,
      leaseLeftMs: expect.any(Number),
      heldForAtLeastMs: holder?.heldForMs,
      heldForMs: expect.any(Number),
      traceparent: TRACE,
    })
    expect(holder?.leaseLeftMs).toBeGreaterThan(25_000)
    await hold.release()
  })

  it('counts re-entries', async () => {
    await locks.run(async () => {
      const lock = locks.getLock(NAME)
      await lock.lock()
      await lock.lock()
      expect((await others.getLock(NAME).inspect())?.holders).toMatchObject([{ holds: 2 }])
      await lock.unlock()
      await lock.unlock()
    })
  })

  it('fair: how many stand in the queue', async () => {
    const hold = await locks.getFairLock(NAME).acquire()
    expect(await others.getFairLock(NAME).inspect()).toMatchObject({ kind: 'fair', waiting: 0 })
    const waits = [others.getFairLock(NAME).acquire(), others.getFairLock(NAME).acquire()]
    await eventually(async () => (await others.getFairLock(NAME).inspect())?.waiting === 2)
    await hold.release()
    await Promise.all(waits.map(async (each) => (await soon(each)).release()))
  })

  it('fenced: the token', async () => {
    const hold = await locks.getFencedLock(NAME).acquire()
    expect(await others.getFencedLock(NAME).inspect()).toMatchObject({ kind: 'fenced', token: hold.token })
    expect((await others.getLock(NAME).inspect())?.token).toBeUndefined()
    await hold.release()
  })

  it('read-write: the mode, all readers, and how many wait to write', async () => {
    const reads = await Promise.all(
      [locks, others].map((client) => client.getReadWriteLock(NAME).readLock().acquire()),
    )
    const writing = others.getReadWriteLock(NAME).writeLock().acquire()
    const lock = others.getReadWriteLock(NAME)
    await eventually(async () => (await lock.inspect())?.waiting === 1)
    const inspection = await lock.inspect()
    expect(inspection).toMatchObject({ kind: 'read-write', mode: 'read' })
    expect(inspection?.holders.map(({ owner }) => owner).sort()).toEqual(
      reads.map(({ owner }) => owner).sort(),
    )
    await Promise.all(reads.map((hold) => hold.release()))
    const write = await soon(writing)
    for (const each of [lock, lock.readLock(), lock.writeLock()]) {
      expect(await each.inspect()).toMatchObject({ mode: 'write', holders: [{ owner: write.owner }] })
    }
    await write.release()
    expect(await lock.inspect()).toBeNull()
  })

  it('a Java client is known by its owner alone', async () => {
    const java = new JavaClient(rig.admin)
    await java.hold(NAME)
    const inspection = await others.getLock(NAME).inspect()
    expect(inspection?.holders).toEqual([
      { owner: java.owner, holds: 1, leaseLeftMs: inspection?.leaseLeftMs, heldForAtLeastMs: 0 },
    ])
    await java.unlock(NAME)
  })

  it('a key without a time to live, and a key of another type', async () => {
    await rig.admin.hset(NAME, 'java:1', '1')
    expect(await others.getLock(NAME).inspect()).toMatchObject({ leaseLeftMs: -1 })
    await rig.admin.del(NAME)
    await rig.admin.set(NAME, 'mine')
    expect(await outcomeOf(others.getLock(NAME).inspect())).toMatchObject({ code: 'WRONG_TYPE', key: NAME })
    await rig.admin.del(NAME)
  })
})
