import { getEventListeners } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { type Caller, done, refused, rig, useRig } from '../rig.js'

useRig()

const reason = new Error('changed my mind')
const attemptsOf = (...callers: Caller[]) => callers.map((caller) => caller.attempts)

const atOnce = (go: () => void) => () => {
  go()
  return Promise.resolve()
}

/** Every way to go without success. */
const exits = [
  {
    way: 'by its deadline',
    enter: (queue: string) => {
      const caller = rig.enter({ queue, timeoutMs: 500 }, refused(), refused())
      return { caller, go: () => rig.clock.advance(500) }
    },
    result: { kind: 'timeout' },
  },
  {
    way: 'by its abort',
    enter: (queue: string) => {
      const controller = new AbortController()
      const caller = rig.enter({ queue, signal: controller.signal }, refused(), refused())
      return { caller, go: atOnce(() => controller.abort(reason)) }
    },
    result: { rejected: reason },
  },
  {
    way: 'by leave()',
    enter: (queue: string) => {
      const caller = rig.enter({ queue }, refused(), refused())
      return { caller, go: atOnce(() => caller.place.leave()) }
    },
    result: { kind: 'left' },
  },
]

describe.each(exits)('a caller that goes $way', ({ enter, result }) => {
  it('a sleeping head that leaves lets the next caller try at once: a wake-up may have been meant for it', async () => {
    const { caller, go } = enter('q')
    await rig.clock.settle()
    const [second, third] = [rig.enter({}, refused()), rig.enter()]
    await go()
    await rig.clock.settle()
    expect(caller.result).toEqual(result)
    expect(attemptsOf(caller, second, third)).toEqual([2, 1, 0])
    second.place.leave()
    third.place.leave()
  })

  it('while its attempt is in flight neither waits for it nor lets its successor wait (I8)', async () => {
    const { caller, go } = enter('q')
    await rig.clock.settle()
    rig.source.publish('t')
    const second = rig.enter({}, refused())
    await go()
    await rig.clock.settle()
    expect(caller.result).toEqual(result)
    expect(attemptsOf(caller, second)).toEqual([3, 1])
    await caller.answered(done('late'))
    expect(caller.undone).toEqual(['late'])
    second.place.leave()
  })

  it('from the middle of the line disturbs nobody', async () => {
    const head = await rig.sleepingHead()
    const { caller, go } = enter('q')
    const last = rig.enter()
    await go()
    await rig.clock.settle()
    expect(caller.result).toEqual(result)
    expect(attemptsOf(head, caller, last)).toEqual([2, 0, 0])
    expect(last.place.ahead).toBe(1)
    last.place.leave()
    head.place.leave()
  })

  it('from the end of the line lets the next newcomer take its place', async () => {
    const head = await rig.sleepingHead()
    const { go } = enter('q')
    await go()
    const last = rig.enter()
    expect(last.place.ahead).toBe(1)
    head.place.leave()
    await rig.clock.settle()
    expect(last.attempts).toBe(1)
    last.answer(done('v'))
  })

  it('while a subscribe is pending does not wait for it, and leaves no subscription (I8)', async () => {
    rig.source.hold()
    const { caller, go } = enter('q')
    await rig.clock.settle()
    await go()
    await rig.clock.settle()
    expect(caller.result).toEqual(result)
    expect(rig.waiter.size).toBe(0)
    expect(rig.clock.pendingTimers).toBe(0)
    rig.source.release()
    await rig.clock.settle()
    expect(rig.source.calls).toEqual(['subscribe t', 'unsubscribe t'])
    expect(caller.attempts).toBe(1)
  })
})

describe('a clock with a microtask of its own', () => {
  it('decides when the successor of a head that left tries', async () => {
    const jobs: (() => void)[] = []
    Object.assign(rig.clock, { microtask: (work: () => void) => void jobs.push(work) })
    const head = await rig.sleepingHead()
    const second = rig.enter()
    head.place.leave()
    await rig.clock.settle()
    expect(attemptsOf(head, second)).toEqual([2, 0])
    expect(jobs).toHaveLength(1)
    jobs.forEach((work) => work())
    expect(second.attempts).toBe(1)
    second.answer(done('v'))
  })
})

describe('what an attempt brings after its caller has gone', () => {
  it('is released even when the line is gone too', async () => {
    const caller = rig.enter()
    caller.place.leave()
    expect(rig.waiter.isWaiting('q')).toBe(false)
    await caller.answered(done('late'))
    expect(caller.undone).toEqual(['late'])
  })

  it('is nothing when it is a refusal or a rejection', async () => {
    const [one, two] = [rig.enter(), rig.enter({ queue: 'q2' })]
    one.place.leave()
    two.place.leave()
    one.answer(refused())
    two.failAttempt(new Error('late'))
    await rig.clock.settle()
    expect([...one.undone, ...two.undone]).toEqual([])
  })

  it('harms nobody when releasing it throws, now or later', async () => {
    const throwing = rig.enter({
      undo: () => {
        throw new Error('undo')
      },
    })
    const rejectLater: () => unknown = () => Promise.reject(new Error('undo'))
    const rejecting = rig.enter({ queue: 'q2', undo: rejectLater })
    const second = rig.enter({}, done('v'))
    throwing.place.leave()
    rejecting.place.leave()
    throwing.answer(done('late'))
    await rejecting.answered(done('late'))
    expect(second.result).toEqual({ kind: 'done', value: 'v' })
  })
})

describe('a deadline', () => {
  it('a deadline that passes while the process sleeps ends the wait before another attempt is sent', async () => {
    const head = await rig.sleepingHead({ timeoutMs: 500 })
    const second = rig.enter({}, done('v'))
    const { now } = rig.clock
    Object.assign(rig.clock, { now: () => now() + 600 })
    rig.source.publish('t')
    await rig.clock.settle()
    expect(head.attempts).toBe(2)
    expect(head.result).toEqual({ kind: 'timeout' })
    expect(second.result).toEqual({ kind: 'done', value: 'v' })
  })

  it('shared by a whole line ends it without an attempt for each', async () => {
    const head = await rig.sleepingHead({ timeoutMs: 500 })
    const others = [1, 2, 3].map(() => rig.enter({ timeoutMs: 500 }))
    await rig.clock.advance(500)
    expect(attemptsOf(head, ...others)).toEqual([2, 0, 0, 0])
    for (const other of others) expect(other.result).toEqual({ kind: 'timeout' })
  })

  it('may be further away than a timer can reach', async () => {
    const days30 = 30 * 24 * 3_600_000
    const caller = rig.enter({ timeoutMs: days30 })
    await rig.clock.advance(2 ** 31)
    expect(caller.result).toBeUndefined()
    await rig.clock.advance(days30 - 2 ** 31)
    expect(caller.result).toMatchObject({ kind: 'unavailable' })
  })

  it('a deadline of Infinity is none, and a negative one or NaN is refused', async () => {
    const endless = rig.enter({ timeoutMs: Infinity })
    expect(rig.clock.pendingTimers).toBe(0)
    endless.place.leave()
    for (const timeoutMs of [-1, NaN]) {
      const caller = rig.enter({ timeoutMs })
      await rig.clock.settle()
      expect(caller.result).toEqual({ rejected: expect.any(RangeError) })
      expect(caller.attempts).toBe(0)
    }
  })
})

describe('a signal', () => {
  it('a signal that is aborted already rejects without an attempt', async () => {
    const caller = rig.enter({ signal: AbortSignal.abort(reason) })
    await rig.clock.settle()
    expect(caller.result).toEqual({ rejected: reason })
    expect([caller.attempts, caller.place.ahead, rig.waiter.size]).toEqual([0, 0, 0])
    caller.place.leave()
  })

  it('shared by a whole line ends it without an attempt for each', async () => {
    const controller = new AbortController()
    const callers = [1, 2, 3].map(() => rig.enter({ signal: controller.signal }, refused(), refused()))
    await rig.clock.settle()
    controller.abort(reason)
    await rig.clock.settle()
    expect(attemptsOf(...callers)).toEqual([2, 0, 0])
    for (const caller of callers) expect(caller.result).toEqual({ rejected: reason })
  })

  it('may be aborted by the attempt itself', async () => {
    const controller = new AbortController()
    const caller = rig.enter({
      signal: controller.signal,
      attempt: () => {
        controller.abort(reason)
        return Promise.resolve(done('v'))
      },
    })
    await rig.clock.settle()
    expect(caller.result).toEqual({ rejected: reason })
    expect(caller.undone).toEqual(['v'])
  })

  it.each(['done', 'left', 'timeout'])('is not listened to after %s', async (way) => {
    const controller = new AbortController()
    const { signal } = controller
    const listening = () => getEventListeners(signal, 'abort').length
    const caller = rig.enter({ signal, timeoutMs: 500 })
    expect(listening()).toBe(1)
    if (way === 'done') caller.answer(done('v'))
    if (way === 'left') caller.place.leave()
    await rig.clock.advance(500)
    expect(listening()).toBe(0)
  })
})

describe('a rejecting attempt', () => {
  it('ends the wait of its caller with that error, and nobody else’s', async () => {
    const head = rig.enter()
    const second = rig.enter({}, done('v'))
    const error = new TypeError('not mine')
    head.failAttempt(error)
    await rig.clock.settle()
    expect(head.result).toEqual({ rejected: error })
    expect(second.result).toEqual({ kind: 'done', value: 'v' })
  })

  it('may throw instead', async () => {
    const error = new TypeError('thrown')
    const head = rig.enter({
      attempt: () => {
        throw error
      },
    })
    const second = rig.enter({}, done('v'))
    await rig.clock.settle()
    expect(head.result).toEqual({ rejected: error })
    expect(second.result).toEqual({ kind: 'done', value: 'v' })
  })
})

describe('leaving', () => {
  it('twice, or after the end, does nothing', async () => {
    const head = rig.enter({}, done('v'))
    await rig.clock.settle()
    head.place.leave()
    const [other, behind] = [await rig.sleepingHead(), rig.enter()]
    other.place.leave()
    other.place.leave()
    await rig.clock.settle()
    expect(behind.attempts).toBe(1)
    expect(head.result).toEqual({ kind: 'done', value: 'v' })
    behind.answer(done('v'))
  })

  it('from inside onParked works, and a throwing onParked harms nobody', async () => {
    const controller = new AbortController()
    const head = rig.enter({ signal: controller.signal, onParked: () => controller.abort(reason) }, refused())
    const second = rig.enter(
      {
        onParked: () => {
          throw new Error('onParked')
        },
      },
      done('v'),
    )
    await rig.clock.settle()
    expect(head.result).toEqual({ rejected: reason })
    expect(second.result).toEqual({ kind: 'done', value: 'v' })
  })
})
