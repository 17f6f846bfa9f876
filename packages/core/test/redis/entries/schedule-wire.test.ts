import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  begin,
  finish,
  miss,
  read,
  type BeginArguments,
  type FinishArguments,
  type KeptTick,
} from '../../../src/entries/schedule/scripts.js'
import { own, useRig } from '../support/rig.js'

const NAME = 'nightly'
const TICKS = 'holdfast:ticks:{nightly}'
const [A, B] = ['a~1:1', 'b~1:1']
const schedule = { lockName: NAME, key: NAME, ticksKey: TICKS }

const rig = useRig()
const runner = own(() => rig.runner())
beforeEach(() => rig.atEnd(() => rig.admin.del(NAME, TICKS)))

const holds = async (owner: string): Promise<void> => {
  await rig.admin.del(NAME)
  await rig.admin.hset(NAME, owner, 1)
}
const free = (): Promise<number> => rig.admin.del(NAME)
const beginAs = (owner: string, change: Partial<BeginArguments> = {}) =>
  begin(runner, {
    ...schedule,
    owner,
    tick: 1_000,
    atLeastForMs: 0,
    near: { tickMs: 0, beginMs: 0 },
    ...change,
  })
const finishAs = (owner: string, change: Partial<FinishArguments> = {}) =>
  finish(runner, { ...schedule, owner, state: 'done', error: '', ...change })
const kept = async (): Promise<Record<string, KeptTick & Record<string, string>>> =>
  Object.fromEntries(
    Object.entries(await rig.admin.hgetall(TICKS)).map(([tick, json]) => [tick, JSON.parse(json)]),
  )

describe('begin', () => {
  it('notes who runs which tick since when; a copy finds the same and changes nothing', async () => {
    await holds(A)
    expect(await beginAs(A)).toEqual({ kind: 'begun', tick: 1_000, missed: [] })
    const before = await kept()
    expect(before['1000']).toEqual({
      ...{ state: 'running', owner: A },
      ...{ from: expect.stringMatching(/^\d{13}$/), notBefore: expect.stringMatching(/^\d{13}$/) },
    })
    expect(await beginAs(A)).toEqual({ kind: 'begun', tick: 1_000, missed: [] })
    expect(await kept()).toEqual(before)
  })

  it('without a tick: a copy makes no second one', async () => {
    await holds(A)
    const first = await beginAs(A, { tick: undefined })
    expect(await beginAs(A, { tick: undefined })).toEqual(first)
    expect(Object.keys(await kept())).toHaveLength(1)
  })

  it('late, after its owner has released the lock, it notes nothing', async () => {
    await holds(A)
    await free()
    expect(await beginAs(A)).toEqual({ kind: 'lost' })
    await holds(B)
    expect(await beginAs(A)).toEqual({ kind: 'lost' })
    expect(await kept()).toEqual({})
  })

  it('refuses a tick that was run, one before the latest, and one too soon', async () => {
    await holds(A)
    await beginAs(A, { tick: 2_000, atLeastForMs: 60_000 })
    await finishAs(A)
    await holds(B)
    expect(await beginAs(B, { tick: 2_000 })).toEqual({ kind: 'done' })
    expect(await beginAs(B, { tick: 1_000 })).toEqual({ kind: 'late' })
    expect(await beginAs(B, { tick: 3_000 })).toEqual({ kind: 'too-soon', leftMs: expect.any(Number) })
    expect(await beginAs(B, { tick: undefined })).toMatchObject({ kind: 'too-soon' })
    const states = Object.entries(await kept()).map(([tick, { state }]) => [tick, state])
    expect(Object.fromEntries(states)).toEqual({ 1000: 'missed', 2000: 'done', 3000: 'missed' })
  })

  it('tells each gap to one run, and to a copy of its command again', async () => {
    await holds(A)
    await beginAs(A, { tick: 1_000 })
    await miss(runner, { ...schedule, tick: 2_000 })
    await holds(B)
    const seen = { kind: 'begun', tick: 3_000, missed: [1_000, 2_000] }
    expect(await beginAs(B, { tick: 3_000 })).toEqual(seen)
    expect(await beginAs(B, { tick: 3_000 })).toEqual(seen)
    await holds('c~1:1')
    expect(await beginAs('c~1:1', { tick: 4_000 })).toMatchObject({ missed: [3_000] })
  })
})

describe('begin, near a tick of another client,', () => {
  it.each([
    ['the tick', { tickMs: 1_000, beginMs: 0 }, { apartMs: 999 }],
    ['the beginning', { tickMs: 0, beginMs: 60_000 }, { apartMs: expect.any(Number) }],
    ['neither, as it is not so near,', { tickMs: 999, beginMs: 0 }, {}],
  ])('tells how far %s is from it, once', async (_what, near, apart) => {
    await holds(A)
    await beginAs(A, { tick: 1_000 })
    await free()
    await holds(B)
    await miss(runner, { ...schedule, tick: 1_500 })
    const begun = { kind: 'begun', tick: 1_999, missed: [1_000, 1_500] }
    expect(await beginAs(B, { tick: 1_999, near })).toEqual({ ...begun, ...apart })
    expect(await beginAs(B, { tick: 1_999, near })).toEqual(begun)
    // The same client may call as often as it likes.
    await free()
    const again = B.replace(/\d+$/, '77')
    await holds(again)
    expect(await beginAs(again, { tick: 2_000, near })).toEqual({
      kind: 'begun',
      tick: 2_000,
      missed: [1_999],
    })
  })
})

describe('finish', () => {
  it('notes what came of it, once; late it changes nothing', async () => {
    await holds(A)
    await beginAs(A)
    expect(await finishAs(A, { state: 'failed', error: 'Error: no' })).toBe(true)
    expect((await kept())['1000']).toMatchObject({
      state: 'failed',
      error: 'Error: no',
      to: expect.any(String),
    })
    const before = await kept()
    expect(await finishAs(A)).toBe(false)
    expect(await finishAs(B)).toBe(false)
    expect(await kept()).toEqual(before)
  })

  it('leaves alone what somebody has found unfinished', async () => {
    await holds(A)
    await beginAs(A)
    await holds(B)
    await beginAs(B, { tick: 2_000 })
    expect(await finishAs(A)).toBe(false)
    expect((await kept())['1000']).toMatchObject({ state: 'unfinished' })
  })

  it('notes a success without the lock as lost', async () => {
    await holds(A)
    await beginAs(A)
    await free()
    await finishAs(A)
    expect((await kept())['1000']).toMatchObject({ state: 'lost' })
  })

  it('works when Redis is out of memory, begin is refused', async () => {
    await holds(A)
    await beginAs(A)
    await rig.admin.hset(NAME, B, 1)
    await rig.outOfMemory(async () => {
      expect(await finishAs(A)).toBe(true)
      await expect(beginAs(B, { tick: 2_000 })).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    })
  })
})

describe('miss and read', () => {
  it('miss notes what nobody knows of, and nothing else', async () => {
    expect(await miss(runner, { ...schedule, tick: 1_000 })).toBe(true)
    expect(await miss(runner, { ...schedule, tick: 1_000 })).toBe(false)
    await holds(A)
    await beginAs(A, { tick: 2_000 })
    expect(await miss(runner, { ...schedule, tick: 2_000 })).toBe(false)
    expect((await kept())['2000']).toMatchObject({ state: 'running' })
  })

  it('read gives all of it in order, and who has the lock', async () => {
    await holds(A)
    await beginAs(A, { tick: 12_000 })
    await miss(runner, { ...schedule, tick: 9_000 })
    const { owners, ticks } = await read(runner, schedule)
    expect(owners).toEqual([A])
    expect(ticks.map(([tick, { state }]) => [tick, state])).toEqual([
      [9_000, 'missed'],
      [12_000, 'running'],
    ])
  })
})
