import { describe, expect, it } from '@jest/globals'
import { backgroundRuntime, type Clock } from '../../../src/runtime/runtime.js'
import { acquireScript, releaseScript } from '../../../src/scripts/lock.js'
import { scriptsRunBy } from '../support/carrier.js'
import { nextEvent } from '../support/outcomes.js'
import { runsOf } from '../support/requests.js'
import { eventually, soon, useRig } from '../support/rig.js'
import { SlowClock } from '../support/slow-clock.js'

const NAME = 'order:42'

const rig = useRig()
const counts = async () => Object.values(await rig.admin.hgetall(NAME)).map(Number)

/**
 * A client that re-enters without a round trip, and how many commands it has sent. Its clock is slow, so that the event
 * loop need not run meanwhile, unless the test is about that.
 */
async function reentering(connection = rig.connection(), clock: Clock | undefined = new SlowClock()) {
  const sent = scriptsRunBy(connection)
  const locks = await rig.client({ localReentry: true, runtime: clock }, connection)
  return { locks, sent, lock: locks.thread().getLock(NAME) }
}

const turnsOfMicrotasks = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await Promise.resolve()
}

describe('with localReentry', () => {
  it('levels come and go without a command, and Redis hears of them once a tick (I2)', async () => {
    const { lock, sent } = await reentering()
    const outer = await lock.acquire()
    const before = sent().length
    const inner = [await lock.acquire(), await lock.acquire(), await lock.acquire()]
    expect(outer.count).toBe(4)
    expect(sent().length).toBe(before)
    await eventually(async () => (await counts())[0] === 4)
    expect(sent().slice(before)).toEqual([releaseScript.sha1])
    for (const hold of inner) expect(await hold.release()).toBe('still-held')
    expect(sent().length).toBe(before + 1)
    await eventually(async () => (await counts())[0] === 1)
    expect(await outer.release()).toBe('released')
    expect(await rig.contents()).toEqual({})
  })

  it('levels that have gone within a tick are never heard of', async () => {
    const { locks, sent } = await reentering()
    await locks.getLock(NAME).withLock(async () => {
      const before = sent().length
      expect(await locks.getLock(NAME).withLock(() => 1)).toBe(1)
      expect(sent().length).toBe(before)
    })
    expect(await rig.contents()).toEqual({})
  })

  it('a loop of levels lets timers fire, and Redis hears of a level that stays', async () => {
    const { locks, sent } = await reentering(rig.connection(), backgroundRuntime)
    let fired = false
    await locks.getLock(NAME).withLock(async () => {
      const stays = await locks.getLock(NAME).acquire()
      const before = sent().length
      setTimeout(() => (fired = true), 10)
      const endsAt = performance.now() + 5_000
      while (!fired && performance.now() < endsAt) await locks.getLock(NAME).withLock(() => undefined)
      expect(sent().length).toBeGreaterThan(before)
      await stays.release()
    })
    expect(fired).toBe(true)
  })

  it('a caller that leaves while the event loop runs adds no level (I2)', async () => {
    const { lock } = await reentering(rig.connection(), backgroundRuntime)
    const outer = await lock.acquire()
    const leaving = new AbortController()
    const reasons: unknown[] = []
    const endsAt = performance.now() + 5_000
    // Until one of them is held up.
    while (reasons.length === 0 && performance.now() < endsAt) {
      const inner = lock.acquire({ signal: leaving.signal }).then(
        (hold) => hold.release(),
        (reason: unknown) => void reasons.push(reason),
      )
      const isHeldUp = await Promise.race([inner.then(() => false), turnsOfMicrotasks(20).then(() => true)])
      if (isHeldUp) leaving.abort('enough')
      await inner
    }
    expect(reasons).toEqual(['enough'])
    expect(outer.count).toBe(1)
    await outer.release()
  })

  it('the last release frees the lock whatever count Redis has heard of', async () => {
    const { lock } = await reentering()
    const outer = await lock.acquire()
    const inner = await lock.acquire()
    expect(await Promise.all([inner.release(), outer.release()])).toEqual(['still-held', 'released'])
    expect(await rig.contents()).toEqual({})
  })

  it('a level with a lease of its own asks Redis, and so does one of a hold with a fixed lease', async () => {
    const { lock, sent } = await reentering()
    const outer = await lock.acquire({ leaseMs: 20_000 })
    const middle = await lock.acquire({ leaseMs: 60_000 })
    expect(sent().filter((script) => script === acquireScript.sha1).length).toBe(2)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(50_000)
    expect(await middle.release()).toBe('still-held')
    expect(await counts()).toEqual([1])
    await outer.release()
  })

  it('a count without an answer is written until it has one (I2)', async () => {
    const proxy = await rig.proxy()
    const { lock } = await reentering(rig.connection({}, proxy))
    const outer = await lock.acquire()
    const lost = proxy.loseRequest(runsOf(releaseScript))
    const inner = await lock.acquire()
    await lost.happened
    await eventually(async () => (await counts())[0] === 2)
    expect(await soon(inner.release())).toBe('still-held')
    expect(await soon(outer.release())).toBe('released')
    expect(await counts()).toEqual([])
  })

  it('a lock that was deleted by hand is noticed when the count follows, and nothing is created (I6)', async () => {
    const { locks, lock } = await reentering()
    const outer = await lock.acquire()
    await rig.admin.del(NAME)
    const lost = nextEvent(locks, 'lost')
    const inner = await lock.acquire()
    expect(await lost).toMatchObject({ owner: outer.owner, error: { reason: 'gone' } })
    expect([inner.isLost, outer.isLost]).toEqual([true, true])
    expect(await rig.contents()).toEqual({})
  })
})
