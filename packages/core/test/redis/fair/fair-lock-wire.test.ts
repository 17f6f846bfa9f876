import { describe, expect, it } from '@jest/globals'
import { FairLine, served } from '../support/fair-line.js'
import { JavaFairClient } from '../support/java-fair-client.js'
import { MessageLog } from '../support/message-log.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

// The keys of a fair lock in Redis, byte for byte.

const NAME = 'order:42'
const PATIENCE_MS = 300_000
// Redis is asked for its time, or for a time to live, a little before or after.
const SLACK_MS = 3_000

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
const log = own(() => MessageLog.open(rig.connection(), rig.admin))
const locks = own(() => rig.client({ clientName: 'node', resyncInterval: 5_000 }))
const others = own(() => rig.client({ clientName: 'other', resyncInterval: 7_000 }))

describe('what a fair lock leaves in an empty Redis', () => {
  it('without a waiter: the hash alone, as for any lock; a release says nothing', async () => {
    const hold = await line.lockOf(locks).acquire()
    expect(hold.owner).toMatch(/^node~[\w-]{21}:\d+$/)
    expect(await rig.contents()).toEqual({ [NAME]: { type: 'hash', value: { [hold.owner]: '1' } } })
    await rig.expectTtl(NAME, 30_000)
    expect(await hold.release()).toBe('released')
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([])
  })

  it('with waiters: a list in order, times by Redisson’s formula in Redis’s time, and our two keys', async () => {
    const hold = await line.lockOf(locks).acquire({ leaseMs: 60_000 })
    const before = await rig.now()
    const a = await line.join('a', locks)
    const b = await line.join('b', others)
    const after = await rig.now()
    const contents = await rig.contents()
    expect(Object.keys(contents)).toEqual([
      'holdfast:arrivals:{order:42}',
      'holdfast:heartbeats:{order:42}',
      'order:42',
      'redisson_lock_queue:{order:42}',
      'redisson_lock_timeout:{order:42}',
    ])
    expect(contents[NAME]).toEqual({ type: 'hash', value: { [hold.owner]: '1' } })
    expect(contents[line.keys.queue]).toEqual({ type: 'list', value: [a.owner, b.owner] })
    expect(contents[line.keys.timeouts]).toEqual({
      type: 'zset',
      value: [
        [a.owner, expect.any(Number)],
        [b.owner, expect.any(Number)],
      ],
    })
    const [first, second] = contents[line.keys.timeouts]!.value as [[string, number], [string, number]]
    expect(first[1]).toBeGreaterThan(before + 60_000 + PATIENCE_MS - SLACK_MS)
    expect(first[1]).toBeLessThanOrEqual(after + 60_000 + PATIENCE_MS)
    expect(second[1] - first[1]).toBe(PATIENCE_MS)
    const arrivals = contents[line.keys.arrivals]!.value as [[string, number], [string, number]]
    expect(arrivals.map(([owner]) => owner)).toEqual([a.owner, b.owner])
    expect(arrivals[0][1]).toBeGreaterThanOrEqual(before * 1_000)
    expect(arrivals[1][1]).toBeGreaterThan(arrivals[0][1])
    await hold.release()
    await soon(served([a, b]))
    expect(await rig.contents()).toEqual({})
  })

  it('heartbeats: until when each client that waits counts as alive, two intervals, and since when', async () => {
    const hold = await line.lockOf(locks).acquire()
    const before = await rig.now()
    const standing = [await line.join('a', locks), await line.join('b', others)]
    const after = await rig.now()
    const { ':heard': heard, ':span': span, ...lives } = await rig.admin.hgetall(line.keys.heartbeats)
    expect(Object.keys(lives)).toEqual([locks.clientId, others.clientId])
    for (const [client, ms] of [
      [locks.clientId, 10_000],
      [others.clientId, 14_000],
    ] as const) {
      const [until, since] = lives[client]!.split(' ').map(Number) as [number, number]
      expect(until - since).toBe(ms)
      expect(since).toBeGreaterThanOrEqual(before)
      expect(since).toBeLessThanOrEqual(after)
    }
    expect(Number(heard)).toBeLessThanOrEqual(after)
    expect(span).toBe('14000')
    await hold.release()
    await soon(served(standing))
  })

  it('the keys of a queue end by themselves, for waiters may die as the last in it', async () => {
    const hold = await line.lockOf(locks).acquire({ leaseMs: 60_000 })
    const waiting = await line.join('a', locks)
    for (const key of Object.values(line.keys)) {
      await rig.expectTtl(key, 2 * PATIENCE_MS)
    }
    await hold.release()
    await soon(waiting.done)
  })

  it('the list and the times have no end while a Java client stands there, as Redisson gives them none', async () => {
    const hold = await line.lockOf(locks).acquire({ leaseMs: 60_000 })
    const java = new JavaFairClient(rig.admin, NAME)
    const before = await line.join('before', locks)
    await java.acquire()
    const behind = await line.join('behind', locks)
    expect(await rig.admin.pttl(line.keys.queue)).toBe(-1)
    expect(await rig.admin.pttl(line.keys.timeouts)).toBe(-1)
    await rig.expectTtl(line.keys.arrivals, 2 * PATIENCE_MS)
    await java.giveUp()
    const last = await line.join('last', locks)
    await rig.expectTtl(line.keys.queue, 2 * PATIENCE_MS)
    await rig.expectTtl(line.keys.timeouts, 2 * PATIENCE_MS)
    await hold.release()
    await soon(served([before, behind, last]))
  })

  it('names with braces bring their own hash tag', async () => {
    const hold = await locks.getFairLock('a{b}c').acquire()
    const waiting = others.getFairLock('a{b}c').acquire()
    await eventually(async () => (await rig.admin.llen('redisson_lock_queue:a{b}c')) === 1)
    expect(Object.keys(await rig.contents())).toEqual([
      'a{b}c',
      'holdfast:arrivals:a{b}c',
      'holdfast:heartbeats:a{b}c',
      'redisson_lock_queue:a{b}c',
      'redisson_lock_timeout:a{b}c',
    ])
    await hold.release()
    await (await soon(waiting)).release()
  })
})
