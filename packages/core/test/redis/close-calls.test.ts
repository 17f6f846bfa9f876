import { describe, expect, it } from '@jest/globals'
import type { LockClient, LockError } from '../../src/index.js'
import { stateOf } from './support/carrier.js'
import { eventually } from './support/harness.js'
import { failureOf } from './support/losses.js'
import { soon, useRig } from './support/rig.js'

const rig = useRig()

const BRIEF = { commandTimeout: 200 } as const

const CALLS: readonly [string, (locks: LockClient) => Promise<unknown>][] = [
  ['isLocked()', (locks) => locks.getLock('a').isLocked()],
  ['forceUnlock()', (locks) => locks.getLock('a').forceUnlock()],
  ['inspect()', (locks) => locks.getLock('a').inspect()],
  ['availablePermits()', (locks) => locks.getSemaphore('s').availablePermits()],
]

describe('a client that is closed while a call waits for Redis', () => {
  it.each(CALLS)('that is slow: %s is answered', async (_, call) => {
    const proxy = await rig.proxy()
    const locks = await rig.client({}, rig.connection({}, proxy))
    await rig.admin.set('s', 0)
    proxy.delay(30)
    const answer = call(locks)
    await locks.close()
    expect([false, null, 0]).toContain(await soon(answer))
    await rig.admin.del('s')
  })

  it.each(CALLS)('that does not answer: %s ends', async (_, call) => {
    const proxy = await rig.proxy()
    const locks = await rig.client(BRIEF, rig.connection({}, proxy))
    proxy.blackHole()
    const failure = failureOf(call(locks))
    await locks.close({ graceMs: 0 })
    expect(await soon(failure)).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'unknown' })
    proxy.pass()
  })

  it.each(CALLS)('and is not there: %s ends', async (_, call) => {
    const proxy = await rig.proxy()
    const connection = rig.connection({}, proxy)
    const locks = await rig.client(BRIEF, connection)
    proxy.refuse()
    await eventually(() => stateOf(connection) !== 'ready')
    const failure = failureOf(call(locks))
    await locks.close({ graceMs: 0 })
    // Its own time and that of close are over at the same moment.
    const { code } = (await soon(failure)) as LockError
    expect(['REDIS_UNAVAILABLE', 'CLIENT_CLOSED']).toContain(code)
    proxy.pass()
  })

  it('that does not answer: a release, which is tried again, ends with the client', async () => {
    const proxy = await rig.proxy()
    const options = { ...BRIEF, unavailableTimeoutMs: 60_000 }
    const locks = await rig.client(options, rig.connection({}, proxy))
    const hold = await locks.getLock('a').acquire({ leaseMs: 60_000 })
    proxy.blackHole()
    const failure = failureOf(hold.release())
    await locks.close({ graceMs: 0 })
    expect(await soon(failure)).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'unknown' })
    proxy.pass()
    await rig.admin.del('a')
  })
})
