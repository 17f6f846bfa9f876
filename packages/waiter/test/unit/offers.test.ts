import { describe, expect, it } from '@jest/globals'
import { done, refused, rig, unavailable, useRig } from '../rig.js'

useRig()

const takes = { accept: (offer: unknown) => `took ${String(offer)}` }

describe('an offer', () => {
  it('ends the wait of a head that sleeps, without a try, and the next sleeps on', async () => {
    const head = await rig.sleepingHead(takes)
    const next = rig.enter(takes)
    expect(rig.waiter.offer('q', 'a')).toBe(true)
    await rig.clock.settle()
    expect(head.result).toEqual({ kind: 'done', value: 'took a' })
    expect([head.attempts, next.attempts]).toEqual([2, 0])
    expect(rig.waiter.offer('q', 'b')).toBe(true)
    await rig.clock.settle()
    expect(next.result).toEqual({ kind: 'done', value: 'took b' })
    expect(next.attempts).toBe(0)
  })

  it('is nobody’s when no line is there, and leaves none behind', () => {
    expect(rig.waiter.offer('q', 'a')).toBe(false)
  })

  it('is not made to a head that tries: its attempt may bring it too', async () => {
    const head = rig.enter(takes)
    expect(rig.waiter.offer('q', 'a')).toBe(false)
    await head.answered(done('tried'))
    expect(head.result).toEqual({ kind: 'done', value: 'tried' })
  })

  it('does not go past a head that does not want it', async () => {
    const head = await rig.sleepingHead({ accept: () => undefined })
    const next = rig.enter(takes)
    expect(rig.waiter.offer('q', 'a')).toBe(false)
    head.place.leave()
    await rig.clock.settle()
    next.answer(done('v'))
  })

  it('is not made to a head whose time is up, though its timer is late', async () => {
    let wasTaken: boolean | undefined
    rig.clock.setTimer(50, () => (wasTaken = rig.waiter.offer('q', 'a')))
    const head = await rig.sleepingHead({ ...takes, timeoutMs: 50 })
    await rig.clock.advance(50)
    expect(wasTaken).toBe(false)
    expect(head.result).toEqual({ kind: 'timeout' })
  })

  it('leaves a line that pauses in an outage to its pause', async () => {
    const head = rig.enter(takes, unavailable('down'))
    const next = rig.enter({})
    await rig.clock.settle()
    expect(rig.waiter.offer('q', 'a')).toBe(true)
    await rig.clock.advance(10_000)
    expect(head.result).toEqual({ kind: 'done', value: 'took a' })
    expect(next.attempts).toBe(1)
    next.answer(done('v'))
  })
})

describe('a line that stands back', () => {
  it('tries when the time is over, however often it is woken before', async () => {
    const head = await rig.sleepingHead()
    rig.waiter.standBack('q', 5)
    rig.source.publish('t')
    rig.waiter.wake('q')
    await rig.clock.advance(4)
    expect(head.attempts).toBe(2)
    await rig.clock.advance(1)
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('tries at once when it need not any more', async () => {
    const head = await rig.sleepingHead()
    rig.waiter.standBack('q', 5)
    rig.waiter.standBack('q', 0)
    expect(head.attempts).toBe(3)
    head.answer(done('v'))
  })

  it('lets a successor stand back too', async () => {
    const head = await rig.sleepingHead()
    const next = rig.enter()
    rig.waiter.standBack('q', 5)
    head.place.leave()
    await rig.clock.advance(4)
    expect(next.attempts).toBe(0)
    await rig.clock.advance(1)
    expect(next.attempts).toBe(1)
    next.answer(done('v'))
  })

  it('still ends waits on time', async () => {
    const head = await rig.sleepingHead({ timeoutMs: 3 })
    rig.waiter.standBack('q', 5)
    await rig.clock.advance(3)
    expect(head.result).toEqual({ kind: 'timeout' })
  })
})

it('a line says whether it listens', async () => {
  expect(rig.waiter.isListening('q')).toBe(false)
  rig.source.hold()
  const head = rig.enter({}, refused(), refused())
  await rig.clock.settle()
  expect(rig.waiter.isListening('q')).toBe(false)
  rig.source.release()
  await rig.clock.settle()
  expect(rig.waiter.isListening('q')).toBe(true)
  head.place.leave()
})
