import { describe, expect, it } from '@jest/globals'
import { done, refused, rig, unavailable, useRig } from '../rig.js'

useRig()

const noTime = { timeoutMs: 0 }

describe('a caller without time to wait', () => {
  const error = new Error('gone')
  it.each([
    ['done', done('v'), { kind: 'done', value: 'v' }],
    ['timeout when refused', refused(), { kind: 'timeout' }],
    ['unavailable when nobody answers', unavailable(error), { kind: 'unavailable', error }],
  ])('has exactly one attempt, and it decides: %s', async (_name, answer, outcome) => {
    const caller = rig.enter(noTime, answer)
    await rig.clock.advance(5_000)
    expect(caller.result).toEqual(outcome)
    expect([caller.attempts, caller.parked]).toEqual([1, 0])
    expect(rig.source.calls).toEqual([])
  })

  it('tries at once beside a line, and leaves it as it was', async () => {
    const head = await rig.sleepingHead()
    const barger = rig.enter(noTime)
    expect([barger.attempts, barger.place.ahead, rig.waiter.size]).toEqual([1, 0, 2])
    await barger.answered(done('v'))
    expect(barger.result).toEqual({ kind: 'done', value: 'v' })
    expect(head.attempts).toBe(2)
    head.place.leave()
  })

  it('holds up nobody and is not in line while its attempt hangs', async () => {
    const barger = rig.enter(noTime)
    expect(rig.waiter.isWaiting('q')).toBe(false)
    const caller = rig.enter({}, done('v'))
    await rig.clock.settle()
    expect(caller.result).toEqual({ kind: 'done', value: 'v' })
    barger.answer(refused())
  })

  it('ends with the rejection of its attempt', async () => {
    const barger = rig.enter(noTime)
    barger.failAttempt(error)
    await rig.clock.settle()
    expect(barger.result).toEqual({ rejected: error })
  })

  it('can leave or abort, and what its attempt still brings is released once', async () => {
    const controller = new AbortController()
    const leaving = rig.enter(noTime)
    const aborting = rig.enter({ ...noTime, signal: controller.signal })
    const failing = rig.enter(noTime)
    leaving.place.leave()
    controller.abort(error)
    failing.place.leave()
    leaving.answer(done('late'))
    aborting.answer(done('late'))
    failing.failAttempt(error)
    await rig.clock.settle()
    expect([leaving.result, aborting.result]).toEqual([{ kind: 'left' }, { rejected: error }])
    expect([leaving.undone, aborting.undone]).toEqual([['late'], ['late']])
  })
})
