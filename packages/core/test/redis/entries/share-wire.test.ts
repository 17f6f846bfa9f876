import { describe, expect, it } from '@jest/globals'
import {
  enterCall,
  finishCall,
  sendInvalidate,
  type EnterArguments,
  type FinishArguments,
  type Found,
} from '../../../src/entries/share/scripts.js'
import {
  CHANNEL,
  LEASE_MS,
  NAME,
  OTHER,
  OWNER,
  plainScripts,
  stamp,
  TOMBSTONE,
} from '../support/plain-scripts.js'
import { own, useRig } from '../support/rig.js'

const KEPT = 'holdfast:share:{order:42}'
const RESULT = `holdfast:result:{order:42}:${OWNER}`
const KEEP_MS = 20_000
const rig = useRig()

const runner = own(() => rig.runner())
const { acquireAs, releaseAs, force } = plainScripts(() => runner)

const lock = { lockName: NAME, key: NAME }
const wanted = { freshMs: KEEP_MS, usableMs: KEEP_MS, failsOnCrash: false }
const enterAs = async (change: Partial<EnterArguments> = {}): Promise<Found> => {
  const terms = { ...lock, ...wanted, owner: OWNER, leaseMs: LEASE_MS, stamp: stamp(1) }
  const { found } = await runner.run(enterCall({ ...terms, note: undefined, awaited: undefined, ...change }))
  return found
}
const other = { owner: OTHER, stamp: stamp(1) }
const finishAs = async (change: Partial<FinishArguments> = {}): Promise<string> => {
  const stored = { kind: 'v', text: 'token' } as const
  const terms = { ...lock, owner: OWNER, stamp: stamp(2), stored, freshMs: KEEP_MS, usableMs: KEEP_MS }
  const told = { channel: CHANNEL, announcement: 'PUBLISH' } as const
  return (await runner.run(finishCall({ ...terms, ...told, ...change }))).kind
}
const notKept = { freshMs: 0, usableMs: 0 }
const invalidate = () => sendInvalidate(runner, lock)
const fields = () => rig.admin.hgetall(NAME)
const result = (text: string) => ({ kind: 'v', text, ageMs: expect.any(Number) as unknown })
const underWay = { kind: 'under-way', owner: OWNER, isOutdated: false, older: undefined }

describe('share/enter', () => {
  it('1: begins a run under the lock, with its lease and its note', async () => {
    const note = { ttlMs: 5_000, traceparent: undefined }
    expect(await enterAs({ note })).toEqual({ kind: 'begun', older: undefined })
    expect(await fields()).toEqual({ [OWNER]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(LEASE_MS - 5_000)
    expect(await rig.admin.get('holdfast:note:{order:42}')).toMatch(new RegExp(` - ${OWNER}$`))
    await finishAs()
    expect(await rig.admin.exists('holdfast:note:{order:42}')).toBe(0)
  })

  it('1 for its copy, which begins nothing twice', async () => {
    await enterAs()
    await rig.admin.pexpire(NAME, 5_000)
    expect(await enterAs()).toMatchObject({ kind: 'begun' })
    expect(await fields()).toEqual({ [OWNER]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(5_000)
    await finishAs()
  })

  it('6: a copy that comes after the end meets the tombstone, and begins nothing (I12)', async () => {
    await enterAs()
    await finishAs({ ...notKept, stamp: stamp(2, 1) })
    expect(await rig.admin.get(TOMBSTONE)).toBe('1')
    expect(await enterAs()).toEqual({ kind: 'superseded' })
    expect(await fields()).toEqual({})
  })

  it('leaves a tombstone where it is told that earlier copies may come', async () => {
    await enterAs({ stamp: stamp(3, 2) })
    expect(await rig.admin.get(TOMBSTONE)).toBe('2')
    await finishAs()
  })

  it('2: a kept result, to those who take one of that age', async () => {
    await enterAs()
    await finishAs()
    expect(await enterAs(other)).toEqual({ kind: 'kept', result: result('token') })
    expect(await enterAs({ ...other, freshMs: 0, usableMs: 0 })).toEqual({ kind: 'begun', older: undefined })
    await releaseAs({ owner: OTHER })
  })

  it('2 also after the clock of Redis was set back: it is no older than nothing', async () => {
    await enterAs()
    await finishAs()
    const ahead = `${Date.now() + 3_600_000} vtoken`
    await rig.admin.hset(KEPT, 'stored', ahead)
    expect(await enterAs(other)).toEqual({ kind: 'kept', result: { kind: 'v', text: 'token', ageMs: 0 } })
  })

  it('3: the result of the run that it waits for, kept or not, and its error (I13)', async () => {
    const waits = { ...other, awaited: OWNER, ...notKept }
    await enterAs()
    expect(await enterAs(waits)).toMatchObject(underWay)
    await finishAs(notKept)
    expect(await rig.admin.exists(KEPT)).toBe(0)
    expect(await rig.admin.pttl(RESULT)).toBeGreaterThan(2_000)
    expect(await enterAs(waits)).toEqual({ kind: 'awaited', result: result('token'), isOutdated: false })
    await enterAs({ stamp: stamp(3) })
    await finishAs({ stamp: stamp(4), stored: { kind: 'e', text: '{}' } })
    expect(await enterAs(waits)).toMatchObject({ kind: 'awaited', result: { kind: 'e', text: '{}' } })
  })

  it('3: of the kept result too, when the flight is over its five seconds', async () => {
    await enterAs()
    await finishAs()
    await rig.admin.del(RESULT)
    const found = await enterAs({ ...other, awaited: OWNER, freshMs: 0, usableMs: 0, failsOnCrash: true })
    expect(found).toEqual({ kind: 'awaited', result: result('token'), isOutdated: false })
  })

  it('4: the run that it waits for has left nothing, whoever runs now', async () => {
    const waits = { ...other, awaited: OWNER, failsOnCrash: true }
    expect(await enterAs(waits)).toEqual({ kind: 'crashed' })
    await enterAs({ owner: 'c~1:3' })
    expect(await enterAs(waits)).toEqual({ kind: 'crashed' })
    expect(await enterAs({ ...waits, failsOnCrash: false })).toMatchObject({
      kind: 'under-way',
      owner: 'c~1:3',
    })
    await releaseAs({ owner: 'c~1:3' })
    expect(await enterAs({ ...waits, failsOnCrash: false })).toMatchObject({ kind: 'begun' })
    await releaseAs({ owner: OTHER })
  })

  it('1 where the run that it waits for was given up before it ran', async () => {
    await enterAs()
    await finishAs({ ...notKept, stored: { kind: 'n', text: '' } })
    expect(await enterAs({ ...other, awaited: OWNER, failsOnCrash: true })).toMatchObject({ kind: 'begun' })
    await releaseAs({ owner: OTHER })
  })

  it('5: a run is under way, with what is left of its lease', async () => {
    await enterAs()
    const found = await enterAs(other)
    expect(found).toMatchObject(underWay)
    expect(found.kind === 'under-way' && found.leaseLeftMs).toBeGreaterThan(LEASE_MS - 5_000)
    expect(await fields()).toEqual({ [OWNER]: '1' })
    await finishAs()
  })

  it('1 and 5 with an older result, for as long as both sides take it', async () => {
    await enterAs()
    await finishAs({ freshMs: 1, usableMs: 10_000 })
    await rig.admin.hset(KEPT, 'fresh', '0')
    const begun = await enterAs({ stamp: stamp(3) })
    expect(begun).toMatchObject({ kind: 'begun', older: { text: 'token' } })
    const left = begun.kind === 'begun' ? begun.older!.leftMs : 0
    expect(left).toBeGreaterThan(5_000)
    expect(left).toBeLessThanOrEqual(10_000)
    expect(await enterAs(other)).toMatchObject({ ...underWay, older: { text: 'token' } })
    expect(await enterAs({ ...other, freshMs: 0, usableMs: 0 })).toMatchObject(underWay)
    await finishAs({ stamp: stamp(4) })
  })

  it('waits for a lock that no run has', async () => {
    await acquireAs({ owner: OTHER })
    expect(await enterAs()).toMatchObject({ kind: 'under-way', owner: OTHER })
    await force()
  })

  it('refuses a key of another type', async () => {
    await rig.admin.set(NAME, 'not a lock')
    await expect(enterAs()).rejects.toMatchObject({ code: 'WRONG_TYPE', key: NAME })
    await rig.admin.del(NAME)
  })
})

describe('share/finish', () => {
  it('1: stores, releases and tells all who listen, at once', async () => {
    const heard: string[] = []
    const listener = rig.connection()
    await listener.subscribe(CHANNEL)
    listener.on('message', (_, text) => heard.push(text))
    await enterAs()
    expect(await finishAs()).toBe('released')
    expect(Object.keys(await rig.contents()).sort()).toEqual([RESULT, KEPT].sort())
    expect(await rig.admin.pttl(KEPT)).toBeGreaterThan(KEEP_MS - 5_000)
    await listener.ping()
    expect(heard).toEqual(['0'])
  })

  it('0: the result of an owner that lost the lock is refused, and nobody is told (I12)', async () => {
    await enterAs()
    await rig.admin.del(NAME)
    await enterAs(other)
    expect(await finishAs()).toBe('not-held')
    expect(await rig.admin.exists(RESULT, KEPT)).toBe(0)
    expect(await fields()).toEqual({ [OTHER]: '1' })
    await releaseAs({ owner: OTHER })
  })

  it('0 for its copy, which changes nothing, also when another has run since', async () => {
    await enterAs()
    await finishAs()
    await enterAs({ ...other, ...notKept })
    await finishAs({ ...other, stamp: stamp(2), stored: { kind: 'v', text: 'newer' } })
    expect(await finishAs()).toBe('not-held')
    expect(await rig.admin.hget(KEPT, 'stored')).toMatch(/^\d+ vnewer$/)
  })

  it('keeps no error, and leaves an older result', async () => {
    await enterAs()
    await finishAs()
    await enterAs({ ...notKept, stamp: stamp(3) })
    await finishAs({ stamp: stamp(4), stored: { kind: 'e', text: '{}' } })
    expect(await rig.admin.hget(KEPT, 'stored')).toMatch(/ vtoken$/)
  })

  it('takes an older result away where the newer one is not kept', async () => {
    await enterAs()
    await finishAs()
    await enterAs({ ...notKept, stamp: stamp(3) })
    await finishAs({ ...notKept, stamp: stamp(4), stored: { kind: 'v', text: 'newer' } })
    expect(await rig.admin.exists(KEPT)).toBe(0)
  })

  it('stores text as it is', async () => {
    const text = 'line\n\u0000 ö 🔒 %d "x"'
    await enterAs()
    await finishAs({ stored: { kind: 'v', text } })
    expect(await enterAs(other)).toMatchObject({ kind: 'kept', result: { text } })
  })
})

describe('share/invalidate', () => {
  it('generations only grow, whoever sends a copy of which invalidate, and wherever the clock is', async () => {
    const generation = async () => Number(await rig.admin.hget(KEPT, 'generation'))
    await invalidate()
    const first = await generation()
    await rig.admin.hset(KEPT, 'generation', `${first + 3_600_000}`)
    await invalidate()
    expect(await generation()).toBe(first + 3_600_001)
    await rig.admin.del(KEPT)
  })

  it('forgets what is kept', async () => {
    await enterAs()
    await finishAs()
    expect(await invalidate()).toBe('')
    expect(Object.keys(await rig.admin.hgetall(KEPT))).toEqual(['generation'])
    expect(await rig.admin.pttl(KEPT)).toBeLessThanOrEqual(5_000)
    expect(await enterAs(other)).toMatchObject({ kind: 'begun' })
    await releaseAs({ owner: OTHER })
  })

  it('names the run that it made outdated, once', async () => {
    await enterAs()
    expect(await invalidate()).toBe(OWNER)
    expect(await invalidate()).toBe('')
    expect(await finishAs()).toBe('released')
  })

  it('is seen by whoever fetches a result from before it, while the run went on or after its end (I14)', async () => {
    const waits = { ...other, awaited: OWNER, ...notKept }
    await enterAs()
    await finishAs(notKept)
    expect(await enterAs(waits)).toMatchObject({ kind: 'awaited', isOutdated: false })
    await invalidate()
    expect(await enterAs(waits)).toMatchObject({ kind: 'awaited', isOutdated: true })
    // A later run's end does not hide that, and its own result is valid until the next time.
    await enterAs({ ...other, ...notKept })
    await finishAs({ ...other, stamp: stamp(2) })
    expect(await enterAs({ ...waits, owner: 'c~1:4' })).toMatchObject({ kind: 'awaited', isOutdated: true })
    const afterIt = { ...notKept, owner: 'c~1:4', awaited: OTHER }
    expect(await enterAs(afterIt)).toMatchObject({ kind: 'awaited', isOutdated: false })
    await invalidate()
    expect(await enterAs(afterIt)).toMatchObject({ kind: 'awaited', isOutdated: true })
    await enterAs({ stamp: stamp(3), ...notKept })
    await invalidate()
    await finishAs({ stamp: stamp(4), stored: { kind: 'e', text: '{}' } })
    expect(await enterAs(waits)).toMatchObject({ kind: 'awaited', result: { kind: 'e' }, isOutdated: true })
  })

  it('leaves nothing for longer than results can be fetched, also behind a run that died', async () => {
    await enterAs()
    await invalidate()
    expect(await rig.admin.pttl(KEPT)).toBeGreaterThan(5_000)
    await finishAs()
    expect(await rig.admin.pttl(KEPT)).toBeLessThanOrEqual(5_000)
    await enterAs({ stamp: stamp(3) })
    await invalidate()
    await rig.admin.del(NAME)
    await enterAs(other)
    expect(await rig.admin.pttl(KEPT)).toBeLessThanOrEqual(5_000)
    await finishAs({ ...other, stamp: stamp(2) })
    expect(await rig.admin.pttl(KEPT)).toBeGreaterThan(5_000)
  })

  it('keeps the result of a run under way from being kept, and not from those who wait for it', async () => {
    await enterAs()
    await invalidate()
    expect(await enterAs(other)).toMatchObject({ ...underWay, isOutdated: true })
    await finishAs()
    expect(await rig.admin.hexists(KEPT, 'stored')).toBe(0)
    expect(await enterAs({ ...other, awaited: OWNER })).toMatchObject({ kind: 'awaited' })
  })

  it('concerns that run alone: the next one is kept, also after a failure or a crash', async () => {
    for (const end of [() => finishAs({ stored: { kind: 'e', text: '{}' } }), () => rig.admin.del(NAME)]) {
      await enterAs()
      await invalidate()
      await end()
      await enterAs(other)
      expect(await rig.admin.hexists(KEPT, 'stored')).toBe(0)
      await finishAs({ ...other, stamp: stamp(2) })
      expect(await rig.admin.hexists(KEPT, 'stored')).toBe(1)
      await rig.admin.del(KEPT)
    }
  })
})
