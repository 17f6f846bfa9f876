import { describe, expect, it } from '@jest/globals'
import { setImmediate as nextLoop } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AsyncResource, type AsyncLocalStorage } from 'node:async_hooks'
import type { LockClient } from '../../../src/index.js'
import { oncePerProcess } from '../../../src/runtime/once-per-process.js'
import { useRig } from '../support/rig.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const rig = useRig()

/** Where whoever asks stands: what each async resource keeps alive that was made there. */
const placeOfCaller = (): object =>
  oncePerProcess<AsyncLocalStorage<object>>('contexts', () => {
    throw new Error('core has made it')
  }).getStore() ?? {}

/** How a service repeats itself: each run starts the next one, which inherits where it was started. */
type Run = (step: () => void) => unknown
type Runs = (one: LockClient, other: LockClient) => readonly Run[]

/** It goes on while the next one begins. */
const lasting = (step: () => void) => async (): Promise<void> => {
  step()
  await nextLoop()
  await nextLoop()
}

/** All of them in a context that does not end. */
const inside = (locks: LockClient, run: Run): Run => {
  let entered = false
  return (step) => {
    if (entered) return run(step)
    entered = true
    void locks.run(() => Promise.race([run(step), new Promise(() => undefined)]))
    return undefined
  }
}

const RUNS: readonly [string, Runs][] = [
  ['withLock()', (one) => [(step) => one.getLock('a').withLock(step)]],
  ['run()', (one) => [(step) => one.run(step)]],
  ['fork()', (one) => [(step) => one.fork(step)]],
  ['withLock() inside one run()', (one) => [inside(one, (step) => one.getLock('a').withLock(step))]],
  ['run() that overlaps', (one) => [(step) => one.run(lasting(step))]],
  ['fork() that overlaps', (one) => [(step) => one.fork(lasting(step))]],
  [
    'withLock() of two clients in turns',
    (one, other) => [(step) => one.getLock('a').withLock(step), (step) => other.getLock('b').withLock(step)],
  ],
]

describe('a task that starts itself again from inside', () => {
  it.each(RUNS)('%s: keeps nothing of the runs before the last', async (_, runsOf) => {
    const runs = runsOf(await rig.client(), await rig.client())
    const places: WeakRef<object>[] = []
    const last = await new Promise<AsyncResource>((resolve, reject) => {
      const next = (): void => {
        const run = runs[places.length % runs.length] as Run
        Promise.resolve(
          run(() => {
            places.push(new WeakRef(placeOfCaller()))
            if (places.length === 40) resolve(new AsyncResource('what would start the next one'))
            else setImmediate(next)
          }),
        ).catch(reject)
      }
      next()
    })
    let alive = places.length
    // Some objects need a second look of the collector, or a third.
    for (let round = 0; round < 3 && alive >= 5; round += 1) {
      await nextLoop()
      collect()
      alive = places.filter((each) => each.deref()).length
    }
    expect(last.runInAsyncScope(placeOfCaller)).toBe(places.at(-1)?.deref())
    expect(alive).toBeLessThan(5)
  })
})
