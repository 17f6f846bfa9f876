import { describe, expect, it } from '@jest/globals'
import type { Attempt } from '../../src/index.js'
import { done, refused, Rig, rig, unavailable, useRig } from '../rig.js'

useRig()

const error = new Error('nobody answers')
const noAnswer = unavailable(error)
const gaveUp = { kind: 'unavailable', error }
const times = (count: number, answer: Attempt<never>) => Array.from({ length: count }, () => answer)

describe('a head that gets no answer', () => {
  it('keeps trying with growing pauses, up to a resync', async () => {
    const head = rig.enter({}, ...times(7, noAnswer), done('v'))
    await rig.clock.advance(5_000)
    expect(head.attemptedAt).toEqual([0, 50, 150, 350, 750, 1_550, 2_550, 3_550])
    expect(head.parked).toBe(1)
    expect(rig.source.calls).toEqual([])
  })

  it('starts with a short pause again after an answer', async () => {
    const head = rig.enter({ topic: 't' }, noAnswer, noAnswer, refused(), refused(), noAnswer, done('v'))
    await rig.clock.advance(5_000)
    expect(head.attemptedAt).toEqual([0, 50, 150, 150, 1_150, 1_200])
  })

  it('pauses for as long as chance says', async () => {
    const calm = new Rig({ random: () => 0 })
    const head = calm.enter({}, noAnswer, noAnswer, done('v'))
    await calm.clock.advance(500)
    expect(head.attemptedAt).toEqual([0, 25, 75])
    await calm.expectNothingLeft()
  })

  it('tries earlier when a connection is back, also if that happened during its attempt (I4)', async () => {
    const head = rig.enter({}, noAnswer)
    await rig.clock.settle()
    rig.source.resubscribed()
    expect(head.attempts).toBe(2)
    rig.source.resubscribed()
    await head.answered(noAnswer)
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })
})

describe('a caller with a deadline', () => {
  it('ends in timeout when the last thing known is a refusal, though an attempt hangs', async () => {
    const caller = rig.enter({ timeoutMs: 2_000 }, refused(), refused())
    await rig.clock.advance(2_000)
    expect(caller.attempts).toBe(3)
    expect(caller.result).toEqual({ kind: 'timeout' })
  })

  it('ends in unavailable when the last thing known is that nobody answers', async () => {
    const head = rig.enter({ timeoutMs: 1_200 }, refused(), refused(), ...times(9, noAnswer))
    const second = rig.enter({ timeoutMs: 1_200 })
    await rig.clock.advance(1_200)
    expect([head.result, second.result]).toEqual([gaveUp, gaveUp])
  })

  it('ends in unavailable when its line has never had an answer', async () => {
    const head = rig.enter({ timeoutMs: 300 })
    const second = rig.enter({ timeoutMs: 200 })
    await rig.clock.advance(300)
    expect(head.result).toEqual({ kind: 'unavailable', error: expect.any(Error) })
    expect(second.result).toEqual({ kind: 'unavailable', error: expect.any(Error) })
  })

  it('ends in timeout once an answer came, though it was only to its predecessor', async () => {
    const head = rig.enter({}, refused(), refused())
    const second = rig.enter({ timeoutMs: 200 })
    await rig.clock.advance(200)
    expect(second.result).toEqual({ kind: 'timeout' })
    head.place.leave()
  })

  it('waits for its deadline however long nobody answers', async () => {
    const head = rig.enter({ timeoutMs: 30_000 }, ...times(99, noAnswer))
    await rig.clock.advance(29_999)
    expect(head.result).toBeUndefined()
    await rig.clock.advance(1)
    expect(head.result).toEqual(gaveUp)
  })
})

describe('callers without a deadline', () => {
  it('all give up after unavailableTimeoutMs, and those with a deadline stay', async () => {
    const head = rig.enter({}, ...times(99, noAnswer))
    const patient = rig.enter({ timeoutMs: 60_000 }, ...times(99, noAnswer))
    const third = rig.enter()
    await rig.clock.advance(9_999)
    expect([head.result, third.result]).toEqual([undefined, undefined])
    await rig.clock.advance(1)
    expect([head.result, patient.result, third.result]).toEqual([gaveUp, undefined, gaveUp])
    expect([patient.attempts, third.attempts]).toEqual([1, 0])
    patient.place.leave()
  })

  it('are told at once in a line where nobody has answered for too long; those with a deadline park', async () => {
    const patient = rig.enter({ timeoutMs: 60_000 }, ...times(99, noAnswer))
    await rig.clock.advance(10_000)
    const [endless, limited] = [rig.enter(), rig.enter({ timeoutMs: 1 })]
    await rig.clock.settle()
    expect([endless.result, endless.parked]).toEqual([gaveUp, 0])
    expect([limited.result, limited.parked]).toEqual([undefined, 1])
    limited.place.leave()
    patient.place.leave()
  })

  it('give up while an attempt hangs', async () => {
    const head = rig.enter({}, noAnswer)
    await rig.clock.advance(10_000)
    expect(head.attempts).toBe(2)
    expect(head.result).toEqual(gaveUp)
    await head.answered(done('late'))
    expect(head.undone).toEqual(['late'])
  })

  it('count a hanging attempt from its start, once it reports no answer', async () => {
    const head = rig.enter()
    const second = rig.enter()
    await rig.clock.advance(12_000)
    expect(head.result).toBeUndefined()
    await head.answered(noAnswer)
    expect([head.result, second.result]).toEqual([gaveUp, gaveUp])
  })

  it('start counting anew after every answer', async () => {
    const head = rig.enter({}, ...times(12, noAnswer), refused(), refused(), ...times(99, noAnswer))
    await rig.clock.advance(18_549)
    expect(head.attemptedAt.slice(11, 15)).toEqual([7_550, 8_550, 8_550, 9_550])
    expect(head.result).toBeUndefined()
    await rig.clock.advance(1_001)
    expect(head.result).toEqual(gaveUp)
  })

  it('never give up when unavailableTimeoutMs is Infinity', async () => {
    const stubborn = new Rig({ unavailableTimeoutMs: Infinity })
    const head = stubborn.enter({}, ...times(200, noAnswer))
    await stubborn.clock.advance(100_000)
    expect(head.result).toBeUndefined()
    head.place.leave()
    await stubborn.expectNothingLeft()
  })
})

describe('the report of an attempt whose caller has gone', () => {
  it('the report of an attempt whose caller has gone that nobody answered counts, as long as nobody has answered since', async () => {
    const head = rig.enter({ timeoutMs: 3_000 })
    const second = rig.enter()
    await rig.clock.advance(4_000)
    head.answer(noAnswer)
    await rig.clock.advance(6_000)
    expect(second.result).toEqual(gaveUp)
  })

  it('the report of an attempt whose caller has gone that nobody answered is ignored when somebody has answered since', async () => {
    const head = rig.enter({ timeoutMs: 3_000 })
    const second = rig.enter({ timeoutMs: 4_500 }, refused(), refused())
    await rig.clock.advance(3_500)
    head.answer(noAnswer)
    await rig.clock.advance(1_500)
    expect(second.result).toEqual({ kind: 'timeout' })
  })

  it('starts no timer in a line that is gone', async () => {
    const head = rig.enter()
    head.place.leave()
    await head.answered(noAnswer)
    expect(rig.clock.pendingTimers).toBe(0)
  })
})
