import { describe, expect, it } from '@jest/globals'
import { getEventListeners } from 'node:events'
import { done, refused, rig, useRig } from '../rig.js'

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

  it('is not stretched once its line has had an answer', async () => {
    const head = rig.enter({}, refused())
    await rig.clock.settle()
    const second = rig.enter(request)
    await rig.clock.advance(1)
    expect(second.result).toEqual({ kind: 'timeout' })
    head.place.leave()
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
