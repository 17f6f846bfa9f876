import { describe, expect, it } from '@jest/globals'
import { getEventListeners } from 'node:events'
import { type Caller, done, refused, rig, useRig } from '../rig.js'

useRig()

describe('a wait shorter than a round trip', () => {
  const request = { timeoutMs: 1, answerMs: 250 }

  it('hears the no that comes after its deadline', async () => {
    const head = rig.enter(request)
    const second = rig.enter(request)
    await rig.clock.advance(40)
    expect(head.result).toBeUndefined()
    await head.answered(refused())
    expect(head.result).toEqual({ kind: 'timeout' })
    expect(second.result).toEqual({ kind: 'timeout' })
    expect(head.attempts + second.attempts).toBe(1)
  })

  it('takes the yes that comes after its deadline', async () => {
    const head = rig.enter(request)
    await rig.clock.advance(40)
    await head.answered(done('v'))
    expect(head.result).toEqual({ kind: 'done', value: 'v' })
  })

  it('ends as unanswered when its patience is over too', async () => {
    const head = rig.enter(request)
    await rig.clock.advance(249)
    expect(head.result).toBeUndefined()
    await rig.clock.advance(1)
    expect(head.result).toMatchObject({ kind: 'unavailable' })
  })

  it.each([
    { ...request, pauseMs: 1_000 },
    // It has barely missed the time for an answer.
    { ...request, pauseMs: 251 },
    { timeoutMs: 500, answerMs: 250, pauseMs: 1_000 },
  ])(
    'has the time for an answer anew after a pause of the process, which read none: %j',
    async ({ pauseMs, ...each }) => {
      const hears = rig.enter(each)
      const waits = rig.enter({ ...each, queue: 'other' })
      rig.clock.pass(pauseMs)
      await rig.clock.advance(249)
      expect([hears.result, waits.result]).toEqual([undefined, undefined])
      await hears.answered(refused())
      expect(hears.result).toEqual({ kind: 'timeout' })
      await rig.clock.advance(1)
      expect(waits.result).toMatchObject({ kind: 'unavailable' })
    },
  )

  it('is not stretched once its line has had an answer', async () => {
    const head = rig.enter({}, refused())
    await rig.clock.settle()
    const second = rig.enter(request)
    await rig.clock.advance(1)
    expect(second.result).toEqual({ kind: 'timeout' })
    head.place.leave()
  })
})

describe.each([
  { kind: 'one who shares', request: { shared: true }, yes: (value: string) => done(value) },
  {
    kind: 'one who leaves enough',
    request: { wants: 1 },
    yes: (value: string) => ({ ...done(value), left: 1 }),
  },
])('a wait shorter than a round trip, behind $kind', ({ request, yes }) => {
  const short = { ...request, timeoutMs: 1, answerMs: 250 }

  /** Two of one turn: the first has succeeded after 40 ms, and the second, which is overdue, tries. */
  async function second(): Promise<Caller> {
    const first = rig.enter(short)
    const next = rig.enter(short)
    await rig.clock.advance(40)
    await first.answered(yes('first'))
    expect(first.result).toEqual({ kind: 'done', value: 'first' })
    expect([next.attempts, next.result]).toEqual([1, undefined])
    return next
  }

  it('takes the yes to its own try', async () => {
    const next = await second()
    await rig.clock.advance(40)
    await next.answered(yes('next'))
    expect(next.result).toEqual({ kind: 'done', value: 'next' })
  })

  it('hears the no to its own try, and so does who came behind it', async () => {
    const next = await second()
    const third = rig.enter(short)
    await rig.clock.advance(40)
    await next.answered(refused())
    expect([next.result, third.result]).toEqual([{ kind: 'timeout' }, { kind: 'timeout' }])
  })

  it('ends as unanswered when its patience is over too', async () => {
    const next = await second()
    await rig.clock.advance(209)
    expect(next.result).toBeUndefined()
    await rig.clock.advance(1)
    expect(next.result).toMatchObject({ kind: 'unavailable' })
    await next.answered(yes('late'))
    expect(next.undone).toEqual(['late'])
  })

  it('hears a no by that success if it wants more', async () => {
    const first = rig.enter(short)
    const greedy = rig.enter({ ...short, shared: false, wants: 2 })
    await rig.clock.advance(40)
    await first.answered(yes('first'))
    expect([greedy.attempts, greedy.result]).toEqual([0, { kind: 'timeout' }])
  })
})

describe('callers that share an abort signal', () => {
  it('put one listener on it and take it away with the last of them', async () => {
    const aborting = new AbortController()
    const { signal } = aborting
    const callers = Array.from({ length: 100 }, () => rig.enter({ signal }, refused()))
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    callers.slice(1).forEach((caller) => caller.place.leave())
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    aborting.abort('enough')
    await rig.clock.settle()
    expect(callers[0]?.result).toEqual({ rejected: 'enough' })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
