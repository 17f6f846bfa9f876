import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { acquireScript } from '../../../src/scripts/fair-lock.js'
import { FairLine, served } from '../support/fair-line.js'
import { runsOf } from '../support/requests.js'
import { eventually, own, signalled, soon, useRig } from '../support/rig.js'

// Two things may happen at the same time, one interleaving per test.

const NAME = 'order:42'
// No heartbeat helps within a test, unless it is about heartbeats.
const NEVER_MS = 20_000

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
const proxy = own(() => rig.proxy())
const locks = own(() => rig.client({ resyncInterval: NEVER_MS }))
const throughProxy = (options = {}) =>
  rig.client({ resyncInterval: NEVER_MS, ...options }, rig.connection({}, proxy))
const behindProxy = own(throughProxy)
const holder = own(() => line.lockOf(locks).acquire())
const enqueues = runsOf(acquireScript, (argv) => argv[1] === '1')

describe('a try that puts its caller in the queue', () => {
  it('is answered after the turn was announced: the waiter tries again at once (I4)', async () => {
    proxy.delay(150)
    const waiting = await line.join('waiting', behindProxy)
    // The answer is on its way, the message overtakes it.
    proxy.delay(0)
    await holder.release()
    await soon(waiting.done)
    expect(line.served).toEqual(['waiting'])
  })

  it('loses its reply: the waiter stands in the queue once, in its place (I2, I10)', async () => {
    const before = await line.join('before', locks)
    const lost = proxy.loseReply(enqueues)
    const cut = await line.join('cut', behindProxy)
    const after = await line.join('after', locks)
    await soon(lost.happened)
    expect(await line.owners()).toEqual([before, cut, after].map(({ owner }) => owner))
    await holder.release()
    await soon(served([before, cut, after]))
    expect(line.served).toEqual(['before', 'cut', 'after'])
  })

  it('is copied, and the copy arrives while the waiter stands in the queue: it stands there once (I2)', async () => {
    const copy = proxy.copyLate(enqueues, 50)
    const waiting = await line.join('waiting', behindProxy)
    await soon(copy.happened)
    expect(await line.owners()).toEqual([waiting.owner])
    await holder.release()
    await soon(waiting.done)
  })

  it('is cut, and a copy arrives after the waiter left: nobody is put in the queue (I8)', async () => {
    const lost = proxy.loseReply(enqueues)
    const left = signalled()
    const copy = proxy.copyLate(enqueues, left.promise)
    const abort = new AbortController()
    const leaving = await line.join('leaving', behindProxy, { signal: abort.signal })
    await soon(lost.happened)
    abort.abort()
    await expect(leaving.done).rejects.toBe(abort.signal.reason)
    await eventually(async () => (await line.length()) === 0)
    left.resolve()
    await soon(copy.happened)
    expect(await line.length()).toBe(0)
    await holder.release()
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('is cut, and a copy arrives after the waiter had its turn: it takes nothing (I1)', async () => {
    proxy.loseReply(enqueues)
    const served = signalled()
    const copy = proxy.copyLate(enqueues, served.promise)
    const waiting = await line.join('waiting', behindProxy)
    await holder.release()
    await soon(waiting.done)
    served.resolve()
    await soon(copy.happened)
    expect(await rig.admin.exists(NAME)).toBe(0)
    expect(await line.length()).toBe(0)
  })
})

describe('a message that is lost', () => {
  it('costs at most a heartbeat (I4)', async () => {
    const deaf = await throughProxy({ resyncInterval: 300 })
    const waiting = await line.join('waiting', deaf)
    const dropped = proxy.dropPushes(1)
    const releasedAt = performance.now()
    await holder.release()
    await soon(waiting.done)
    expect(dropped.count).toBeGreaterThan(0)
    // Room for a busy machine; without a heartbeat it would be the lease of what was granted.
    expect(performance.now() - releasedAt).toBeLessThan(300 + 3_000)
  })

  it('is tried for once the inbox is open: a client that was just made hears no turn before (I4)', async () => {
    const connection = rig.connection({}, proxy)
    await connection.ping()
    // The second connection takes several of these, the try only one.
    proxy.delay(60)
    const waiting = await line.join('waiting', rig.clientNow({ resyncInterval: NEVER_MS }, connection))
    await holder.release()
    await soon(waiting.done)
  })

  it('is found by the heartbeat of any other waiter too, which announces the turn again (I4)', async () => {
    // A lock that was granted is its own client's to find.
    const told = await throughProxy({ pushedGrants: false })
    const waiting = await line.join('waiting', told)
    const behind = await line.join('behind', await rig.client({ resyncInterval: 500 }))
    const dropped = proxy.dropPushes(1)
    await holder.release()
    await soon(dropped.happened)
    proxy.pass()
    expect(line.served).toEqual([])
    await soon(served([waiting, behind]))
    expect(line.served).toEqual(['waiting', 'behind'])
  })
})

describe('leaving', () => {
  it('when a head that was told leaves, the next in the queue is told instead (I4)', async () => {
    const abort = new AbortController()
    const head = await line.join('head', behindProxy, { signal: abort.signal })
    const next = await line.join('next', locks)
    // Its answer arrives when it has gone.
    proxy.delay(100)
    await holder.release()
    abort.abort()
    await expect(head.done).rejects.toBe(abort.signal.reason)
    await soon(next.done)
    expect(line.served).toEqual(['next'])
  })

  it('a whole client with 100 waiters that leaves lets the queue go on, and nothing stays (I5, I8)', async () => {
    const waits = Array.from({ length: 100 }, () => line.lockOf(behindProxy).acquire())
    const outcomes = Promise.allSettled(waits)
    await eventually(async () => (await line.length()) === 100)
    const behind = await line.join('behind', locks)
    await behindProxy.close()
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'CLIENT_CLOSED' } })
    }
    expect(await line.owners()).toEqual([behind.owner])
    await holder.release()
    await soon(behind.done)
    expect(await rig.contents()).toEqual({})
  })

  it('leaves no timer, with the last waiter and with the client (I5)', async () => {
    const clock = new ManualClock()
    const timed = await rig.client({ runtime: clock, resyncInterval: NEVER_MS, commandTimeout: 1_000 })
    const abort = new AbortController()
    const standing = await line.joinAll(['a', 'b', 'c'], () => timed, { signal: abort.signal })
    expect(clock.pendingTimers).toBeGreaterThan(1)
    abort.abort()
    await Promise.allSettled(standing.map(({ done }) => done))
    await eventually(async () => (await line.length()) === 0)
    // Behind the answers to what it has sent. The timer that watches over answers may outlast them.
    await line.lockOf(timed).isLocked()
    await clock.advance(1_000)
    expect(clock.pendingTimers).toBe(0)
    const last = await line.join('d', timed)
    await timed.close()
    await expect(last.done).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
    expect(clock.pendingTimers).toBe(0)
    await holder.release()
  })
})
