import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../../src/index.js'
import {
  assertLocked,
  exclusive,
  ticksOf,
  type ExclusiveRun,
  type TickOutcome,
} from '../../../src/entries/schedule/index.js'
import { getElection } from '../../../src/entries/election/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { ManualClock } from '@holdfast/faults/harness'
import { stateOf } from '../support/carrier.js'
import { eventually, own, signalled, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'
import { systemRuntime } from '../../../src/runtime/runtime.js'

describe('exclusive', () => {
  const rig = useRig()
  const locks = own(() => rig.client({ clientName: 'one' }))
  const others = own(() => rig.client({ clientName: 'other' }))
  let name: string
  beforeEach(() => {
    name = rig.name('nightly')
  })

  /** A run that goes on until the test lets it end, and a task of the same kind. */
  const underWay = async (
    tick?: number,
    options: { locks: LockClient; atMostForMs?: number } = { locks },
  ) => {
    const [started, opened] = [signalled<ExclusiveRun>(), signalled()]
    const task = async (run: ExclusiveRun): Promise<string> => {
      started.resolve(run)
      await opened.promise
      return 'report'
    }
    const first = exclusive(name, options, task)({ tick })
    return { first, run: await started.promise, open: opened.resolve, task }
  }
  /** Runs, and gives what it was told of as missed. */
  const runAfter = (client: LockClient, tick: number) =>
    exclusive(name, { locks: client }, ({ missed }) => missed)({ tick })

  const states = async () => (await ticksOf(others, name)).map(({ tick, state }) => [tick.getTime(), state])
  const skipped = (reason: string) => ({ kind: 'skipped', reason })

  it('runs one at a time: who comes second skips, and does not wait', async () => {
    const { first, run, open, task } = await underWay()
    expect(await exclusive(name, { locks: others }, task)()).toEqual(skipped('busy'))
    expect(await exclusive(name, { locks }, task)()).toEqual(skipped('busy'))
    open()
    expect(await first).toEqual({ kind: 'ran', result: 'report', tick: run.tick, missed: [] })
    expect(await locks.getLock(name).isLocked()).toBe(false)
  })

  it('runs each tick once, whichever process comes when: a clock that is late or early changes nothing', async () => {
    const run = (client: LockClient, tick: number): Promise<TickOutcome<number>> =>
      exclusive(name, { locks: client }, (r) => r.tick.getTime())({ tick: new Date(tick) })
    expect(await run(locks, 60_000)).toMatchObject({ kind: 'ran', result: 60_000, missed: [] })
    expect(await run(others, 60_000)).toEqual(skipped('done'))
    expect(await run(others, 180_000)).toMatchObject({ kind: 'ran', missed: [] })
    expect(await run(locks, 120_000)).toEqual(skipped('late'))
    expect(await run(locks, 180_000)).toEqual(skipped('done'))
    expect(await states()).toEqual([
      [60_000, 'done'],
      [120_000, 'missed'],
      [180_000, 'done'],
    ])
  })

  it('reports the ticks that came while a run went on to the next run, and lets it make up for them', async () => {
    const { first, open, task } = await underWay(1_000)
    for (const tick of [2_000, 3_000]) {
      expect(await exclusive(name, { locks: others }, task)({ tick })).toEqual(skipped('busy'))
    }
    open()
    await first
    const seen = await runAfter(others, 4_000)
    expect(seen).toMatchObject({ kind: 'ran', result: [new Date(2_000), new Date(3_000)] })
    // Reported once.
    expect(await runAfter(locks, 5_000)).toMatchObject({ result: [] })
    expect((await states()).map(([, state]) => state)).toEqual(['done', 'missed', 'missed', 'done', 'done'])
  })

  it('runs a tick that somebody has called missed, when nobody has run it after all', async () => {
    const { first, open, task } = await underWay(1_000)
    await exclusive(name, { locks: others }, task)({ tick: 2_000 })
    open()
    await first
    expect(await exclusive(name, { locks }, task)({ tick: 2_000 })).toMatchObject({ kind: 'ran', missed: [] })
    expect(await states()).toEqual([
      [1_000, 'done'],
      [2_000, 'done'],
    ])
  })

  it('begins no other run for atLeastForMs, by the clock of Redis', async () => {
    const limits = { atLeastForMs: 1_000, atMostForMs: 60_000 }
    const run = (client: LockClient) => exclusive(name, { locks: client, ...limits }, () => 'ran')()
    expect(await run(locks)).toMatchObject({ kind: 'ran' })
    expect(await run(others)).toEqual(skipped('too-soon'))
    expect(await locks.getLock(name).isLocked()).toBe(false)
    await eventually(async () => (await run(others)).kind === 'ran')
    const [first, second] = await ticksOf(locks, name)
    expect(second!.from.getTime() - first!.from.getTime()).toBeGreaterThanOrEqual(1_000)
  })

  it('keeps the lock by the watchdog, and cuts the run short after atMostForMs: told before another can begin (I1)', async () => {
    const clock = new ManualClock()
    const slow = await rig.client({ runtime: clock, lockWatchdogTimeout: 60_000 })
    const { first, run, open } = await underWay(1_000, { locks: slow, atMostForMs: 5_000 })
    run.assertLocked()
    const holderWhenTold = signalled<boolean>()
    run.signal.addEventListener('abort', () => holderWhenTold.resolve(run.hold.trustedForMs > 0))
    const advanced = clock.advance(5_000)
    expect(await holderWhenTold.promise).toBe(true)
    await advanced
    expect(run.signal.reason).toMatchObject({ code: 'LOCK_LOST', cause: { message: /atMostForMs/ } })
    expect(() => run.assertLocked()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }))
    await eventually(async () => !(await others.getLock(name).isLocked()))
    expect(await runAfter(others, 2_000)).toMatchObject({ kind: 'ran', result: [] })
    open()
    await expect(first).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'report' })
    expect(await states()).toEqual([
      [1_000, 'lost'],
      [2_000, 'done'],
    ])
  })

  it('tells who ran what, when, and what came of it', async () => {
    await exclusive(name, { locks }, () => undefined)({ tick: 1_000 })
    const failing = exclusive(name, { locks: others }, () => Promise.reject(new TypeError('no paper')))
    await expect(failing({ tick: 2_000 })).rejects.toThrow('no paper')
    const [done, failed] = await ticksOf(locks, name)
    expect(done).toMatchObject({ tick: new Date(1_000), state: 'done', error: undefined })
    expect(done!.owner).toMatch(new RegExp(`^${locks.clientId}:`))
    expect(done!.to!.getTime()).toBeGreaterThanOrEqual(done!.from.getTime())
    expect(failed).toMatchObject({ state: 'failed', error: 'TypeError: no paper' })
    // The next one runs, and was told of no loss: the task itself has failed.
    expect(await runAfter(locks, 3_000)).toMatchObject({ result: [] })
  })

  it('rejects when the lock was lost in the middle, and reports the tick as not finished to the next run', async () => {
    locks.on('lost', () => undefined)
    const { first, run, open } = await underWay(1_000)
    await rig.admin.del(name)
    expect(await runAfter(others, 2_000)).toMatchObject({ result: [new Date(1_000)] })
    open()
    await expect(first).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'report' })
    expect(run.signal).toBeDefined()
    expect(await states()).toEqual([
      [1_000, 'unfinished'],
      [2_000, 'done'],
    ])
  })

  it('notes a result without the lock as lost, also when nobody has begun since', async () => {
    locks.on('lost', () => undefined)
    const work = exclusive(name, { locks }, () => rig.admin.del(name))
    await expect(work({ tick: 1_000 })).rejects.toMatchObject({ code: 'LOCK_LOST', result: 1 })
    expect(await states()).toEqual([[1_000, 'lost']])
  })

  it('is another run when its task triggers it, not a re-entry', async () => {
    const again: Promise<unknown>[] = []
    const nightly = exclusive(name, { locks }, async () => {
      again.push(nightly())
      await Promise.all(again)
    })
    await nightly()
    expect(await Promise.all(again)).toEqual([skipped('busy')])
  })

  it.each([
    ['in microseconds', () => Date.now() * 1_000],
    ['by a clock that is a day ahead', () => Date.now() + 86_400_000],
  ])('refuses a tick %s, which would make all others late for good', async (_how, wrong) => {
    const tick = wrong()
    const nightly = exclusive(name, { locks }, () => 'ran')
    await expect(nightly({ tick })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'tick' })
    await expect(nightly({ tick })).rejects.toThrow(/at most an hour ahead of the clock of Redis/)
    expect(await locks.getLock(name).isLocked()).toBe(false)
    // Neither is it noted where another run goes on.
    const { first, open, task } = await underWay(Date.now())
    expect(await exclusive(name, { locks: others }, task)({ tick })).toEqual(skipped('busy'))
    open()
    await first
    expect(await nightly({ tick: Date.now() + 1_000 })).toMatchObject({ kind: 'ran', missed: [] })
    expect((await states()).map(([, state]) => state)).toEqual(['done', 'done'])
  })

  it('passes over a tick far ahead that an older version has run', async () => {
    const ahead = Date.now() * 1_000
    const entry = { state: 'done', owner: 'gone:1', from: '1', notBefore: '1' }
    await rig.admin.hset(`holdfast:ticks:{${name}}`, ahead, JSON.stringify(entry))
    expect(await exclusive(name, { locks }, () => 'ran')({ tick: Date.now() })).toMatchObject({ kind: 'ran' })
  })

  it('tells the next run of the ticks that came while Redis did not answer', async () => {
    const proxy = await rig.proxy()
    const connection = rig.connection({}, proxy)
    const client = await rig.impatient({ commandTimeout: 400, unavailableTimeoutMs: 400 }, connection)
    const nightly = exclusive(name, { locks: client }, ({ missed }) => missed.map(Number))
    await nightly({ tick: 1_000 })
    proxy.refuse()
    for (const tick of [2_000, 3_000]) {
      await expect(nightly({ tick })).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    }
    proxy.pass()
    await eventually(() => stateOf(connection) === 'ready')
    // Another process runs one of them meanwhile, once no late acquire of the refused calls has the lock any more.
    const elsewhere = exclusive(name, { locks: others }, () => undefined)
    await eventually(async () => (await elsewhere({ tick: 3_000 })).kind === 'ran')
    expect(await nightly({ tick: 4_000 })).toMatchObject({ kind: 'ran', result: [2_000] })
    expect(await nightly({ tick: 5_000 })).toMatchObject({ kind: 'ran', result: [] })
  })

  it('numbers a run without a tick by the clock of Redis, always after those before', async () => {
    await exclusive(name, { locks }, () => undefined)({ tick: Date.now() + 3_600_000 })
    const ahead = (await states())[0]![0] as number
    expect(await exclusive(name, { locks }, (run) => run.tick.getTime())()).toMatchObject({
      result: ahead + 1,
    })
  })

  it('keeps the latest 100 ticks, for 400 days', async () => {
    const nightly = exclusive(name, { locks }, () => undefined)
    for (let tick = 1; tick <= 103; tick += 1) {
      await nightly({ tick })
    }
    expect((await states()).map(([tick]) => tick)).toEqual(Array.from({ length: 100 }, (_, i) => i + 4))
    const days = (await rig.admin.pttl(`holdfast:ticks:{${name}}`)) / 86_400_000
    expect(days).toBeGreaterThan(399)
    expect(days).toBeLessThanOrEqual(400)
  })

  it('assertLocked() holds inside the task and what it calls, and nowhere else', async () => {
    const inside = async (): Promise<void> => {
      await Promise.resolve()
      assertLocked()
      assertLocked(name)
    }
    await exclusive(name, { locks }, inside)()
    expect(() => assertLocked()).toThrow(
      expect.objectContaining({
        ...{ code: 'NOT_LOCK_OWNER', lockName: undefined },
        message:
          'No lock is held by this caller: the call is outside any schedule. Call it in a task of exclusive().',
      }),
    )
    const other = exclusive(name, { locks }, () => assertLocked('another'))
    await expect(other()).rejects.toMatchObject({ code: 'NOT_LOCK_OWNER', lockName: 'another' })
  })

  it.each([
    ['name', ['', {}]],
    ['options', ['a', undefined]],
    ['locks', ['a', { locks: {} }]],
    ['task', ['a', {}, 'later']],
    ['atMostForMs', ['a', { atMostForMs: 0 }]],
    ['atLeastForMs', ['a', { atLeastForMs: -1 }]],
    ['options', ['a', { atleastForMs: 1 }]],
    ['atLeastForMs', ['a', { atLeastForMs: 0.5 }]],
    ['atLeastForMs', ['a', { atLeastForMs: 2, atMostForMs: 1 }]],
  ])('refuses a wrong %s: %j', (argument, [given, options, task = () => undefined]) => {
    const all = typeof options === 'object' ? { locks, ...options } : options
    expect(() => exclusive(given as string, all as never, task as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }),
    )
  })

  it('says which argument comes first where the client and the name are swapped', () => {
    const swapped = { exclusive, getElection, getShare } as unknown as Record<
      string,
      (...args: unknown[]) => void
    >
    expect(() => swapped.exclusive!(locks, name, () => undefined)).toThrow('exclusive(name, { locks }, task)')
    expect(() => swapped.getElection!(name, { locks })).toThrow('getElection(locks, name)')
    expect(() => swapped.getShare!(name, { locks })).toThrow('getShare(locks, name)')
  })

  it.each([-1, 0.5, Number.NaN, new Date('never'), 'noon'])('refuses the tick %s', async (tick) => {
    const nightly = exclusive(name, { locks }, () => undefined)
    await expect((async () => nightly({ tick: tick as number }))()).rejects.toMatchObject({
      argument: 'tick',
    })
  })

  it('refuses what a scheduler passes by itself, and a misspelt tick: no run without one in silence', async () => {
    const nightly = exclusive(name, { locks }, () => 'ran') as (...args: unknown[]) => Promise<unknown>
    class Job {
      readonly name = 'job'
    }
    for (const passed of ['manual', new Date(), { name: 'job' }, null, 5, [], new Job(), { tik: 5 }]) {
      await expect(nightly(passed)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'options' })
    }
    await expect(nightly({ tik: 5 })).rejects.toThrow(
      'Unknown option "tik" in options (did you mean tick?); got { tik }.',
    )
    expect(await ticksOf(locks, name)).toEqual([])
    for (const passed of [undefined, {}, { tick: undefined }, { tick: Date.now() + 60_000 }]) {
      expect(await nightly(passed)).toMatchObject({ kind: 'ran' })
    }
  })

  describe('with everyMs', () => {
    const warnings = useWarnings()
    const near = (): string[] => warnings.of('HOLDFAST_NEAR_TICKS', name).map(({ message }) => message)

    it('runs a tick once for all processes, and tells once of one that takes the next for it', async () => {
      const everyMs = 3_600_000 / 2
      const wallNow = (): number => systemRuntime.wallNow() + everyMs
      const ahead = await rig.client({ clientName: 'ahead', runtime: { ...systemRuntime, wallNow } })
      const calls = [locks, others, ahead].map((each) => exclusive(name, { locks: each, everyMs }, () => 1))
      const outcomes = [await calls[0]!(), await calls[1]!(), await calls[2]!()]
      expect(outcomes.map(({ kind }) => kind)).toEqual(['ran', 'skipped', 'ran'])
      await eventually(() => near().length === 1)
      await exclusive(
        name,
        { locks: others },
        () => 1,
      )({ tick: Number((outcomes[2] as { tick: Date }).tick) + 500 })
      expect(await warnings.delivered('HOLDFAST_NEAR_TICKS', name)).toHaveLength(1)
      await expect(calls[0]!({ tick: 5 })).rejects.toMatchObject({ argument: 'tick' })
      await expect(calls[0]!()).rejects.toMatchObject({ argument: 'everyMs' })
      for (const wrong of [0, -1, 1.5, '5']) {
        const make = (): unknown => exclusive(name, { locks, everyMs: wrong as number }, () => 1)
        expect(make).toThrow(expect.objectContaining({ argument: 'everyMs' }))
      }
    })

    it('a scheduler may pass the time of the call as the tick', async () => {
      const [first, second] = [locks, others].map((each) => exclusive(name, { locks: each }, () => 1))
      await first!({ tick: 5_000 })
      await second!({ tick: 5_999 })
      await eventually(() => near().length === 1)
      expect(near()[0]).toContain('999 ms apart')
    })
  })

  it('asks for a client', async () => {
    for (const given of [5, null, {}, locks.getLock(name)]) {
      const refused = { code: 'INVALID_ARGUMENT', argument: 'locks' }
      await expect(ticksOf(given as never, name)).rejects.toMatchObject(refused)
      expect(() => exclusive(name, { locks: given as never }, () => 1)).toThrow(
        expect.objectContaining(refused),
      )
    }
  })
})
