import { beforeAll, describe, expect, it } from '@jest/globals'
import { setting } from './support/setting.js'
import type { Side } from './support/side.js'
import { eventually, keysLeft, useSides } from './support/sides.js'

const NAME = 'order:42'
const QUEUE = `redisson_lock_queue:{${NAME}}`
const WAITERS = 20

const sides = useSides()
let java: Side
let node: Side

beforeAll(async () => {
  ;[java, node] = await Promise.all([sides.launch('java'), sides.launch('node')])
})

describe('one queue with callers of both languages', () => {
  it.each(['java', 'node'] as const)(
    'is served in the order in which they came, whoever held it first: %s (I10)',
    async (first) => {
      const holder = first === 'java' ? java : node
      await holder.call('holder', 'lock', 'fair', NAME)
      const served: number[] = []
      const waits: Promise<unknown>[] = []
      for (let i = 0; i < WAITERS; i += 1) {
        const side = i % 2 === 0 ? java : node
        const turn = side.call(`w${i}`, 'lock', 'fair', NAME).then(async () => {
          served.push(i)
          await side.call(`w${i}`, 'unlock', 'fair', NAME)
        })
        waits.push(turn)
        await eventually(async () => (await sides.redis.llen(QUEUE)) === i + 1)
      }
      await holder.call('holder', 'unlock', 'fair', NAME)
      await Promise.all(waits)
      expect(served).toEqual(served.map((_, i) => i))
      expect(served).toHaveLength(WAITERS)
      await eventually(async () => (await keysLeft(sides.redis)).length === 0)
    },
  )

  // Otherwise it would take five minutes.
  if (setting.hasFairWait) {
    it.each([
      ['java', 'node'],
      ['node', 'java'],
    ] as const)(
      'goes on when a %s waiter is killed at its head, for a %s waiter behind it, after what Redisson allows it (I10)',
      async (first, second) => {
        const fairWaitMs = 1_000
        const [dying, living] = await Promise.all([
          sides.launch(first, { fairWaitMs }),
          sides.launch(second, { fairWaitMs }),
        ])
        await node.call('holder', 'lock', 'fair', NAME, { lease: 2_000 })
        dying.call('w', 'lock', 'fair', NAME).catch(() => undefined)
        await eventually(async () => (await sides.redis.llen(QUEUE)) === 1)
        const waiting = living.call('w', 'lock', 'fair', NAME)
        await eventually(async () => (await sides.redis.llen(QUEUE)) === 2)
        await dying.kill()
        const { to: freed } = await node.call('holder', 'unlock', 'fair', NAME)
        const { to } = await waiting
        // The rest of the lease, and Redisson's patience on top.
        expect(to - freed).toBeLessThan(2_000 + fairWaitMs + 3_000)
        await living.call('w', 'unlock', 'fair', NAME)
      },
    )
  }
})
