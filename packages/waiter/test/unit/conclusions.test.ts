import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Answer, type Attempt, type Place, type WaitOutcome, type WaitRequest } from '../../src/index.js'
import { done, refused, rig, useRig } from '../rig.js'

useRig()
let heard: string[]
beforeEach(() => {
  heard = []
})

const told = (outcome: WaitOutcome<string>): string =>
  outcome.kind === 'done' ? `has ${outcome.value}` : outcome.kind

/** A caller that makes a word of how its wait ends, and notes when it does. */
const enter = (request: Partial<WaitRequest<string, string>>): Place<string> =>
  rig.waiter.enter<string, string>({
    queue: 'q',
    topic: 't',
    attempt: () => Promise.resolve(refused()),
    conclude: (outcome) => {
      heard.push(told(outcome))
      return told(outcome)
    },
    rejected: (reason) => {
      heard.push(`rejected: ${(reason as Error).message}`)
      throw new Error('as concluded', { cause: reason })
    },
    ...request,
  })

/** An attempt that is answered by hand, to whoever asked, in that turn. */
const byHand = (): {
  attempt: () => Answer<Attempt<string>>
  answer: (answered: Attempt<string>) => void
} => {
  let tell: (answer: Attempt<string>) => void = () => undefined
  return {
    attempt: () => ({ then: (answered) => (tell = answered) }),
    answer: (answer) => tell(answer),
  }
}

describe('how a wait ends', () => {
  it('is concluded in the turn in which the attempt succeeds, and the place has what that returns', async () => {
    const { attempt, answer } = byHand()
    const place = enter({ attempt })
    answer(done('it'))
    expect(heard).toEqual(['has it'])
    expect(rig.waiter.isWaiting('q')).toBe(false)
    await expect(place.outcome).resolves.toBe('has it')
  })

  it('is concluded in the turn in which an offer is taken', async () => {
    const place = enter({ accept: (offer) => `offered ${String(offer)}` })
    await rig.clock.settle()
    expect(rig.waiter.offer('q', 'it')).toBe(true)
    expect(heard).toEqual(['has offered it'])
    await expect(place.outcome).resolves.toBe('has offered it')
  })

  it('is concluded in a turn of its own when it is no success', async () => {
    const place = enter({})
    await rig.clock.settle()
    place.leave()
    expect(heard).toEqual([])
    await expect(place.outcome).resolves.toBe('left')
  })

  it('is concluded at the deadline', async () => {
    const place = enter({ timeoutMs: 10 })
    await rig.clock.advance(10)
    await expect(place.outcome).resolves.toBe('timeout')
  })

  it('is a promise, where that is what the conclusion is', async () => {
    const place = enter({
      attempt: () => Promise.resolve(done('it')),
      conclude: (outcome) => Promise.resolve(`later: ${told(outcome)}`),
    })
    await expect(place.outcome).resolves.toBe('later: has it')
  })

  it('is a rejection, where the conclusion throws', async () => {
    const { attempt, answer } = byHand()
    const conclude = (): never => {
      throw new Error('of no use')
    }
    const place = enter({ attempt, conclude })
    answer(done('it'))
    await expect(place.outcome).rejects.toThrow('of no use')
  })

  it('is what `rejected` makes of an abort, of a failed attempt, and of a waiter that is closed', async () => {
    const controller = new AbortController()
    const aborted = enter({ signal: controller.signal })
    controller.abort(new Error('abort'))
    await expect(aborted.outcome).rejects.toThrow('as concluded')
    await expect(enter({ signal: controller.signal }).outcome).rejects.toThrow('as concluded')
    const failed = enter({ attempt: () => Promise.reject(new Error('attempt')) })
    await expect(failed.outcome).rejects.toThrow('as concluded')
    await rig.waiter.close(new Error('closed'))
    await expect(enter({}).outcome).rejects.toThrow('as concluded')
    expect(heard).toEqual(['rejected: abort', 'rejected: abort', 'rejected: attempt', 'rejected: closed'])
  })
})

describe('a conclusion that acts', () => {
  it('may enter the same line again: its new attempt is sent and answered', async () => {
    const { attempt, answer } = byHand()
    const again = byHand()
    const place = enter({
      attempt,
      conclude: () => enter({ attempt: again.attempt }).outcome,
    })
    answer(done('first'))
    again.answer(done('second'))
    await expect(place.outcome).resolves.toBe('has second')
  })

  it('may enter again behind others: they come first', async () => {
    const first = byHand()
    const order: string[] = []
    const noted = (name: string) => ({
      attempt: () => Promise.resolve(done(name)),
      conclude: () => {
        order.push(name)
        return name
      },
    })
    const place = enter({ attempt: first.attempt, conclude: () => enter(noted('again')).outcome })
    const next = enter(noted('next'))
    first.answer(done('first'))
    rig.waiter.wake('q')
    await next.outcome
    rig.waiter.wake('q')
    await place.outcome
    expect(order).toEqual(['next', 'again'])
  })

  it('may end the wait of the next in line', async () => {
    const first = byHand()
    let next: Place<string> | undefined = undefined
    const place = enter({
      attempt: first.attempt,
      conclude: (outcome) => {
        next?.leave()
        return told(outcome)
      },
    })
    next = enter({})
    first.answer(done('it'))
    await expect(place.outcome).resolves.toBe('has it')
    await expect(next.outcome).resolves.toBe('left')
  })

  it('is not reached by what foreign code ends before it: the caller has what it wanted', async () => {
    const controller = new AbortController()
    const first = byHand()
    const place = enter({ attempt: first.attempt, signal: controller.signal })
    const next = enter({})
    const subscribe = rig.source.subscribe.bind(rig.source)
    rig.source.subscribe = (...args) => {
      controller.abort(new Error('too late'))
      return subscribe(...args)
    }
    first.answer(done('it'))
    await expect(place.outcome).resolves.toBe('has it')
    expect(controller.signal.aborted).toBe(true)
    next.leave()
    await next.outcome
  })
})
