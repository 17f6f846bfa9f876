import { describe, expect, it } from '@jest/globals'
import type { AnyLock, LockClient, LockTimeoutError } from '../../../src/index.js'
import type { ScriptRunner } from '../../../src/redis/script-runner.js'
import { acquire, releaseCall } from '../../../src/scripts/lock.js'
import { outcomeOf } from '../support/outcomes.js'
import { JavaClient } from '../support/java-client.js'
import { lockKinds } from '../support/lock-kinds.js'
import { eventually, own, sleep, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'

// A client with `describeHolds` notes its holds, and others hear of it.

const NAME = 'order:42'
const NOTE = 'holdfast:note:{order:42}'
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const DAY_MS = 86_400_000
// Redis is asked a little before or after.
const SLACK_MS = 3_000

const rig = useRig()
const warnings = useWarnings()
const locks = own(() => rig.client({ clientName: 'orders', describeHolds: () => TRACE }))
const others = own(() => rig.client({ clientName: 'others' }))

const noted = lockKinds.filter(({ name }) => name !== 'read lock')

/** Who keeps a client out. */
const refusal = async (lock: AnyLock): Promise<LockTimeoutError> =>
  (await outcomeOf(lock.acquire({ waitMs: 0 }))) as LockTimeoutError

const note = () => rig.admin.get(NOTE)

describe.each(noted)('$name: a note', (kind) => {
  const lockOf = (client: LockClient): AnyLock => kind.of(client, NAME)

  it('is there while it is held, in Redis time, and tells whoever is refused since when and for what', async () => {
    const [from] = await rig.admin.time()
    const hold = await lockOf(locks).acquire()
    const [, at, traceparent, owner] = /^(\d+) (\S+) (.*)$/.exec((await note()) ?? '') ?? []
    expect(Number(at)).toBeGreaterThanOrEqual(Number(from) * 1_000)
    expect(Number(at)).toBeLessThan(Number(from) * 1_000 + SLACK_MS)
    expect(traceparent).toBe(TRACE)
    expect(await rig.admin.hkeys(NAME)).toContain(owner)
    expect(await rig.admin.pttl(NOTE)).toBeGreaterThan(DAY_MS - SLACK_MS)
    await sleep(30)
    const { holder, message } = await refusal(lockOf(others))
    expect(holder).toMatchObject({ owner, clientName: 'orders', traceparent, holds: 1 })
    expect(holder?.threadId).toMatch(/^\d+$/)
    expect(holder?.heldForMs).toBeGreaterThanOrEqual(28)
    expect(holder?.heldForMs).toBeLessThan(SLACK_MS)
    expect(message).toMatch(
      /: orders \(thread \d+\) has held it for \d+(\.\d)? m?s, \d+(\.\d)? s of lease left/,
    )
    await hold.release()
    expect(await note()).toBeNull()
  })

  it('a note of a fixed lease ends with it', async () => {
    const hold = await lockOf(locks).acquire({ leaseMs: 5_000 })
    await rig.expectTtl(NOTE, 5_000)
    await hold.release()
    expect(await note()).toBeNull()
  })

  it('a note of an earlier holder is not taken for that of the holder, and goes with the next one', async () => {
    await (await lockOf(locks).acquire()).release()
    await rig.admin.set(NOTE, `1 ${TRACE} stranger~1:7`)
    const theirs = await lockOf(others).acquire()
    const { holder } = await refusal(lockOf(locks))
    expect(holder?.clientName).toBe('others')
    expect(holder).not.toHaveProperty('heldForMs')
    expect(holder).not.toHaveProperty('traceparent')
    await theirs.release()
    // A client without notes does not look for any.
    expect(await note()).toMatch(/stranger/)
    await (await lockOf(locks).acquire()).release()
    expect(await note()).toBeNull()
  })

  it('goes with a forced release, too', async () => {
    await lockOf(locks).acquire()
    await lockOf(others).forceUnlock()
    expect(await note()).toBeNull()
  })
})

describe('a note', () => {
  it('keeps its time when the lock is re-entered, and lives as long as the longest level', async () => {
    await locks.run(async () => {
      const lock = locks.getLock(NAME)
      const outer = await lock.acquire({ leaseMs: 5_000 })
      const first = await note()
      const inner = await lock.acquire()
      expect(await note()).toBe(first)
      expect(await rig.admin.pttl(NOTE)).toBeGreaterThan(DAY_MS - SLACK_MS)
      await inner.release()
      expect(await note()).toBe(first)
      await outer.release()
    })
    expect(await note()).toBeNull()
  })

  it('is not made by a re-entry: nobody knows since when', async () => {
    await locks.run(async () => {
      const outer = await locks.getLock(NAME).acquire()
      await rig.admin.del(NOTE)
      const inner = await locks.getLock(NAME).acquire()
      expect(await note()).toBeNull()
      await inner.release()
      await outer.release()
    })
  })

  it('without a trace: true, or a function that tells none', async () => {
    for (const describeHolds of [true, () => undefined]) {
      const client = await rig.client({ describeHolds })
      const hold = await client.getLock(NAME).acquire()
      expect(await note()).toMatch(/^\d+ - .*:\d+$/)
      const { holder } = await refusal(others.getLock(NAME))
      expect(holder?.heldForMs).toBeGreaterThanOrEqual(0)
      expect(holder).not.toHaveProperty('traceparent')
      await hold.release()
    }
  })

  it('a function that throws, or tells what is no traceparent, warns and keeps nobody from the lock', async () => {
    const answers = [
      () => {
        throw new Error('no tracer')
      },
      () => 'x y',
      () => 7 as unknown as string,
    ]
    for (const describeHolds of answers) {
      const client = await rig.client({ describeHolds })
      const hold = await client.getLock(NAME).acquire()
      expect(await note()).toMatch(/^\d+ - /)
      await hold.release()
    }
    expect(await warnings.delivered('HOLDFAST_LISTENER', 'describeHolds()')).toHaveLength(3)
  })

  it('is asked for once per call, in the async context of its caller, however long that waits', async () => {
    let asked = 0
    const client = await rig.client({
      resyncInterval: 20,
      describeHolds: () => {
        asked += 1
        return TRACE
      },
    })
    const theirs = await others.getLock(NAME).acquire()
    const waiting = client.getLock(NAME).acquire()
    await sleep(100)
    await theirs.release()
    await (await waiting).release()
    expect(asked).toBe(1)
  })

  it('is not that of a Java client which took the lock later, nor of one that has it beside a note', async () => {
    const java = new JavaClient(rig.admin)
    await rig.admin.set(NOTE, `1 ${TRACE} somebody~else:7`, 'PX', 1_000)
    await java.hold(NAME)
    const { holder, message } = await refusal(others.getLock(NAME))
    expect(holder).toEqual({
      owner: java.owner,
      holds: 1,
      leaseLeftMs: expect.any(Number),
      heldForAtLeastMs: expect.any(Number),
    })
    expect(message).toContain(`: ${java.owner} holds it`)
    await java.unlock(NAME)
    await rig.admin.del(NOTE)
  })

  it('is written when Redis is out of memory only with a lock, and removed all the same', async () => {
    const hold = await locks.getLock(NAME).acquire()
    await rig.outOfMemory(async () => {
      expect(await outcomeOf(locks.getLock('another').acquire())).toMatchObject({ outcome: 'refused' })
      expect(await hold.release()).toBe('released')
    })
    expect(await rig.admin.keys('*')).toEqual([])
  })

  it('is made and removed in batches, beside items that have none', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `order:${i}`)
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    expect(await rig.admin.keys('holdfast:note:*')).toHaveLength(40)
    const reads = names.map((name) => locks.getReadWriteLock(`read ${name}`).readLock())
    const [readers] = await Promise.all([
      Promise.all(reads.map((lock) => lock.acquire())),
      ...holds.map((hold) => hold.release()),
    ])
    expect(await rig.admin.keys('holdfast:note:*')).toEqual([])
    await Promise.all(readers.map((hold) => hold.release()))
  })

  it('a reader leaves no note', async () => {
    const hold = await locks.getReadWriteLock(NAME).readLock().acquire()
    expect(await note()).toBeNull()
    await hold.release()
  })
})

describe('the scripts (I2)', () => {
  const OWNER = 'orders~1:1'
  const LINE = 'holdfast:line:{order:42}'
  const base = { lockName: NAME, key: NAME, tombstoneKey: `holdfast:latch:{order:42}:${OWNER}`, owner: OWNER }
  const wanted = { ttlMs: 10_000, traceparent: TRACE }
  const stamp = (sequence: number, tombstoneThrough = 0) => ({ sequence, tombstoneThrough })
  const acquireFirst = (runner: ScriptRunner) =>
    acquire(runner, { ...base, holds: 1, leaseMs: 30_000, stamp: stamp(1), note: wanted })
  const releaseAll = (runner: ScriptRunner, tombstoneThrough = 0) => {
    const command = { ...base, queueKey: LINE, channel: null, holds: 0, isNoted: true }
    return runner.run(releaseCall(runner, { ...command, stamp: stamp(2, tombstoneThrough) }))
  }

  it('an acquire that runs again keeps the time of the first; a release that runs again finds nothing', async () => {
    const runner = rig.runner()
    expect((await acquireFirst(runner)).kind).toBe('acquired')
    const first = await note()
    await sleep(20)
    expect((await acquireFirst(runner)).kind).toBe('acquired')
    expect(await note()).toBe(first)
    expect((await releaseAll(runner)).kind).toBe('released')
    expect((await releaseAll(runner)).kind).toBe('not-held')
    expect(await rig.admin.keys('*')).toEqual([])
  })

  it('a copy of an acquire that comes after the tombstone makes neither a lock nor a note', async () => {
    const runner = rig.runner()
    await releaseAll(runner, 1)
    const late = await acquireFirst(runner)
    expect(late.kind).toBe('superseded')
    expect(await rig.admin.exists(NAME, NOTE)).toBe(0)
  })

  it('a release that comes late leaves the note of whoever has the lock then', async () => {
    const runner = rig.runner()
    const hold = await locks.getLock(NAME).acquire()
    const theirs = await note()
    await releaseAll(runner)
    expect(await note()).toBe(theirs)
    await hold.release()
  })

  it('the note of a holder that lost the lock goes with the release of that holder', async () => {
    const runner = rig.runner()
    await acquireFirst(runner)
    await rig.admin.del(NAME)
    await releaseAll(runner)
    expect(await note()).toBeNull()
  })
})

describe('without describeHolds nothing more is done than before', () => {
  const commandsOf = async (work: () => Promise<unknown>): Promise<Record<string, number>> =>
    Object.fromEntries(await rig.commandsDuring(work))

  it('an acquire and a release run these commands', async () => {
    const lock = others.getLock(NAME)
    await lock.withLock(() => undefined)
    expect(await commandsOf(async () => (await lock.acquire()).release())).toEqual({
      evalsha: 2,
      exists: 1,
      zcard: 1,
      hset: 1,
      pexpire: 1,
      hdel: 1,
      publish: 1,
    })
  })

  it('a caller that is refused makes one round trip, whether the hold is noted or not', async () => {
    for (const client of [others, locks]) {
      const hold = await client.getLock(NAME).acquire()
      const commands = await commandsOf(() => others.getLock(NAME).tryAcquire())
      expect(commands).toMatchObject({ evalsha: 1, get: 2, hgetall: 1, pttl: 1 })
      expect(commands).not.toHaveProperty('eval')
      expect(commands.time ?? 0).toBe(client === locks ? 1 : 0)
      await hold.release()
    }
  })

  it('each call is one round trip with describeHolds, too', async () => {
    const lock = locks.getLock(NAME)
    await lock.withLock(() => undefined)
    const commands = await commandsOf(async () => (await lock.acquire()).release())
    expect(commands).toMatchObject({ evalsha: 2, time: 1, set: 1 })
    await eventually(async () => (await note()) === null)
  })
})
