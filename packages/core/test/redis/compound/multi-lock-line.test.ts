import { describe, expect, it } from '@jest/globals'
import type { LockClient, LockEvents, MultiLock } from '../../../src/index.js'
import { scriptsRunBy } from '../support/carrier.js'
import { failureOf } from '../support/outcomes.js'
import { eventually, signalled, soon, useRig } from '../support/rig.js'

// The callers of one client that wait for the same locks.

const rig = useRig()

const both = (locks: LockClient, names = ['x', 'y']): MultiLock =>
  locks.getMultiLock(...names.map((name) => locks.getLock(name)))

describe('callers of one client that wait for the same locks', () => {
  it('ask one by one, in the order in which they came, in whatever order they name them', async () => {
    const holder = await both(await rig.client({ resyncInterval: 60_000 })).acquire()
    const connection = rig.connection()
    const sent = scriptsRunBy(connection)
    const locks = await rig.client({ resyncInterval: 60_000 }, connection)
    const turns: number[] = []
    const waiters = Array.from({ length: 20 }, (_, i) =>
      both(locks, i % 2 === 0 ? ['x', 'y'] : ['y', 'x']).withLock(async () => {
        turns.push(i)
        await rig.admin.ping()
      }),
    )
    await rig.heard('x')
    // Behind the try that followed the subscription.
    await locks.getLock('x').isLocked()
    // One script with a try for both, what it released, and the tries for the one that it waits for.
    expect(sent().length).toBeLessThanOrEqual(6)
    await holder.release()
    await soon(Promise.all(waiters))
    expect(turns).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })

  it('let through who does not wait, and who has one of them already', async () => {
    const locks = await rig.client({ resyncInterval: 60_000 })
    const [entered, goOn] = [signalled(), signalled()]
    const inside = locks.getLock('x').withLock(async () => {
      entered.resolve()
      await goOn.promise
      return both(locks).withLock(() => 'inside')
    })
    await entered.promise
    const first = both(locks).acquire()
    await rig.heard('x')
    expect(await both(locks).tryAcquire()).toBeNull()
    goOn.resolve()
    // The first waits for what this one has.
    expect(await soon(inside)).toBe('inside')
    await (await soon(first)).release()
  })

  it('are told of as waiting, and with the holder that the first was told', async () => {
    const holder = await both(await rig.client()).acquire()
    const locks = await rig.client({ waitingThreshold: 300 })
    const told: LockEvents['waiting'][] = []
    locks.on('waiting', (event) => told.push(event))
    const waiters = [both(locks).acquire(), both(locks).acquire()]
    await eventually(() => told.length === 2)
    expect(told.find(({ lockName }) => lockName === 'x, y')).toMatchObject({
      aheadHere: 1,
      holder: { owner: holder.holds[0]!.owner },
    })
    await holder.release()
    for (const waiting of waiters) {
      await (await soon(waiting)).release()
    }
  })

  it('leave the line when their wait is over, and are told who has it', async () => {
    const holder = await both(await rig.client()).acquire()
    const locks = await rig.slow()
    const abort = new AbortController()
    const first = both(locks).acquire({ signal: abort.signal })
    const aborted = failureOf(both(locks).acquire({ signal: abort.signal }))
    const late = both(locks).acquire({ waitMs: 1 })
    expect(await failureOf(late)).toMatchObject({ code: 'LOCK_TIMEOUT', lockName: 'x' })
    abort.abort('enough')
    await expect(first).rejects.toBe('enough')
    expect(await aborted).toBe('enough')
    await holder.release()
    await both(locks).withLock(() => undefined)
  })

  it('callers of one client that wait for the same locks that would wait for ever all hear that nobody answers, not one after the other', async () => {
    const proxy = await rig.proxy()
    const options = { commandTimeout: 100, unavailableTimeoutMs: 500, resyncInterval: 100 }
    const locks = await rig.impatient(options, rig.connection({}, proxy))
    proxy.blackHole()
    const waiters = Array.from({ length: 5 }, () => failureOf(both(locks).acquire()))
    const first = await soon(Promise.race(waiters))
    expect(first).toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    let settled = 0
    for (const each of waiters) {
      void each.then(() => (settled += 1))
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(settled).toBe(5)
    proxy.pass()
    await both(locks).withLock(() => undefined)
  })
})
