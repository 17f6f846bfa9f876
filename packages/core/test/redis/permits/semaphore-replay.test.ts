import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Matcher } from '@holdfast/faults/harness'
import { cancel, cancelScript } from '../../../src/scripts/counter.js'
import { acquireExpirableScript, releaseExpirableScript } from '../../../src/scripts/permit-semaphore.js'
import {
  acquirePermits,
  acquirePermitsScript,
  drainScript,
  releasePermits,
  releasePermitsScript,
} from '../../../src/scripts/semaphore.js'
import { runsOf } from '../support/requests.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

const NAME = 'pool'
const OPERATIONS = `holdfast:operations:{${NAME}}:c~1`
const rig = useRig()

beforeEach(async () => {
  await rig.admin.set(NAME, '5')
  rig.atEnd(() => rig.admin.del(NAME, `{${NAME}}:timeout`))
})

const left = (): Promise<string | null> => rig.admin.get(NAME)

describe('every RETURNS row of the scripts, by their modules', () => {
  const runner = own(() => rig.runner())

  const command = (number: number, floor = 0) => ({
    ...{ lockName: NAME, key: NAME, stamp: { key: OPERATIONS, number, floor } },
    ...{ channel: `redisson_sc:{${NAME}}`, publish: 'PUBLISH' as const, permits: 2, onlyIfExists: false },
  })
  const take = (number: number, floor?: number) => acquirePermits(runner, command(number, floor))
  const give = (number: number, floor?: number) => releasePermits(runner, command(number, floor))
  const undo = (number: number, unit = 2) => cancel(runner, { ...command(number), unit })

  it('an operation has one outcome, whatever has happened since', async () => {
    expect(await take(1)).toEqual({ kind: 'taken', left: 3 })
    expect(await take(1)).toEqual({ kind: 'taken', left: 3 })
    expect(await take(2)).toEqual({ kind: 'taken', left: 1 })
    expect(await take(3)).toEqual({ kind: 'refused', left: 1, isMissing: false })
    expect(await give(4)).toBe(true)
    expect(await give(4)).toBe(true)
    expect(await take(3)).toEqual({ kind: 'refused', left: 3, isMissing: false })
    expect(await left()).toBe('3')
  })

  it('up to the floor all are over, and an older floor does not let them in again', async () => {
    await take(1)
    await take(9, 8)
    expect((await take(5)).kind).toBe('over')
    expect((await take(10, 0)).kind).toBe('refused')
    expect((await take(7)).kind).toBe('over')
    expect(await rig.admin.hget(OPERATIONS, 'floor')).toBe('8')
    expect(await left()).toBe('1')
  })

  it('cancelled before it runs it never runs; cancelled afterwards it goes back, once', async () => {
    expect(await undo(1)).toBe(0)
    expect((await take(1)).kind).toBe('over')
    expect((await take(2)).kind).toBe('taken')
    expect(await undo(2)).toBe(2)
    expect(await undo(2)).toBe(0)
    expect((await take(2)).kind).toBe('over')
    expect(await left()).toBe('5')
    await rig.admin.del(NAME)
    expect(await take(3)).toEqual({ kind: 'refused', left: 0, isMissing: true })
    expect(await undo(3)).toBe(0)
  })

  it('what is kept of 1,000 operations is a handful of fields, with an end', async () => {
    for (let i = 1; i <= 500; i += 1) {
      await take(2 * i - 1, 2 * i - 2)
      await give(2 * i, 2 * i - 1)
    }
    expect(await rig.admin.hlen(OPERATIONS)).toBeLessThanOrEqual(17)
    expect(await rig.admin.pttl(OPERATIONS)).toBeGreaterThan(200_000)
    expect(await left()).toBe('5')
  })
})

describe('a client whose connection breaks', () => {
  const proxy = own(() => rig.proxy())
  const locks = own(() => rig.client({ commandTimeout: 300 }, rig.connection({}, proxy)))
  const semaphore = own(() => locks.getSemaphore(NAME))
  const permits = own(() => locks.getPermitExpirableSemaphore(NAME))
  const isAcquire = runsOf(acquirePermitsScript)
  const isRelease = runsOf(releasePermitsScript)
  const isAcquireOfPermits = runsOf(acquireExpirableScript)
  const isReleaseOfPermits = runsOf(releaseExpirableScript)
  /** Each permit that expires is kept until it is released. */
  const kept = (): Promise<number> => rig.admin.zcard(`{${NAME}}:timeout`)

  it.each<[string, Matcher, () => Promise<unknown>, string, number]>([
    ['acquire', isAcquire, () => semaphore.acquire(2), '3', 0],
    ['release', isRelease, () => semaphore.release(2), '7', 0],
    ['drain', runsOf(drainScript), async () => expect(await semaphore.drainPermits()).toBe(5), '0', 0],
    ['acquire of permits that expire', isAcquireOfPermits, () => permits.acquireMany(2), '3', 2],
    ['their release', isReleaseOfPermits, async () => permits.release(await permits.acquireMany(2)), '5', 0],
  ])(
    'loses the reply of %s: it counts once, also when a copy comes late (I2)',
    async (_what, match, call, then, held) => {
      const lost = proxy.loseReply(match)
      const copies = [proxy.copyLate(match, 100), proxy.copyLate(match, 300)]
      await soon(call())
      expect(lost.count).toBe(1)
      expect([await left(), await kept()]).toEqual([then, held])
      await soon(Promise.all(copies.map((copy) => copy.happened)))
      expect([await left(), await kept()]).toEqual([then, held])
    },
  )

  it('gives up while its acquire has no answer: what it may have taken is back (I8)', async () => {
    proxy.blackHole()
    const waiting = semaphore.tryAcquire(3, 100)
    await expect(soon(waiting)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    proxy.pass()
    await locks.close()
    expect(await left()).toBe('5')
  })

  it.each<[string, Matcher, (signal: AbortSignal) => Promise<unknown>]>([
    ['', isAcquire, (signal) => semaphore.acquire({ permits: 3, signal })],
    [' of permits that expire', isAcquireOfPermits, (signal) => permits.acquireMany(3, { signal })],
  ])(
    'gives up an acquire%s that has run: it is released, and a copy that comes later takes nothing (I8)',
    async (_what, match, acquire) => {
      const abort = new AbortController()
      const lost = proxy.loseReply(match)
      const copy = proxy.copyLate(match, 400)
      const waiting = acquire(abort.signal)
      await lost.happened
      expect(await left()).toBe('2')
      abort.abort(new Error('enough'))
      await expect(waiting).rejects.toThrow('enough')
      await eventually(async () => (await left()) === '5')
      await soon(copy.happened)
      expect([await left(), await kept()]).toEqual(['5', 0])
    },
  )

  it('tells of a release without an answer and goes on with it: it counts once when Redis is back', async () => {
    const impatient = await rig.impatient(
      { commandTimeout: 100, unavailableTimeoutMs: 200 },
      rig.connection({}, proxy),
    )
    proxy.blackHole()
    await expect(soon(impatient.getSemaphore(NAME).release())).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
    })
    proxy.pass()
    await eventually(async () => (await left()) === '6')
    await impatient.close()
    expect(await left()).toBe('6')
  })

  it('loses replies at random: after 200 acquires and releases the count is exact (I2)', async () => {
    for (let i = 0; i < 200; i += 1) {
      if (i % 10 === 0) proxy.loseReply(i % 20 === 0 ? isAcquire : isRelease)
      await soon(semaphore.withPermits(() => undefined, { permits: 1 + (i % 5) }))
    }
    expect(await left()).toBe('5')
  })

  it('cancels with a script that passes when it comes twice', async () => {
    const lost = proxy.loseReply(isAcquire)
    const cancelled = proxy.loseReply(runsOf(cancelScript))
    const abort = new AbortController()
    const waiting = semaphore.acquire({ permits: 5, signal: abort.signal })
    await lost.happened
    abort.abort()
    await expect(waiting).rejects.toThrow()
    await soon(cancelled.happened)
    await locks.close()
    expect(await left()).toBe('5')
  })
})
