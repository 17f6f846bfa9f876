import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import { stateOf } from './support/carrier.js'
import { eventually } from './support/harness.js'
import { failureOf } from './support/losses.js'
import { soon, useRig } from './support/rig.js'

const rig = useRig()

/** Longer than any test: what ends a call here is the end of its client. */
const PATIENT = { commandTimeout: 60_000, unavailableTimeoutMs: 60_000 } as const

const CALLS: readonly [string, (locks: LockClient) => Promise<unknown>][] = [
  ['isLocked()', (locks) => locks.getLock('a').isLocked()],
  ['forceUnlock()', (locks) => locks.getLock('a').forceUnlock()],
  ['inspect()', (locks) => locks.getLock('a').inspect()],
  ['availablePermits()', (locks) => locks.getSemaphore('s').availablePermits()],
]

describe('a client that is closed while a call waits for Redis', () => {
  it.each(CALLS)('that does not answer: %s ends', async (_, call) => {
    const proxy = await rig.proxy()
    const locks = await rig.client({ ...PATIENT, resyncInterval: 100 }, rig.connection({}, proxy))
    proxy.blackHole()
    const failure = failureOf(call(locks))
    await locks.close({ graceMs: 0 })
    expect(await soon(failure)).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      outcome: 'unknown',
      transient: false,
    })
    proxy.pass()
  })

  it.each(CALLS)('and is not there: %s ends', async (_, call) => {
    const proxy = await rig.proxy()
    const connection = rig.connection({}, proxy)
    const locks = await rig.client(PATIENT, connection)
    proxy.refuse()
    await eventually(() => stateOf(connection) !== 'ready')
    const failure = failureOf(call(locks))
    await locks.close({ graceMs: 0 })
    expect(await soon(failure)).toMatchObject({ code: 'CLIENT_CLOSED' })
    proxy.pass()
  })
})
