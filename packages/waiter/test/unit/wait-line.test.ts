import { describe, expect, it } from '@jest/globals'
import { done, refused, rig, useRig } from '../rig.js'

useRig()

describe('a caller that meets nobody', () => {
  it('tries in the turn it enters, and needs no timer and no subscription', async () => {
    const caller = rig.enter()
    expect(caller.attempts).toBe(1)
    expect(rig.clock.pendingTimers).toBe(0)
    expect(rig.waiter.size).toBe(1)
    await caller.answered(done('v'))
    expect(caller.result).toEqual({ kind: 'done', value: 'v' })
    expect(caller.parked).toBe(0)
    expect(rig.source.calls).toEqual([])
  })

  it('leaves no deadline timer behind when its attempt succeeds', async () => {
    const caller = rig.enter({ timeoutMs: 500 })
    expect(rig.clock.pendingTimers).toBe(1)
    await caller.answered(done('v'))
    expect(rig.clock.pendingTimers).toBe(0)
  })

  it('frees its queue for a line of its own', async () => {
    rig.enter({}, done('first'))
    await rig.clock.settle()
    expect(rig.waiter.isWaiting('q')).toBe(false)
    const second = rig.enter({}, done('second'))
    expect(second.attempts).toBe(1)
    await rig.clock.settle()
  })
})

describe('a refused head', () => {
  it('tries again once the subscription is confirmed, so that no message is lost in between (I4)', async () => {
    rig.source.hold()
    const head = rig.enter({}, refused())
    await rig.clock.settle()
    expect(head.attempts).toBe(1)
    expect(head.parked).toBe(1)
    rig.source.release()
    await rig.clock.settle()
    expect(head.attempts).toBe(2)
    await head.answered(done('v'))
    expect(head.parked).toBe(1)
    expect(rig.source.calls).toEqual(['subscribe t', 'unsubscribe t'])
  })

  it('tries a third time when the confirmation arrives while an attempt is in flight (I4)', async () => {
    rig.source.hold()
    const head = rig.enter({}, refused(10))
    await rig.clock.advance(10)
    expect(head.attempts).toBe(2)
    rig.source.release()
    await rig.clock.settle()
    await head.answered(refused())
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('sleeps until a message', async () => {
    const head = await rig.sleepingHead()
    rig.source.publish('t')
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('sleeps until wake(queue)', async () => {
    const head = await rig.sleepingHead()
    rig.waiter.wake('another queue')
    expect(head.attempts).toBe(2)
    rig.waiter.wake('q')
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('sleeps until the hint', async () => {
    const head = rig.enter({}, refused(), refused(300), refused(0), done('v'))
    await rig.clock.advance(299)
    expect(head.attempts).toBe(2)
    await rig.clock.advance(1)
    expect(head.attemptedAt).toEqual([0, 0, 300])
    await rig.clock.advance(1)
    expect(head.attemptedAt).toEqual([0, 0, 300, 301])
  })

  it('sleeps no longer than a resync, whatever the hint', async () => {
    const head = rig.enter({}, refused(60_000), refused(60_000), refused(), done('v'))
    await rig.clock.advance(2_000)
    expect(head.attemptedAt).toEqual([0, 0, 1_000, 2_000])
  })

  it('tries after a lost connection is back, for what was published meanwhile is gone (I4)', async () => {
    const head = await rig.sleepingHead()
    const other = await rig.sleepingHead({ queue: 'other', topic: 'o' })
    rig.source.resubscribed()
    expect([head.attempts, other.attempts]).toEqual([3, 3])
    head.answer(done('v'))
    other.answer(done('v'))
  })

  it('does not believe a refusal when a wake came after its attempt was sent (I4)', async () => {
    const head = await rig.sleepingHead()
    rig.source.publish('t')
    rig.source.publish('t')
    rig.source.publish('t')
    expect(head.attempts).toBe(3)
    await head.answered(refused())
    expect(head.attempts).toBe(4)
    await head.answered(refused())
    expect(head.attempts).toBe(4)
    head.place.leave()
  })

  it('without a topic waits for wake(queue), hints and ticks, and subscribes to nothing', async () => {
    let attempts = 0
    const attempt = () =>
      Promise.resolve((attempts += 1) > 3 ? done('v') : refused(attempts === 1 ? 5 : 9_000))
    const head = rig.waiter.enter({ queue: 'q', attempt })
    await rig.clock.settle()
    expect(attempts).toBe(1)
    await rig.clock.advance(5)
    expect(attempts).toBe(2)
    rig.waiter.wake('q')
    expect(attempts).toBe(3)
    await rig.clock.advance(1_000)
    expect(await head.outcome).toEqual({ kind: 'done', value: 'v' })
    expect(rig.source.calls).toEqual([])
  })

  it('goes on with ticks while a subscribe hangs, and still hears its confirmation', async () => {
    rig.source.hold()
    const head = rig.enter({}, refused(), refused(), refused())
    await rig.clock.advance(2_000)
    expect(head.attemptedAt).toEqual([0, 1_000, 2_000])
    expect(rig.source.calls).toEqual(['subscribe t'])
    rig.source.release()
    await rig.clock.settle()
    expect(head.attempts).toBe(4)
    head.answer(done('v'))
  })

  it('subscribes again at the next tick when a subscribe fails', async () => {
    rig.source.failing = ['subscribe']
    const head = rig.enter({}, refused(), refused(), refused())
    await rig.clock.advance(1_000)
    expect(rig.source.calls).toEqual(['subscribe t', 'subscribe t'])
    expect(head.attempts).toBe(2)
    rig.source.failing = []
    await rig.clock.advance(1_000)
    expect(rig.source.calls).toHaveLength(3)
    expect(head.attempts).toBe(4)
    head.answer(done('v'))
  })

  it('survives a source that throws and one that delivers while it is being subscribed', async () => {
    const subscribe = rig.source.subscribe.bind(rig.source)
    rig.source.subscribe = () => {
      throw new Error('not a rejection')
    }
    const head = rig.enter({}, refused(), refused())
    await rig.clock.settle()
    rig.source.subscribe = (topic, onMessage) => {
      onMessage('early')
      return subscribe(topic, onMessage)
    }
    await rig.clock.advance(1_000)
    expect(head.attempts).toBe(3)
    await head.answered(refused())
    expect(head.attempts).toBe(4)
    head.answer(done('v'))
  })
})

describe('callers behind the head', () => {
  it('stand in order of arrival, are told that they wait, and do not try', async () => {
    const head = await rig.sleepingHead()
    const [second, third] = [rig.enter(), rig.enter()]
    expect([second.parked, third.parked]).toEqual([1, 1])
    expect([head, second, third].map((caller) => caller.place.ahead)).toEqual([0, 1, 2])
    rig.source.publish('t')
    await rig.clock.settle()
    expect([head.attempts, second.attempts, third.attempts]).toEqual([3, 0, 0])
    second.place.leave()
    expect([head, second, third].map((caller) => caller.place.ahead)).toEqual([0, 0, 1])
    third.place.leave()
    head.answer(done('v'))
  })

  it('share one subscription, kept until the line is empty', async () => {
    const head = await rig.sleepingHead()
    const second = rig.enter({}, refused(), done('second'))
    rig.source.publish('t')
    await head.answered(done('v'))
    rig.source.publish('t')
    await rig.clock.settle()
    rig.source.publish('t')
    await rig.clock.settle()
    expect(second.result).toEqual({ kind: 'done', value: 'second' })
    expect(rig.source.calls).toEqual(['subscribe t', 'unsubscribe t'])
  })

  it('do not try after a success: it was just taken', async () => {
    const head = await rig.sleepingHead()
    const second = rig.enter()
    rig.source.publish('t')
    await head.answered(done('v'))
    expect(second.attempts).toBe(0)
    rig.source.publish('t')
    expect(second.attempts).toBe(1)
    second.answer(done('v'))
  })

  it('try after a success when a wake came since its attempt was sent (I4)', async () => {
    const head = await rig.sleepingHead()
    const second = rig.enter()
    rig.source.publish('t')
    rig.source.publish('t')
    await head.answered(done('v'))
    expect(second.attempts).toBe(1)
    second.answer(done('v'))
  })

  it('do not try after a success that took all, whatever came meanwhile, and are offered what is next', async () => {
    const head = await rig.sleepingHead()
    const second = rig.enter({ accept: String })
    rig.source.publish('t')
    rig.source.publish('t')
    await head.answered({ kind: 'done', value: 'v', takesAll: true })
    expect(second.attempts).toBe(0)
    expect(rig.waiter.offer('q', 'passed')).toBe(true)
    await rig.clock.settle()
    expect(second.result).toEqual({ kind: 'done', value: 'passed' })
  })

  it('try after a success at its hint, or at the next tick', async () => {
    const head = await rig.sleepingHead()
    const second = rig.enter({}, { kind: 'done', value: 'v' })
    const third = rig.enter({}, done('v'))
    rig.source.publish('t')
    head.answer({ kind: 'done', value: 'v', retryAfterMs: 40 })
    await rig.clock.advance(40)
    expect(second.attemptedAt).toEqual([40])
    await rig.clock.advance(999)
    expect(third.attempts).toBe(0)
    await rig.clock.advance(1)
    expect(third.attemptedAt).toEqual([1_040])
  })

  it('subscribe and try on confirmation when the head succeeded before the line was subscribed (I4)', async () => {
    const head = rig.enter()
    const second = rig.enter()
    await head.answered(done('v'))
    expect(rig.source.calls).toEqual(['subscribe t'])
    expect(second.attempts).toBe(1)
    second.answer(done('v'))
  })

  it('follow the topic of their head', async () => {
    const head = await rig.sleepingHead({ topic: 'a' })
    const second = rig.enter({ topic: 'b' }, refused(), refused())
    head.place.leave()
    await rig.clock.settle()
    expect([...rig.source.subscribed.keys()]).toEqual(['b'])
    rig.source.publish('b')
    expect(second.attempts).toBe(3)
    second.answer(done('v'))
  })
})

describe('lines', () => {
  it('are independent: a hanging attempt of one delays no other (I7)', async () => {
    const stuck = rig.enter({ queue: 'stuck' })
    const free = rig.enter({}, done('v'))
    await rig.clock.settle()
    expect(free.result).toEqual({ kind: 'done', value: 'v' })
    stuck.place.leave()
  })

  it('on one topic are all woken by its message, each at its head only', async () => {
    const readers = await rig.sleepingHead({ queue: 'readers' })
    const writers = await rig.sleepingHead({ queue: 'writers' })
    const behind = rig.enter({ queue: 'writers' }, done('v'))
    rig.source.publish('t')
    expect([readers.attempts, writers.attempts, behind.attempts]).toEqual([3, 3, 0])
    readers.answer(done('v'))
    await writers.answered(done('v'))
    rig.source.publish('t')
    await rig.clock.settle()
    expect(rig.source.calls).toEqual(['subscribe t', 'unsubscribe t'])
  })
})
