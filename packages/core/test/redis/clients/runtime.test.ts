import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Hold, LockClient, LockClientOptions, Runtime } from '../../../src/index.js'
import { ProcessSpies } from '../support/process-spies.js'

const { setImmediate: afterTurn, queueMicrotask: microtask } = globalThis
const nextTick = process.nextTick.bind(process)
const spies = new ProcessSpies()
afterAll(() => spies.restore())

// Loaded behind the spies, so that what is bound at load is seen.
const { ManualClock, seededRandom } = await import('@holdfast/faults/harness')
const { waitBehind } = await import('../support/outcomes.js')
const { eventually, soon, useRig } = await import('../support/rig.js')
const rig = useRig()
// Loading is not running.
beforeEach(() => void spies.take())

const LEASE_MS = 30_000
const NAME = 'order:42'

/** Time that stands still unless a test moves it, and chance from a seed; and what was never asked for. */
function virtual() {
  const clock = new ManualClock(1_000_000_000)
  const chance = seededRandom(26).next
  let ids = 0
  const parts: Runtime = {
    ...{ now: clock.now, wallNow: clock.wallNow, setTimer: clock.setTimer },
    ...{ afterTurn: (work) => void afterTurn(work), nextTick, microtask, random: chance },
    id: () => `virtual-${(ids += 1)}`,
    bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(chance() * 256)),
  }
  const unused = new Set(Object.keys(parts))
  const noted = Object.entries(parts).map(([name, part]: [string, (...args: never[]) => unknown]) => {
    const use = (...args: never[]): unknown => {
      unused.delete(name)
      return part(...args)
    }
    return [name, use]
  })
  return { clock, unused, runtime: Object.fromEntries(noted) as Runtime }
}

type Moving = (ms: number) => Promise<void>

/** All that locks do in their lives: taken, waited for, given up, renewed, handed over, released. */
async function lifeOfLocks(a: LockClient, b: LockClient, letPass: Moving): Promise<void> {
  const lock = a.getLock(NAME)
  const held = await lock.acquire()
  const giving = new AbortController()
  const wait = (): Promise<Hold> => b.getLock(NAME).acquire({ signal: giving.signal })
  const { waiting: first } = await waitBehind(rig, NAME, wait)
  const second = b.getLock(NAME).acquire()
  giving.abort(new Error('changed my mind'))
  await expect(first).rejects.toThrow('changed my mind')
  await letPass(LEASE_MS / 3)
  await held.release()
  await (await soon(second)).release()
  await a.getFairLock('fair').withLock(() =>
    b
      .getReadWriteLock('rw')
      .readLock()
      .withLock(() => undefined),
  )
  // Its waiter pauses for a time that chance makes.
  const spun = await a.getSpinLock('spin').acquire()
  const spinning = b.getSpinLock('spin').acquire()
  await letPass(10)
  await spun.release()
  const moving = letPass(1_000)
  await (await soon(spinning)).release()
  await moving
}

async function lifeOfTheRest(a: LockClient, b: LockClient): Promise<void> {
  const red = a.getRedLock([a.getLock('red:a'), b.getLock('red:b')])
  await red.withLock(() => undefined)
  const permits = a.getPermitExpirableSemaphore('permits')
  await permits.trySetPermits(2)
  await permits.release(await permits.acquireMany(2))
  await rig.admin.del('permits')
  const latch = a.getCountDownLatch('latch')
  await latch.trySetCount(1)
  const opened = b.getCountDownLatch('latch').await()
  await latch.countDown()
  await soon(opened)
}

async function live(options: LockClientOptions, letPass: Moving): Promise<void> {
  const [a, b] = [await rig.client(options), await rig.client(options)]
  await lifeOfLocks(a, b, letPass)
  await lifeOfTheRest(a, b)
  await a.close()
  await b.close()
}

describe('a runtime', () => {
  it('is all that core, waiter and watchdog take from their process: nothing goes past it', async () => {
    const { runtime, clock, unused } = virtual()
    await live({ runtime, lockWatchdogTimeout: LEASE_MS }, async (ms) => {
      const isHeld = (await rig.admin.pexpire(NAME, LEASE_MS / 2)) === 1
      await clock.advance(ms)
      // After a third of the lease it is renewed.
      await eventually(
        async () => !isHeld || ms < LEASE_MS / 3 || (await rig.admin.pttl(NAME)) > LEASE_MS / 2,
      )
    })
    // p-retry reads the time for a limit that nothing here sets, and asks for no timer where its pause is 0.
    const others = spies
      .take()
      .filter(
        ({ name, caller }) => !(name === 'performance.now' && caller.includes('/node_modules/p-retry/')),
      )
    expect(others).toEqual([])
    expect([...unused]).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  it('makes the ids that others see', async () => {
    const { runtime } = virtual()
    const locks = await rig.client({ clientName: 'me', runtime })
    expect(locks.clientId).toBe('me~virtual-1')
    const ids = await idsIn(locks)
    const again = await rig.client({ clientName: 'me', runtime: virtual().runtime })
    expect(await idsIn(again)).toEqual(ids)
  })

  it('left out is the process, which the spies of this test see', async () => {
    await live({}, () => Promise.resolve())
    expect(spies.take().map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        ...['performance.now', 'Date.now', 'setTimeout', 'setImmediate', 'process.nextTick'],
        ...['queueMicrotask', 'Math.random', 'crypto.randomBytes'],
      ]),
    )
  })
})

/** Two permits, which are made of bytes. */
async function idsIn(locks: LockClient): Promise<string[]> {
  const permits = locks.getPermitExpirableSemaphore('permits')
  await permits.trySetPermits(2)
  const ids = await permits.acquireMany(2)
  await permits.release(ids)
  await rig.admin.del('permits')
  return ids
}
