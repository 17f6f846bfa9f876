import { describe, expect, it } from '@jest/globals'
import type { EventEmitter } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LockClient } from '../../../src/index.js'
import { carrierOf, stateOf } from '../support/carrier.js'
import { eventually, sleep, useRig } from '../support/rig.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

async function heapInUse(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect()
    await sleep(20)
  }
  return process.memoryUsage().heapUsed
}

/** On a busy machine a short wait may end before its answer. It has to leave as little as one that was refused. */
function unanswered(error: unknown): false {
  expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE' })
  return false
}

describe('leaks', () => {
  const rig = useRig({ redis: 'all' })

  it('100,000 cycles of lock, unlock, abort and time-out leave nothing behind (I5, I8)', async () => {
    const connection = rig.connection()
    const redis = carrierOf(connection)
    await eventually(() => stateOf(connection) === 'ready')
    const emitter = redis as unknown as EventEmitter
    const listeners = (): number =>
      emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0)
    const before = { listeners: listeners(), timers: timersAlive() }
    const locks = await LockClient.connect(redis, { bareCalls: 'allow' })
    const busy = await rig.client()
    const held = await busy.getLock(rig.name('held')).acquire()

    const cycles = async (count: number): Promise<void> => {
      const flow = async (index: number): Promise<void> => {
        const free = locks.getLock(rig.name(`free${index}`))
        const taken = locks.getLock(rig.name('held'))
        for (let i = 0; i < count / 50; i++) {
          const kind = i % 10
          if (kind < 6) {
            await (await free.acquire()).release()
          } else if (kind < 8) {
            await free.withLock(() => free.withLock(() => undefined))
          } else if (kind === 8) {
            expect(await taken.tryLock(1).catch(unanswered)).toBe(false)
          } else {
            const aborting = new AbortController()
            const wait = taken.acquire({ signal: aborting.signal }).catch((error: unknown) => error)
            aborting.abort('enough')
            expect(await wait).toBe('enough')
          }
        }
      }
      await Promise.all(Array.from({ length: 50 }, (_, index) => flow(index)))
    }

    await cycles(20_000)
    const warm = await heapInUse()
    await cycles(100_000)
    const after = await heapInUse()
    expect(after / warm).toBeLessThan(1.05)

    await held.release()
    await locks.close()
    expect(listeners()).toBe(before.listeners)
    await busy.close()
    // Jest has timers of its own in this process, which come and go.
    await eventually(() => timersAlive() <= before.timers, 20_000)
  }, 300_000)
})

/** Timers that keep the process alive, by Node's own account. */
function timersAlive(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}
