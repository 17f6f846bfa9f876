import { describe, expect, it } from '@jest/globals'
import { done, refused, rig, useRig } from '../rig.js'

useRig()

type After = 'message' | 'entering'
const after = (meant: After, ms = 5) => ({
  standsBackMs: (after: After) => (after === meant ? ms : 0),
})

describe('a head that lets others come first', () => {
  it('tries so long after a message, and counts further messages from anew', async () => {
    const head = await rig.sleepingHead(after('message'))
    rig.source.publish('t')
    await rig.clock.advance(4)
    rig.source.publish('t')
    await rig.clock.advance(4)
    expect(head.attempts).toBe(2)
    await rig.clock.advance(1)
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('does so after a message that came while it tried and was refused', async () => {
    const head = await rig.sleepingHead(after('message'))
    rig.waiter.wake('q')
    rig.source.publish('t')
    head.answer(refused())
    await rig.clock.advance(4)
    expect(head.attempts).toBe(3)
    await rig.clock.advance(1)
    expect(head.attempts).toBe(4)
    head.answer(done('v'))
  })

  it('tries so long after it has entered, and is told that it waits', async () => {
    const head = rig.enter(after('entering'))
    expect([head.attempts, head.parked]).toEqual([0, 1])
    await rig.clock.advance(5)
    expect(head.attemptedAt).toEqual([5])
    head.answer(done('v'))
  })

  it.each([
    ['a confirmed subscription', () => rig.source.resubscribed()],
    ['wake(queue)', () => rig.waiter.wake('q')],
  ])('tries at once after %s: nothing is missed (I4)', async (_what, wake) => {
    const head = await rig.sleepingHead(after('message'))
    rig.source.publish('t')
    expect(head.attempts).toBe(2)
    wake()
    await rig.clock.settle()
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('tries at once if its deadline would come first', async () => {
    const head = rig.enter({ ...after('entering'), timeoutMs: 5 })
    expect(head.attempts).toBe(1)
    await head.answered(done('v'))
  })

  it('is asked again when the reason may be over, and only before its first try', async () => {
    let ms = 5
    const head = rig.enter({ standsBackMs: () => ms })
    rig.waiter.reconsider('q')
    expect(head.attempts).toBe(0)
    ms = 0
    rig.waiter.reconsider('q')
    expect(head.attempts).toBe(1)
    await head.answered(refused())
    const { attempts } = head
    rig.waiter.reconsider('q')
    expect(head.attempts).toBe(attempts)
    rig.waiter.wake('q')
    await head.answered(done('v'))
    rig.waiter.reconsider('q')
  })

  it('takes an offer meanwhile', async () => {
    const head = await rig.sleepingHead({ ...after('message'), accept: () => 'offered' })
    rig.source.publish('t')
    expect(rig.waiter.offer('q', 'any')).toBe(true)
    await rig.clock.settle()
    expect(head.result).toEqual({ kind: 'done', value: 'offered' })
  })

  it('leaves the rest of the time to its successor, which is not asked', async () => {
    const head = await rig.sleepingHead(after('message'))
    const next = rig.enter(after('message', 50))
    rig.source.publish('t')
    await rig.clock.advance(3)
    head.place.leave()
    await rig.clock.advance(1)
    expect(next.attempts).toBe(0)
    await rig.clock.advance(1)
    expect(next.attempts).toBe(1)
    next.answer(done('v'))
  })
})
