import { describe, expect, it } from '@jest/globals'
import { itAtOnce } from '../support/at-once.js'
import { FairLine, fairKeys, served } from '../support/fair-line.js'
import { JavaFairClient } from '../support/java-fair-client.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

// Parts of a line that vanish by themselves: a DEL, a RENAME, an eviction. Waiters rebuild them (I10).

const NAME = 'order:42'
// The line waits for lost clients for 1.1 of these, and each reports after one: a tenth is left for a busy machine.
const HEARTBEAT_MS = 1_000
// Two heartbeats of a Redis that answers, and what a busy machine needs.
const WITHIN_MS = 2.2 * HEARTBEAT_MS + 700
const answer = () => rig.admin.ping()

type Part = keyof ReturnType<typeof fairKeys>
const PARTS: readonly Part[] = ['queue', 'timeouts', 'arrivals', 'heartbeats']

/** Each set of parts that can be lost, of a line with a name of its own. */
const losses = Array.from({ length: 15 }, (_, i) => PARTS.filter((_part, bit) => ((i + 1) >> bit) & 1)).map(
  (parts) => ({ name: parts.join(', '), parts }),
)

const rig = useRig()
const client = () => rig.client({ resyncInterval: HEARTBEAT_MS })
const [one, two, third] = [own(client), own(client), own(client)]

const keysOf = (line: FairLine, parts: readonly Part[]): string[] => parts.map((part) => line.keys[part])
const ttls = (line: FairLine) => Promise.all(keysOf(line, PARTS).map((key) => rig.admin.pttl(key)))
/** A lock that the third client holds, and four who wait for it. */
const standing = async (name: string) => {
  const line = new FairLine(rig.admin, name)
  const holder = await line.lockOf(third).acquire()
  const waiters = await line.joinAll(['a', 'b', 'c', 'd'], (label) => ('ac'.includes(label) ? one : two))
  return { line, holder, waiters }
}
const isGone = async (line: FairLine): Promise<boolean> =>
  (await rig.admin.exists(line.name, ...keysOf(line, PARTS))) === 0

describe('a fair lock of which Redis has lost a part of the queue', () => {
  itAtOnce(
    'held: the queue is rebuilt within two heartbeats, with an end for each key (I8, I10)',
    losses,
    async ({ name, parts }) => {
      const { line, holder, waiters } = await standing(name)
      const owners = waiters.map(({ owner }) => owner)
      await rig.admin.del(...keysOf(line, parts))
      await eventually(
        async () => {
          const [list, arrivals] = [await line.owners(), await line.arrivals()]
          const times = await rig.admin.zcard(line.keys.timeouts)
          const lives = await rig.admin.hlen(line.keys.heartbeats)
          const isWhole = [list, arrivals].every((each) => each.join() === owners.join())
          return isWhole && times === 4 && lives >= 4
        },
        WITHIN_MS,
        answer,
      )
      for (const ttl of await ttls(line)) {
        expect(ttl).toBeGreaterThan(0)
      }
      await holder.release()
      await soon(served(waiters), WITHIN_MS, answer)
      expect(line.served).toEqual(['a', 'b', 'c', 'd'])
      expect(await isGone(line)).toBe(true)
    },
  )

  itAtOnce(
    'free: all are served in order within two heartbeats (I4, I10)',
    losses,
    async ({ name, parts }) => {
      const { line, waiters } = await standing(name)
      await rig.admin.del(name, ...keysOf(line, parts))
      // Where anything is left it tells a newcomer that others are first.
      const newcomer = parts.length < PARTS.length ? line.lockOf(await client()).acquire() : undefined
      await soon(served(waiters), WITHIN_MS, answer)
      expect(line.served).toEqual(['a', 'b', 'c', 'd'])
      await (await newcomer)?.release()
      await eventually(() => isGone(line))
    },
  )

  itAtOnce(
    'released at once: nobody sleeps beside the free lock (I4, I8)',
    losses,
    async ({ name, parts }) => {
      const { line, holder, waiters } = await standing(name)
      await rig.admin.del(...keysOf(line, parts))
      await holder.release()
      await soon(served(waiters), WITHIN_MS, answer)
      expect(line.served).toEqual(['a', 'b', 'c', 'd'])
      await eventually(() => isGone(line))
    },
  )

  itAtOnce('leaves no key for ever when all who waited die with it (I8)', losses, async ({ name, parts }) => {
    const { line, holder, waiters } = await standing(name)
    await rig.admin.del(...keysOf(line, parts))
    const late = await line.join('late', third)
    for (const key of [name, ...(await rig.admin.keys(`*{${name}}*`))]) {
      expect([key, await rig.admin.pttl(key)]).not.toEqual([key, -1])
    }
    await holder.release()
    await soon(served([...waiters, late]), WITHIN_MS, answer)
  })

  it('the queue renamed away and a Java thread in it: its place is known by its time (I10)', async () => {
    const line = new FairLine(rig.admin, NAME)
    const java = new JavaFairClient(rig.admin, NAME)
    const holder = await line.lockOf(third).acquire()
    const a = await line.join('a', one)
    await java.acquire()
    const b = await line.join('b', two)
    await rig.admin.rename(line.keys.queue, 'elsewhere')
    await eventually(async () => (await line.length()) === 3, WITHIN_MS, answer)
    expect(await line.owners()).toEqual([a.owner, java.owner, b.owner])
    await holder.release()
    await soon(a.done)
    expect(await java.acquire()).toBeNull()
    await java.unlock()
    await soon(b.done)
    await rig.admin.del('elsewhere')
  })
})

describe('a plain lock of which Redis has lost the queue', () => {
  it.each([false, true])('is had by each who waits; free: %s (I4)', async (isFree) => {
    const holder = await third.getLock(NAME).acquire()
    const waits = [one, two].map((locks) =>
      locks.getLock(NAME).withLock(() => Promise.resolve('served'), { waitMs: 5_000 }),
    )
    const key = `holdfast:line:{${NAME}}`
    await eventually(async () => (await rig.admin.zcard(key)) >= 4)
    await rig.admin.del(key, ...(isFree ? [NAME] : []))
    if (!isFree) {
      await eventually(async () => (await rig.admin.zcard(key)) >= 4, WITHIN_MS, answer)
    }
    await holder.release()
    expect(await soon(Promise.all(waits), WITHIN_MS, answer)).toEqual(['served', 'served'])
  })

  it("is had by each also with interop: 'none', which announces nothing without a queue (I4)", async () => {
    const ours = await rig.client({ resyncInterval: HEARTBEAT_MS, interop: 'none' })
    const other = await rig.client({ resyncInterval: HEARTBEAT_MS, interop: 'none' })
    const holder = await ours.getLock(NAME).acquire()
    const waiting = other.getLock(NAME).acquire()
    const key = `holdfast:line:{${NAME}}`
    await eventually(async () => (await rig.admin.zcard(key)) >= 2)
    await rig.admin.del(key)
    await holder.release()
    await (await soon(waiting, WITHIN_MS, answer)).release()
  })
})

describe('a read-write lock of which Redis has lost', () => {
  const writers = `holdfast:writers:{${NAME}}`

  it('the writers that wait: they are back within a heartbeat', async () => {
    const reader = await one.getReadWriteLock(NAME).readLock().acquire()
    const waiting = two.getReadWriteLock(NAME).writeLock().acquire()
    await eventually(async () => (await rig.admin.zcard(writers)) === 1)
    await rig.admin.del(writers)
    await eventually(async () => (await rig.admin.zcard(writers)) === 1, WITHIN_MS, answer)
    expect(await third.getReadWriteLock(NAME).readLock().tryLock()).toBe(false)
    await reader.release()
    await (await soon(waiting)).release()
  })

  it("a reader's time: its next renewal brings it back, and the reader beside it frees nothing (I1)", async () => {
    const lasting = await rig.client({ lockWatchdogTimeout: 1_800 })
    const reader = await lasting.getReadWriteLock(NAME).readLock().acquire()
    const time = `{${NAME}}:${reader.owner}:rwlock_timeout:1`
    expect(await rig.admin.del(time)).toBe(1)
    await eventually(async () => (await rig.admin.exists(time)) === 1)
    const beside = await one.getReadWriteLock(NAME).readLock().acquire()
    await beside.release()
    await reader.verify()
    await reader.release()
  })
})
