import { describe, expect, it } from '@jest/globals'
import { type Caller, done, refused, rig, unavailable, useRig } from '../rig.js'

useRig()

const reader = { shared: true }
const attempts = (...callers: Caller[]): number[] => callers.map((each) => each.attempts)

/** One that has been refused and sleeps, and those behind it. */
async function sleeping(...requests: { shared?: boolean }[]): Promise<Caller[]> {
  const [first, ...others] = requests
  const head = await rig.sleepingHead(first)
  return [head, ...others.map((request) => rig.enter(request))]
}

describe('callers that share', () => {
  it('try together with the head, up to the first that does not', async () => {
    const [a, b, writer, c] = (await sleeping(reader, reader, {}, reader)) as [Caller, Caller, Caller, Caller]
    rig.source.publish('t')
    expect(attempts(a, b, writer, c)).toEqual([3, 1, 0, 0])
    a.answer(done('a'))
    await b.answered(done('b'))
    expect([a.result, b.result]).toEqual([
      { kind: 'done', value: 'a' },
      { kind: 'done', value: 'b' },
    ])
    // One that wants it alone finds nothing of what two had together: it sleeps.
    expect(attempts(writer, c)).toEqual([0, 0])
    rig.source.publish('t')
    expect(attempts(writer, c)).toEqual([1, 0])
    await writer.answered(done('w'))
    rig.source.publish('t')
    c.answer(done('c'))
  })

  it('try alone for what is left, if they want a number: it may be enough for one', async () => {
    const one = { shared: true, wants: 1 }
    const taker = await rig.sleepingHead()
    const [a, b] = [rig.enter(one), rig.enter(one)]
    rig.source.publish('t')
    await taker.answered({ kind: 'done', value: 'taken', left: 1 })
    expect(attempts(a, b)).toEqual([1, 0])
    for (const each of [a, b]) each.place.leave()
  })

  it('let in who came while they were in flight', async () => {
    const first = rig.enter(reader)
    const second = rig.enter(reader)
    expect(attempts(first, second)).toEqual([1, 0])
    await first.answered(done('1'))
    expect(second.attempts).toBe(1)
    second.answer(done('2'))
  })

  it('one that is refused among successes keeps the line asleep', async () => {
    const [a, b] = (await sleeping(reader, reader)) as [Caller, Caller]
    rig.source.publish('t')
    b.answer(refused())
    await a.answered(done('a'))
    expect(attempts(b)).toEqual([1])
    await rig.clock.advance(1_000)
    expect(attempts(b)).toEqual([2])
    b.answer(done('b'))
  })

  it('believe no refusal when a wake came since they were sent (I4)', async () => {
    const [a, b] = (await sleeping(reader, reader)) as [Caller, Caller]
    rig.source.publish('t')
    rig.source.publish('t')
    await a.answered(refused())
    // The other is still in flight: nobody tries twice at a time.
    expect(attempts(a, b)).toEqual([3, 1])
    await b.answered(refused())
    expect(attempts(a, b)).toEqual([4, 2])
    a.answer(done('a'))
    b.answer(done('b'))
  })

  it('do not lose their flight with the head that leaves it', async () => {
    const [a, b] = (await sleeping(reader, reader)) as [Caller, Caller]
    rig.source.publish('t')
    a.place.leave()
    await rig.clock.settle()
    expect(attempts(b)).toEqual([1])
    b.answer(done('b'))
    await a.answered(done('late'))
    expect([a.undone, b.result]).toEqual([['late'], { kind: 'done', value: 'b' }])
  })

  it('go on when the last one in flight leaves', async () => {
    const [a, b] = (await sleeping(reader, reader)) as [Caller, Caller]
    rig.source.publish('t')
    await a.answered(refused())
    b.place.leave()
    await rig.clock.advance(1_000)
    expect(attempts(a)).toEqual([4])
    a.answer(done('a'))
    b.answer(refused())
  })

  it('an error is that of its caller alone', async () => {
    const [a, b] = (await sleeping(reader, reader)) as [Caller, Caller]
    rig.source.publish('t')
    const error = new Error('mine')
    b.failAttempt(error)
    await a.answered(done('a'))
    expect([a.result, b.result]).toEqual([{ kind: 'done', value: 'a' }, { rejected: error }])
  })
})

describe('callers that share a signal', () => {
  it('callers that share a signal of whom one ends the wait of the next: the line is as if each had left once', async () => {
    const aborting = new AbortController()
    const { signal } = aborting
    const first = rig.enter()
    const reader = { shared: true }
    const head = rig.enter(reader)
    rig.enter({ ...reader, signal })
    const overdue = rig.enter({ timeoutMs: 1, answerMs: 250, signal })
    // Now the readers try together, and nobody in the line has been answered.
    first.place.leave()
    await rig.clock.advance(1)
    await head.answered(refused())
    expect(overdue.result).toBeUndefined()
    // The last answer that the flight waits for goes, and with it whoever waited for the first answer only.
    aborting.abort('over')
    await rig.clock.settle()
    expect(overdue.result).toEqual({ kind: 'timeout' })
    expect(rig.waiter.size).toBe(1)
    rig.waiter.wake('q')
    await head.answered(done('v'))
    expect(head.result).toEqual({ kind: 'done', value: 'v' })
  })
})

describe('a head without ticks', () => {
  const still = { ticks: false }

  it('sleeps without a timer, whatever the hint', async () => {
    const head = rig.enter(still, refused(5), refused(5))
    await rig.clock.settle()
    expect(rig.clock.pendingTimers).toBe(0)
    await rig.clock.advance(60_000)
    expect(head.attempts).toBe(2)
    rig.waiter.wake('q')
    head.answer(done('v'))
  })

  it('tries again by itself when nobody answers', async () => {
    const head = rig.enter(still, unavailable(new Error('silence')))
    await rig.clock.settle()
    expect(rig.clock.pendingTimers).toBeGreaterThan(0)
    await rig.clock.advance(50)
    expect(head.attempts).toBe(2)
    head.answer(done('v'))
  })

  it('keeps its deadline', async () => {
    const head = rig.enter({ ...still, timeoutMs: 300 }, refused(), refused())
    await rig.clock.advance(300)
    expect(head.result).toEqual({ kind: 'timeout' })
  })
})
