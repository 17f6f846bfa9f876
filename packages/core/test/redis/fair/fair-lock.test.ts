import { describe, expect, it } from '@jest/globals'
import type { Hold, LockClient } from '../../../src/index.js'
import { FairLine, served } from '../support/fair-line.js'
import { JavaFairClient } from '../support/java-fair-client.js'
import { eventually, own, soon, useRig } from '../support/rig.js'
import { SlowClock } from '../support/slow-clock.js'

// Redisson's own tests of RFairLock assert this (RedissonFairLockTest) beyond those of RLock, asserted here of a client
// for Node.

const PATIENCE_MS = 300_000
const LABELS = 'abcdefgh'.split('')

const rig = useRig({ redis: 'all' })
const line = own(() => new FairLine(rig.admin, rig.name()))
const clients = own((): Promise<LockClient[]> => Promise.all([1, 2, 3].map(() => rig.client())))
const one = (): LockClient => clients[0]!
const clientOf = (label: string): LockClient => clients[LABELS.indexOf(label) % clients.length]!
const lastTime = async (): Promise<number> =>
  Number((await rig.admin.zrange(line.keys.timeouts, '-1', '-1', 'WITHSCORES'))[1])

describe('conformance: order', () => {
  it('waiters of three clients get the lock exactly in the order in which they came (I10)', async () => {
    const holder = await line.lockOf(one()).acquire()
    const standing = await line.joinAll([...LABELS], clientOf)
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(LABELS)
  })

  it('also when nobody unlocks and every lease has to run out (I10)', async () => {
    const order: string[] = []
    const holds: Promise<Hold>[] = []
    for (const label of LABELS) {
      const taken = line.lockOf(clientOf(label)).acquire({ waitMs: 10_000, leaseMs: 120 })
      holds.push(taken)
      void taken.then(() => order.push(label))
      await eventually(async () => {
        const standing = await line.arrivals()
        return order.length + standing.length >= holds.length
      })
    }
    const last = (await Promise.all(holds)).pop()!
    await last.release()
    expect(order).toEqual(LABELS)
  })

  it('300 callers that come at once all get the lock, those of each client in order', async () => {
    let inside = 0
    const order: number[][] = clients.map(() => [])
    const caller = async (client: number, i: number): Promise<void> => {
      await line.lockOf(clients[client]!).withLock(async () => {
        inside += 1
        expect(inside).toBe(1)
        order[client]!.push(i)
        await Promise.resolve()
        inside -= 1
      })
    }
    await Promise.all(Array.from({ length: 300 }, (_, i) => caller(i % 3, i)))
    for (const mine of order) {
      expect(mine).toHaveLength(100)
      expect(mine).toEqual([...mine].sort((x, y) => x - y))
    }
  })

  it('a try that does not wait is refused while somebody stands in the queue, and the lock is free (I10)', async () => {
    const first = new JavaFairClient(rig.admin, rig.name())
    const holder = await line.lockOf(one()).acquire()
    await first.acquire()
    await holder.release()
    expect(await line.lockOf(one()).isLocked()).toBe(false)
    expect(await line.lockOf(one()).tryLock()).toBe(false)
    await first.giveUp()
    expect(await (await line.lockOf(one()).tryAcquire())?.release()).toBe('released')
  })

  it('the queue of a key prefix is that of the whole name', async () => {
    const prefixed = await Promise.all(
      [0, 1].map(() => rig.client({}, rig.connection({ keyPrefix: 'app:' }))),
    )
    const whole = new FairLine(rig.admin, `app:${rig.name()}`)
    const holder = await prefixed[0]!.getFairLock(rig.name()).acquire()
    const waiting = prefixed[1]!.getFairLock(rig.name()).acquire()
    await eventually(async () => (await whole.length()) === 1)
    await holder.release()
    await (await soon(waiting)).release()
  })
})

describe('conformance: waits that end', () => {
  it('a failed wait leaves no place in the queue: the next try succeeds at once (I8)', async () => {
    const holder = await line.lockOf(one()).acquire()
    expect(await line.lockOf(await rig.slow()).tryLock(1)).toBe(false)
    await eventually(async () => (await line.length()) === 0, 1_000)
    await holder.release()
    expect(await (await line.lockOf(clients[2]!).tryAcquire())?.release()).toBe('released')
  })

  it('800 waiters that leave at any moment leave nothing in any key (I8)', async () => {
    const holding = await rig.client()
    const holder = await line.lockOf(holding).acquire()
    const bystander = await line.join('bystander', holding)
    let [aborted, acquired] = [0, 0]
    const leave = async (i: number): Promise<void> => {
      const lock = line.lockOf(clients[i % 3]!)
      const abort = new AbortController()
      const waiting = lock.acquire(i % 5 === 0 ? { waitMs: 1 + (i % 7) } : { signal: abort.signal })
      setTimeout(() => abort.abort('enough'), (i * 7) % 11)
      const reason: unknown = await waiting.then(
        () => 'acquired',
        (error: unknown) => error,
      )
      aborted += reason === 'enough' ? 1 : 0
      acquired += reason === 'acquired' ? 1 : 0
    }
    for (let i = 0; i < 800; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => leave(i + j)))
    }
    expect([aborted, acquired]).toEqual([640, 0])
    await eventually(async () => (await line.length()) === 1, 1_000)
    expect(await line.owners()).toEqual([bystander.owner])
    expect(await rig.admin.zcard(line.keys.timeouts)).toBe(1)
    expect(await line.arrivals()).toEqual([bystander.owner])
    await holder.release()
    await soon(bystander.done)
    expect(await rig.keysLeft()).toEqual([])
  })

  it('one that leaves from the middle changes nobody’s order', async () => {
    const holder = await line.lockOf(one()).acquire()
    const abort = new AbortController()
    const before = await line.joinAll(['a', 'b'], clientOf)
    const leaving = await line.join('c', clientOf('c'), { signal: abort.signal })
    const after = await line.joinAll(['d', 'e'], clientOf)
    abort.abort()
    await expect(leaving.done).rejects.toBe(abort.signal.reason)
    await holder.release()
    await soon(served([...before, ...after]))
    expect(line.served).toEqual(['a', 'b', 'd', 'e'])
  })
})

describe('conformance: times do not drift', () => {
  it('waits that fail again and again leave the next one the time of the first', async () => {
    const holder = await line.lockOf(one()).acquire({ leaseMs: 30_000 })
    // Waits of 20 ms, and 5 s for each refusal.
    const slow = await Promise.all([1, 2, 3].map(() => rig.client({ runtime: new SlowClock(true, 20) })))
    for (let i = 0; i < 20; i += 1) {
      expect(await line.lockOf(slow[i % 3]!).tryLock(1)).toBe(false)
    }
    const waiting = await line.join('waiting', one())
    expect(await lastTime()).toBeLessThanOrEqual(Date.now() + 30_000 + PATIENCE_MS + 1_000)
    await holder.release()
    await waiting.done
  })

  it('a queue that is never empty drives no time years ahead', async () => {
    let hold = await line.lockOf(one()).acquire({ leaseMs: 5_000 })
    const waiting: Promise<Hold>[] = []
    for (let i = 0; i < 30; i += 1) {
      waiting.push(line.lockOf(clients[i % 3]!).acquire({ leaseMs: 5_000 }))
      await eventually(async () => (await line.length()) === waiting.length)
      if (waiting.length > 2) {
        await hold.release()
        hold = await soon(waiting.shift()!)
      }
    }
    expect(await lastTime()).toBeLessThanOrEqual(Date.now() + 5_000 + 5 * PATIENCE_MS)
    for (const next of waiting) {
      await hold.release()
      hold = await soon(next)
    }
    await hold.release()
  })
})
