import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { done, refused, Rig } from '../rig.js'

let rig: Rig
let woken: string[]
beforeEach(() => {
  rig = new Rig()
  woken = []
})
afterEach(() => rig.expectNothingLeft())

const as = (name: string) => ({ onWoken: () => void woken.push(name) })

describe('onWoken', () => {
  it('tells the head of a message and of wake(queue), and nobody behind it', async () => {
    const head = await rig.sleepingHead(as('head'))
    const second = rig.enter(as('second'))
    expect(woken).toEqual([])
    rig.source.publish('t')
    expect(woken).toEqual(['head'])
    head.answer(refused())
    await rig.clock.settle()
    rig.waiter.wake('q')
    expect(woken).toEqual(['head', 'head'])
    head.answer(done('v'))
    await rig.clock.settle()
    rig.source.publish('t')
    expect(woken).toEqual(['head', 'head', 'second'])
    second.answer(done('v'))
    await rig.clock.settle()
  })

  it('tells nothing of tries for other reasons: a confirmed subscription, a new connection, a pause', async () => {
    const head = rig.enter(as('head'), refused(), refused(10), refused(), done('v'))
    await rig.clock.settle()
    await rig.clock.advance(10)
    expect(head.attempts).toBe(3)
    rig.source.resubscribed()
    await rig.clock.settle()
    expect(head.attempts).toBe(4)
    expect(woken).toEqual([])
  })

  it('may throw', async () => {
    const head = await rig.sleepingHead({
      onWoken: () => {
        throw new Error('no')
      },
    })
    rig.source.publish('t')
    head.answer(done('v'))
    await rig.clock.settle()
    expect(head.result).toEqual({ kind: 'done', value: 'v' })
  })
})
