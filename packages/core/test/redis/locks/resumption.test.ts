import { describe, expect, it } from '@jest/globals'
import { setImmediate as nextLoop } from 'node:timers/promises'
import type { Hold, LockClient } from '../../../src/index.js'
import { luaSources } from '../../../src/redis/lua-sources.js'
import { signalled, sleep, useRig } from '../support/rig.js'

const LEASE_MS = 700
const PAUSE_MS = 750
// Long before the watchdog looks by itself, which it does when trust ends: these leases are not renewed.
const SHORT_MS = 250
// It ends in the pause, and a refusal has that long to come.
const WAIT_MS = 550
const QUIET_MS = 100

/**
 * In a timer's callback: what is due as well comes right after it, unless an answer waits to be read; then that one
 * comes first.
 */
function blockLoop(beforeIt: () => void): Promise<void> {
  return new Promise((resolve) =>
    setTimeout(() => {
      beforeIt()
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
      resolve()
    }, 0),
  )
}

/** A call, and what resumes its caller after the pause. */
interface Resumption {
  readonly by: string
  readonly redis: 'answers before' | 'answers during the pause' | 'stands still' | 'is gone'
  readonly call: (hold: Hold, locks: LockClient) => Promise<unknown>
}

const RESUMPTIONS: readonly Resumption[] = [
  {
    by: 'the end of a wait',
    redis: 'answers before',
    call: (_, locks) => locks.getLock('taken').acquire({ waitMs: WAIT_MS }),
  },
  {
    by: 'the signal of a wait',
    redis: 'answers before',
    call: (_, locks) => locks.getLock('taken').acquire({ signal: AbortSignal.timeout(WAIT_MS) }),
  },
  { by: 'the answer of verify', redis: 'answers during the pause', call: (hold) => hold.verify() },
  { by: 'the answer of extend', redis: 'answers during the pause', call: (hold) => hold.extend(LEASE_MS) },
  { by: 'a lock', redis: 'answers during the pause', call: (_, locks) => locks.getLock('free').acquire() },
  { by: 'a command that is not answered', redis: 'stands still', call: (hold) => hold.verify() },
  { by: 'a command that was not sent', redis: 'is gone', call: (hold) => hold.verify() },
]

describe('after a pause of the process nobody is resumed before the signals have aborted (I3)', () => {
  const own = useRig({ redis: 'test' })

  it.each(RESUMPTIONS)('by $by', async ({ redis, call }) => {
    // One that has to be sent twice is not answered during the pause.
    for (const lua of Object.values(luaSources)) await own.server.command('SCRIPT', 'LOAD', lua)
    const other = await own.client()
    await other.getLock('taken').acquire()
    const connection = own.connection({ retryStrategy: () => 10 })
    const commandTimeout = redis.startsWith('answers') ? 2 * PAUSE_MS : SHORT_MS
    const locks = await own.client({ commandTimeout }, connection)
    locks.on('lost', () => undefined)
    const names = ['one', 'two', 'three']
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire({ leaseMs: LEASE_MS })))
    const signals = holds.map(({ signal }) => signal)
    const parked = signalled<unknown>()
    locks.on('waiting', parked.resolve)
    if (redis === 'stands still' || redis === 'answers during the pause') await own.server.pause()
    if (redis === 'is gone') {
      await own.server.kill()
      while (connection.status === 'ready') await nextLoop()
    }
    const look = (): boolean[] => signals.map(({ aborted }) => aborted)
    const seen = call(holds[0]!, locks).then(look, look)
    if (redis === 'answers before') {
      await parked.promise
      // An answer under way would be read before the timers, and have the trust looked at.
      await sleep(QUIET_MS)
    }
    // Whatever the call sends is on the wire.
    await nextLoop()
    await blockLoop(() => {
      if (redis === 'answers during the pause') own.server.resume()
    })
    expect(await seen).toEqual([true, true, true])
    if (redis === 'is gone') await own.server.restart()
  })
})
