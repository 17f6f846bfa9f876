import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { LockClient } from '../../../src/index.js'
import { backgroundRuntime, type Clock } from '../../../src/runtime/runtime.js'
import { stateOf } from '../support/carrier.js'
import { belief, BELIEVES, KNOWS_BETTER, nextEvent, nextLoss } from '../support/outcomes.js'
import { eventually, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'
const HOUR_MS = 3_600_000
/** Neither lost nor to be trusted: Redis has to say. */
const SUSPECTS = { trusted: false, ensured: false, aborted: false }

const rig = useRig()

/** A process sees this of its machine's sleep: the wall clock is ahead, the monotonic one stood still. */
class SleepyClock implements Clock {
  private sleptMs = 0
  readonly now = (): number => backgroundRuntime.now()
  readonly wallNow = (): number => backgroundRuntime.wallNow() + this.sleptMs

  setTimer(delayMs: number, fire: () => void): { cancel(): void } {
    return backgroundRuntime.setTimer(delayMs, fire)
  }

  suspend(ms: number): void {
    this.sleptMs += ms
  }
}

const sleepyClient = async (options: object = {}) => {
  const clock = new SleepyClock()
  return { clock, locks: await rig.client({ runtime: clock, ...options }) }
}

// Leases of minutes: no renewal is due during these tests, so whatever is known comes from the sleep.
describe('a machine that was suspended', () => {
  it('trusts no watched hold until Redis has answered, and loses none (I3)', async () => {
    const { clock, locks } = await sleepyClient({ lockWatchdogTimeout: 300_000 })
    const hold = await locks.getLock(NAME).acquire()
    await rig.admin.pexpire(NAME, 200_000)
    clock.suspend(HOUR_MS)
    expect(belief(hold)).toEqual(SUSPECTS)
    await eventually(() => hold.trustedForMs > 0)
    expect(belief(hold)).toEqual(BELIEVES)
    // It was not only asked about: the lease began anew.
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(290_000)
    expect(await hold.release()).toBe('released')
  })

  it('trusts a fixed lease for what Redis says is left of it (I3)', async () => {
    const { clock, locks } = await sleepyClient()
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 300_000 })
    await rig.admin.pexpire(NAME, 60_000)
    clock.suspend(240_000)
    expect(belief(hold)).toEqual(SUSPECTS)
    await eventually(() => hold.trustedForMs > 0)
    expect(hold.trustedForMs).toBeLessThanOrEqual(60_000 - 650)
    expect(await hold.release()).toBe('released')
  })

  it('learns at the first look that somebody else has its lock, not at the next renewal (I1)', async () => {
    const { clock, locks } = await sleepyClient({ lockWatchdogTimeout: 300_000 })
    const [watched, fixed] = [
      await locks.getLock(NAME).acquire(),
      await locks.getLock('b').acquire({ leaseMs: 300_000 }),
    ]
    const told: unknown[] = []
    locks.on('lost', ({ lockName, error }) => told.push([lockName, error.reason]))
    // Both leases ended during its sleep.
    await rig.admin.del(NAME, 'b')
    const others = await rig.client()
    const strangers = [await others.getLock(NAME).acquire(), await others.getLock('b').acquire()]
    clock.suspend(HOUR_MS)
    expect([belief(watched), belief(fixed)]).toEqual([SUSPECTS, SUSPECTS])
    await eventually(() => told.length === 2)
    expect(told.sort()).toEqual([
      ['b', 'gone'],
      [NAME, 'gone'],
    ])
    expect([belief(watched), belief(fixed)]).toEqual([KNOWS_BETTER, KNOWS_BETTER])
    for (const stranger of strangers) {
      expect(await stranger.release()).toBe('released')
    }
  })

  it('does not trust a lock that it asked for before it slept, until Redis has answered again (I3)', async () => {
    const { clock, locks } = await sleepyClient()
    const lock = locks.getLock(NAME)
    await rig.server.pause()
    const asked = lock.acquire()
    clock.suspend(HOUR_MS)
    rig.server.resume()
    const hold = await soon(asked)
    expect(belief(hold)).toEqual(SUSPECTS)
    await eventually(() => hold.trustedForMs > 0)
    expect(await hold.release()).toBe('released')
  })

  it('trusts nothing as long as Redis is silent, and loses it when its trust would have ended (I1, I3)', async () => {
    const clock = new ManualClock()
    const locks = await rig.client({ runtime: clock, lockWatchdogTimeout: 30_000, commandTimeout: 1_000 })
    const hold = await locks.getLock(NAME).acquire()
    const failed = nextEvent(locks, 'renewal-failed')
    const told = nextLoss(locks)
    await rig.server.pause()
    clock.stepWall(HOUR_MS)
    expect(belief(hold)).toEqual(SUSPECTS)
    await clock.advance(12_000)
    await failed
    expect(belief(hold)).toEqual(SUSPECTS)
    await clock.advance(18_000)
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'expired' } })
    rig.server.resume()
    expect(await hold.release()).toBe('lost')
  })

  it('is not what a wall clock that was set back looks like', async () => {
    const { clock, locks } = await sleepyClient()
    const hold = await locks.getLock(NAME).acquire()
    clock.suspend(-HOUR_MS)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await hold.release()).toBe('released')
  })
})

describe('a process that stood still', () => {
  // Its timers fire before its connections are read. Time is this clock's, and the connection comes in real time.
  it('has as much time again for its connection', async () => {
    const proxy = await rig.proxy()
    proxy.refuse()
    const clock = new ManualClock()
    const connecting = LockClient.connect(rig.connection({}, proxy), {
      runtime: clock,
      unavailableTimeoutMs: 1_000,
    })
    await eventually(() => clock.pendingTimers > 0)
    clock.pass(1_500)
    await clock.advance(0)
    proxy.pass()
    await (await soon(connecting)).close()
  })

  it('gives up no wait of an outage that may be over, until it has tried again', async () => {
    const proxy = await rig.proxy()
    const connection = rig.connection({}, proxy)
    const clock = new ManualClock()
    const locks = await rig.client({ runtime: clock, commandTimeout: 1_000 }, connection)
    proxy.refuse()
    await eventually(() => stateOf(connection) !== 'ready')
    const wait = locks.getLock(NAME).acquire()
    // Its first try has failed.
    await clock.advance(1_000)
    clock.pass(15_000)
    await clock.advance(0)
    proxy.pass()
    expect(await (await soon(wait)).release()).toBe('released')
  })
})
