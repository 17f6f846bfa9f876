import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import type { Hold } from '../../src/index.js'
import { eventually, sleep, soon, useRig } from './support/rig.js'

const NAME = 'order:42'
const ROUNDS = 240
const MOST_TURNS = 30

const rig = useRig()

// A release, the message of it, the waiter's try and its answer: a caller that leaves may do so in each of them.
describe('a waiter that leaves while the lock is being granted to it', () => {
  it('by its signal, at any turn: it has the lock or nobody has (I8)', async () => {
    const [holding, waiting] = [await rig.client(), await rig.client({ resyncInterval: 60_000 })]
    const outcomes = { got: 0, left: 0 }
    for (let round = 0; round < ROUNDS; round += 1) {
      const held = await soon(holding.getLock(NAME).acquire())
      const abort = new AbortController()
      const wait = waiting.getLock(NAME).acquire({ signal: abort.signal })
      const settled = wait.catch(() => null)
      if (round % 2 === 0) {
        await rig.heard(NAME)
      }
      void held.release()
      for (let turns = round % MOST_TURNS; turns > 0; turns -= 1) {
        await turn()
      }
      abort.abort()
      const hold: Hold | null = await soon(settled)
      outcomes[hold ? 'got' : 'left'] += 1
      await hold?.release()
      // Free within a second, whoever it was that had it.
      await eventually(async () => (await rig.admin.exists(NAME)) === 0, 1_000)
    }
    expect(outcomes.left).toBeGreaterThan(0)
    expect(outcomes.got).toBeGreaterThan(0)
  })

  it('by its limit, while its try is on a slow wire: it has the lock or nobody has (I8)', async () => {
    const proxy = await rig.proxy()
    const [holding, waiting] = [await rig.client(), await rig.client({}, rig.connection({}, proxy))]
    const names = Array.from({ length: 40 }, (_, i) => `lock:${i}`)
    const holds = await Promise.all(names.map((name) => holding.getLock(name).acquire()))
    proxy.delay(50)
    // Refused twice within 300 ms, and stands in the queue. A release at 400 ms grants it the lock, and the message of that
    // comes 50 ms later, while one limit after the other ends.
    const taking = names.map((name, i) => waiting.getLock(name).tryAcquire({ waitMs: 410 + 3 * i }))
    await sleep(400)
    await Promise.all(holds.map((hold) => hold.release()))
    const taken = await soon(Promise.all(taking))
    const got = taken.filter((hold) => hold !== null)
    expect(got.length).toBeLessThan(names.length)
    await Promise.all(got.map((hold) => hold.release()))
    await eventually(async () => (await rig.admin.exists(...names)) === 0, 1_000)
  })
})
