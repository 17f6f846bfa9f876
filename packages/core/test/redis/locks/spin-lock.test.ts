import { expect } from '@jest/globals'
import { LockTimeoutError, type LockClient, type SpinLockOptions } from '../../../src/index.js'
import type { Clock } from '../../../src/runtime/runtime.js'
import { systemRuntime } from '../../../src/runtime/runtime.js'
import { failureOf, nextEvent } from '../support/outcomes.js'
import { eventually, sleep, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

// How the waiters of a spin lock pause, and what they cost.

const NAME = 'order:42'
/** Nobody asks by itself before a test is over. */
const NEVER_MS = 60_000
const RARELY: SpinLockOptions = { backoff: { kind: 'constant', delayMs: NEVER_MS } }

const rig = useRig()
const holding = own(() => rig.client({ clientName: 'holding' }))
const locks = own(() => rig.client({ resyncInterval: NEVER_MS }))

/** The system's clock, and the lengths of the pauses that were begun on it: other timers are longer. */
class PauseRecorder implements Clock {
  readonly pauses: number[] = []

  now = (): number => systemRuntime.now()
  wallNow = (): number => systemRuntime.wallNow()
  setTimer = (delayMs: number, fire: () => void): { cancel(): void } => {
    if (delayMs <= 128) {
      this.pauses.push(delayMs)
    }
    return systemRuntime.setTimer(delayMs, fire)
  }
}

describe('the pauses of a spin lock', () => {
  const waitingClient = (clock: Clock, random: number): Promise<LockClient> =>
    rig.client({ runtime: { ...clock, random: () => random }, resyncInterval: NEVER_MS })

  it('double up to the longest, with jitter by runtime.random, and begin anew with each wait', async () => {
    const hold = await holding.getSpinLock(NAME).acquire()
    const clock = new PauseRecorder()
    const lock = (await waitingClient(clock, 0)).getSpinLock(NAME)
    // A pause counts as at least 1 ms.
    const expected = [1, 1, 2, 4, 8, 16, 32, 64, 64]
    for (let round = 0; round < 2; round += 1) {
      clock.pauses.length = 0
      const enough = new AbortController()
      const waiting = lock.acquire({ signal: enough.signal })
      await eventually(() => clock.pauses.length >= expected.length)
      enough.abort('enough')
      await expect(waiting).rejects.toBe('enough')
      expect(clock.pauses.slice(0, expected.length)).toEqual(expected)
    }
    await hold.release()
  })

  it('begin anew after an acquisition', async () => {
    let hold = await holding.getSpinLock(NAME).acquire()
    const clock = new PauseRecorder()
    const lock = (await waitingClient(clock, 0)).getSpinLock(NAME)
    for (let round = 0; round < 2; round += 1) {
      clock.pauses.length = 0
      const waiting = lock.acquire()
      await eventually(() => clock.pauses.length >= 4)
      await hold.release()
      await (await soon(waiting)).release()
      hold = await holding.getSpinLock(NAME).acquire()
      expect(clock.pauses.slice(0, 4)).toEqual([1, 1, 2, 4])
    }
    await hold.release()
  })

  it('are always the same where that is wanted', async () => {
    const hold = await holding.getSpinLock(NAME).acquire()
    const clock = new PauseRecorder()
    const locks = await waitingClient(clock, 0.3)
    const waiting = locks.getSpinLock(NAME, { backoff: { kind: 'constant', delayMs: 20 } }).acquire()
    await eventually(() => clock.pauses.length >= 5)
    expect(clock.pauses.slice(0, 5)).toEqual([20, 20, 20, 20, 20])
    await hold.release()
    await (await soon(waiting)).release()
  })

  it('never last longer than what is left of the lease: a holder that died lets the next in (I4)', async () => {
    await holding.getSpinLock(NAME).acquire({ leaseMs: 300 })
    const next = await soon(locks.getSpinLock(NAME, RARELY).acquire())
    expect(await next.release()).toBe('released')
  })

  it('never last longer than a resync: a spin lock that vanished is found', async () => {
    const locks = await rig.client({ resyncInterval: 200 })
    await holding.getSpinLock(NAME).acquire()
    const refused = nextEvent(locks, 'waiting')
    const waiting = locks.getSpinLock(NAME, RARELY).acquire()
    await refused
    await rig.admin.del(NAME)
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('never keep a caller past its deadline', async () => {
    const hold = await holding.getSpinLock(NAME).acquire()
    const locks = await rig.slow({ resyncInterval: NEVER_MS })
    const failure = await failureOf(locks.getSpinLock(NAME, RARELY).acquire({ waitMs: 1 }))
    expect(failure).toBeInstanceOf(LockTimeoutError)
    expect(failure).toMatchObject({ holder: { owner: hold.owner } })
    expect(await soon(locks.getSpinLock(NAME, RARELY).tryLock(1))).toBe(false)
    await hold.release()
  })
})

describe('the waiters of one client', () => {
  it('1,000 of them cost one poller, and nobody subscribes or publishes', async () => {
    const CALLERS = 1_000
    const WATCHED_MS = 2_000
    const waiting = await rig.client()
    const lock = waiting.getSpinLock(NAME)
    const hold = await holding.getSpinLock(NAME).acquire()
    let [inside, passed] = [0, 0]
    const callers = Array.from({ length: CALLERS }, async () => {
      const mine = await lock.acquire()
      inside += 1
      expect(inside).toBe(1)
      passed += 1
      inside -= 1
      await mine.release()
    })
    // Until its pauses have grown to their longest: 1 + 2 + 4 + ... + 64 ms and the round trips.
    await sleep(400)
    const watchedSince = performance.now()
    const tries = async (): Promise<number> => (await rig.server.commandStats()).get('evalsha') ?? 0
    const idle = await rig.commandsDuring(async () => {
      await sleep(WATCHED_MS)
      // A busy machine asks more rarely.
      await eventually(async () => (await tries()) >= 5)
    })
    const watchedMs = performance.now() - watchedSince
    expect(await rig.admin.pubsub('CHANNELS', `*${NAME}*`)).toEqual([])
    // Between 64 and 128 ms each.
    expect(idle.get('evalsha')).toBeLessThanOrEqual(watchedMs / 64 + 1)
    const partOfScripts = new Set(['evalsha', 'exists', 'get', 'hget', 'hgetall', 'hdel', 'pttl'])
    expect([...idle.keys()].filter((command) => !partOfScripts.has(command))).toEqual([])

    const handOffs = await rig.commandsDuring(async () => {
      await hold.release()
      await Promise.all(callers)
    })
    expect(passed).toBe(CALLERS)
    // Each takes it and releases it; nobody asks in between, but for the first of all, who may just do so.
    expect(handOffs.get('evalsha')).toBeLessThanOrEqual(2 * CALLERS + 5)
    expect(handOffs.has('publish')).toBe(false)
    expect(handOffs.has('subscribe')).toBe(false)
  })

  it('are handed the lock by a release at once, in the order in which they came', async () => {
    const lock = locks.getSpinLock(NAME, RARELY)
    const hold = await lock.acquire()
    const order: number[] = []
    const callers = Array.from({ length: 50 }, async (_, i) => {
      const mine = await lock.acquire()
      order.push(i)
      await mine.release()
    })
    await hold.release()
    await soon(Promise.all(callers))
    expect(order).toEqual(order.map((_, i) => i))
  })

  it('are handed the lock by a forced release of their client too', async () => {
    const lock = locks.getSpinLock(NAME, RARELY)
    await lock.acquire()
    const waiting = lock.acquire()
    expect(await lock.forceUnlock()).toBe(true)
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('ask with pauses while a caller of getLock has the lock, also one of the same client', async () => {
    const plain = await locks.getLock(NAME).acquire()
    const waiting = locks.getSpinLock(NAME).acquire()
    await plain.release()
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('are not told by a caller of getLock, nor is one told by them: its resync finds it', async () => {
    const others = await rig.client({ resyncInterval: 300 })
    const hold = await holding.getSpinLock(NAME).acquire()
    const plain = others.getLock(NAME).acquire()
    await rig.heard(NAME)
    await hold.release()
    expect(await (await soon(plain)).release()).toBe('released')
  })
})
