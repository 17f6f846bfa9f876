import { describe, expect, it } from '@jest/globals'
import { done, refused, Rig, rig, useRig } from '../rig.js'

useRig()

const reason = new Error('closing')
const over = { rejected: reason }

describe('close', () => {
  it('rejects every wait and leaves no timer, listener or subscription (I5)', async () => {
    const controller = new AbortController()
    const head = await rig.sleepingHead({ timeoutMs: 5_000, signal: controller.signal })
    const callers = [head, rig.enter(), rig.enter({ timeoutMs: 9 }), rig.enter({ timeoutMs: 0 })]
    callers.push(rig.enter({ queue: 'elsewhere', topic: 'u' }, refused()))
    const closing = rig.waiter.close(reason)
    expect(rig.waiter.size).toBe(0)
    await closing
    expect(callers.map((caller) => caller.result)).toEqual([over, over, over, over, over])
    expect([callers[1]!.attempts, callers[2]!.attempts]).toEqual([0, 0])
  })

  it('is safe before anything began and twice, and the first reason counts', async () => {
    const first = rig.waiter.close(reason)
    expect(rig.waiter.close(new Error('again'))).toBe(first)
    await first
    const late = rig.enter()
    await rig.clock.settle()
    expect(late.result).toEqual(over)
    expect(late.attempts).toBe(0)
  })

  it('does not wait for attempts, and releases what they still bring', async () => {
    const [head, barger] = [rig.enter(), rig.enter({ timeoutMs: 0 })]
    await rig.waiter.close(reason)
    head.answer(done('late'))
    await barger.answered(done('late'))
    expect([head.undone, barger.undone]).toEqual([['late'], ['late']])
  })

  it('may be called by an attempt', async () => {
    const attempt = () => {
      void rig.waiter.close(reason)
      return Promise.resolve(done('v'))
    }
    const [head, second] = [rig.enter({ attempt }), rig.enter()]
    await rig.clock.settle()
    expect([head.result, second.result]).toEqual([over, over])
    expect(head.undone).toEqual(['v'])
  })

  it('does not hang with a source that hangs, and unsubscribes when it answers', async () => {
    rig.source.hold()
    const head = rig.enter({}, refused())
    await rig.clock.settle()
    const closing = rig.waiter.close(reason)
    await rig.clock.advance(1_000)
    await closing
    expect(rig.clock.pendingTimers).toBe(0)
    rig.source.release()
    await rig.clock.settle()
    expect(rig.source.calls).toEqual(['subscribe t', 'unsubscribe t'])
    expect(head.attempts).toBe(1)
  })

  it('closes the topics to everybody', async () => {
    await rig.waiter.topics.add('mine', () => undefined)
    await rig.waiter.close(reason)
    expect(rig.source.subscribed.size).toBe(0)
    await expect(rig.waiter.topics.add('mine', () => undefined)).rejects.toThrow('closed')
  })
})

describe('a waiter', () => {
  it.each([
    ['resyncIntervalMs', 0],
    ['resyncIntervalMs', NaN],
    ['resyncIntervalMs', Infinity],
    ['unavailableTimeoutMs', -1],
    ['unavailableTimeoutMs', NaN],
  ])('refuses %s = %s', (option, value) => {
    expect(() => new Rig({ [option]: value })).toThrow(RangeError)
  })
})
