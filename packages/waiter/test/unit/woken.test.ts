import { beforeEach, describe, expect, it } from '@jest/globals'
import { done, refused, rig, useRig } from '../rig.js'

useRig()
let woken: string[]
beforeEach(() => {
  woken = []
})

const as = (name: string) => ({ onWoken: () => void woken.push(name) })

describe('onWoken', () => {
  it('tells the head of a message and of wake(queue), and nobody behind it', async () => {
    const head = await rig.sleepingHead(as('head'))
    const second = rig.enter(as('second'))
    expect(woken).toEqual([])
    rig.source.publish('t')
    expect(woken).toEqual(['head'])
    await head.answered(refused())
    rig.waiter.wake('q')
    expect(woken).toEqual(['head', 'head'])
    await head.answered(done('v'))
    rig.source.publish('t')
    expect(woken).toEqual(['head', 'head', 'second'])
    await second.answered(done('v'))
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
    await head.answered(done('v'))
    expect(head.result).toEqual({ kind: 'done', value: 'v' })
  })
})
