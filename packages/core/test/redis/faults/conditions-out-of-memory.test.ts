import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { RedisUnavailableError } from '../../../src/index.js'
import { nextEvent, outcomeOf, waitBehind } from '../support/outcomes.js'
import { eventually, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'
/** Redis answers at once, memory or not: only a busy machine takes its time. */
const PATIENT = { commandTimeout: 10_000 }

describe('Redis is out of memory (noeviction)', () => {
  const rig = useRig({ redis: 'test' })
  const fill = (): Promise<unknown> => rig.server.command('CONFIG', 'SET', 'maxmemory', 1)
  const empty = (): Promise<unknown> => rig.server.command('CONFIG', 'SET', 'maxmemory', 0)

  const expectRefused = (error: unknown): void => {
    expect(error).toBeInstanceOf(RedisUnavailableError)
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'refused', transient: false })
    expect((error as Error).message).toMatch(
      /^Redis refused the command: OOM command not allowed when used memory > 'maxmemory'/,
    )
  }

  it('a holder does everything but take more: alone, and in one batch with calls that fail (I2)', async () => {
    const clock = new ManualClock()
    const locks = await rig.client({ ...PATIENT, runtime: clock })
    const others = await rig.client(PATIENT)
    const thread = locks.thread()
    const names = ['a', 'b', 'c']
    for (const name of [...names, ...names, NAME]) {
      await thread.getLock(name).lock()
    }
    await fill()
    const [a, b, c] = names.map((name) => thread.getLock(name))
    const outcomes = await Promise.all(
      [a!.unlock(), thread.getLock('d').lock(), b!.unlock(), thread.getLock(NAME).lock(), c!.unlock()].map(
        outcomeOf,
      ),
    )
    expect([outcomes[0], outcomes[2], outcomes[4]]).toEqual([undefined, undefined, undefined])
    expectRefused(outcomes[1])
    expectRefused(outcomes[3])
    for (const name of [...names, NAME]) {
      expect(Object.values(await rig.admin.hgetall(name))).toEqual(['1'])
    }

    await rig.admin.pexpire('a', 15_000)
    await clock.advance(10_000)
    await eventually(async () => (await rig.admin.pttl('a')) > 15_000)
    const lock = thread.getLock(NAME)
    const again = await outcomeOf(lock.lock())
    expectRefused(again)
    expect(await lock.getHoldCount()).toBe(1)
    expect(await lock.isHeldByCurrentContext()).toBe(true)
    expect(await others.getLock(NAME).isLocked()).toBe(true)
    expect(await others.getLock(NAME).remainTimeToLive()).toBeGreaterThan(0)
    expect(await others.getLock(NAME).tryLock()).toBe(false)
    const last = [a!.unlock(), thread.getLock('d').lock(), b!.unlock()].map(outcomeOf)
    expectRefused((await Promise.all(last))[1])
    expect(await rig.admin.exists('a', 'b')).toBe(0)
    const lost = nextEvent(locks, 'lost')
    expect(await others.getLock('c').forceUnlock()).toBe(true)
    expect(await lost).toMatchObject({ lockName: 'c', error: { reason: 'forced' } })
    await lock.unlock()
    expect(await rig.admin.dbsize()).toBe(0)
    await empty()
    expect(await lock.withLock((again) => again.count)).toBe(1)
  })

  it('verify() and extend() of a hold succeed', async () => {
    const locks = await rig.client(PATIENT)
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 5_000 })
    await fill()
    await hold.verify()
    await hold.extend(60_000)
    expect(await locks.getLock(NAME).remainTimeToLive()).toBeGreaterThan(50_000)
    expect(await hold.release()).toBe('released')
  })

  it('a wait goes on while the lock is held, and fails at once when it could be taken (I8)', async () => {
    const [locks, others] = [
      await rig.client(PATIENT),
      await rig.client({ ...PATIENT, resyncInterval: 100, pushedGrants: false }),
    ]
    const lock = others.getLock(NAME)
    const hold = await locks.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => lock.acquire())
    await fill()
    const late = outcomeOf(lock.acquire({ waitMs: 20_000 }))
    // Several times the head of the queue is refused by the holder, not by Redis.
    await rig.server.resetStats()
    await eventually(async () => ((await rig.server.commandStats()).get('evalsha') ?? 0) >= 3)
    expect(await hold.release()).toBe('released')
    expectRefused(await outcomeOf(waiting))
    expectRefused(await late)
    expect(await rig.admin.dbsize()).toBe(0)
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', 'redisson*')).length === 0)
    await empty()
    expect(await lock.withLock(() => 'done')).toBe('done')
  })

  it('a waiter that the release grants the lock has it', async () => {
    // The lease of what is given lasts two of them, until its owner has it.
    const [locks, others] = [await rig.client(), await rig.client({ ...PATIENT, resyncInterval: 1_000 })]
    const lock = others.getLock(NAME)
    const hold = await locks.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => lock.acquire())
    await eventually(async () => (await rig.admin.exists(`holdfast:line:{${NAME}}`)) === 1)
    await fill()
    expect(await hold.release()).toBe('released')
    const given = await soon(waiting)
    await given.verify()
    expect(await given.release()).toBe('released')
    await eventually(async () => (await rig.admin.dbsize()) === 0)
    await empty()
  })

  it('a wait that the memory comes back in time for succeeds', async () => {
    const [locks, others] = [await rig.client(), await rig.client()]
    const hold = await locks.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire())
    await fill()
    expectRefused(await outcomeOf(others.getLock('free').acquire()))
    await empty()
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
  })
})
