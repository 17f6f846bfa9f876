import { describe, expect, it } from '@jest/globals'
import {
  InvalidArgumentError,
  LockLostError,
  LockTimeoutError,
  NotLockOwnerError,
  QuorumError,
  SelfDeadlockError,
  type CompoundHold,
  type LockClient,
  type RedLock,
  type RedLockOptions,
} from '../../../src/index.js'
import { failureOf } from '../support/outcomes.js'
import { redLockOf, useNodes } from '../support/nodes.js'
import { eventually, soon } from '../support/rig.js'
import { SlowClock } from '../support/slow-clock.js'

const nodes = useNodes(3)
const NAME = 'order:42'

/** Long enough for every node that works, however loaded the machine. */
const over = (clients: readonly LockClient[], options: RedLockOptions = { nodeTimeoutMs: 2_000 }): RedLock =>
  redLockOf(clients, NAME, options)

/** Scripts that all nodes together have run. */
async function scripts(): Promise<number> {
  const stats = await Promise.all(nodes.all.map(({ server }) => server.command('INFO', 'commandstats')))
  const counts = stats.flatMap((each) => [...String(each).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)])
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** The count of the owner on each node; 0 where nobody has it. */
async function counts(): Promise<number[]> {
  const values = await Promise.all(nodes.all.map(({ server }) => server.command('HVALS', NAME)))
  return values.map((each) => Number((each as string[])[0] ?? 0))
}

describe('RedLock', () => {
  it('is held on all nodes that answer, by an owner on each; others are refused; release frees all', async () => {
    // On the clock of the other a wait of 1 ms takes 100, and a refusal has 25 s to come.
    const [one, other] = [
      await nodes.participant(),
      await nodes.participant({ runtime: new SlowClock(true) }),
    ]
    const hold = await over(one).acquire()
    expect(await nodes.holders(NAME)).toEqual(hold.holds.map(({ owner }) => owner))
    expect(await over(other).tryLock()).toBe(false)
    expect(await over(other).tryAcquire({ waitMs: 1 })).toBe(null)
    const error = await failureOf(over(other).acquire({ waitMs: 1 }))
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect(error).toMatchObject({ lockName: NAME, holder: { owner: hold.owner } })
    const { nodes: said, message } = error as LockTimeoutError
    expect(said).toMatchObject(hold.holds.map(({ owner }) => ({ outcome: 'busy', holder: { owner } })))
    expect(message).toMatch(/: node 0 is held by \S+ \(thread \d+\); node 1 is held by .*\.$/)
    await hold.verify()
    await hold.extend(60_000)
    const extended = (await nodes.leases(NAME)).filter((ms) => ms > 55_000)
    expect(extended.length).toBeGreaterThanOrEqual(2)
    expect(await hold.release()).toBe('released')
    expect(await hold.release()).toBe('already-released')
    expect(await nodes.keys()).toEqual([])
    await over(other).withLock((next) => next.ensure(1_000))
  })

  it('held by a minority of others, is taken with the rest; by a quorum, refused and nothing stays', async () => {
    const [one, other] = [await nodes.participant(), await nodes.participant()]
    const locks = other.map((client) => client.getLock(NAME))
    const first = await locks[0]!.acquire()
    const hold = await over(one).acquire()
    expect(hold.holds).toHaveLength(2)
    expect(await hold.release()).toBe('released')
    const second = await locks[2]!.acquire()
    expect(await over(one).tryLock()).toBe(false)
    await eventually(async () => (await nodes.holders(NAME))[1] === undefined)
    await first.release()
    await second.release()
  })

  it('waits with nothing in hand and few commands, however many callers wait, and is woken by the release', async () => {
    const options = { resyncInterval: 1_000 }
    const [one, other] = [await nodes.participant(options), await nodes.participant(options)]
    const hold = await over(one).acquire()
    const turns: number[] = []
    const waiters = Array.from({ length: 20 }, (_, i) =>
      over(other).withLock(() => {
        turns.push(i)
      }),
    )
    await nodes.heard(NAME)
    const [before, startedAt] = [await scripts(), performance.now()]
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const ran = (await scripts()) - before
    // One that waits: it looks at all nodes once or twice a second, and releases nothing, for it has nothing.
    expect(ran / (performance.now() - startedAt)).toBeLessThanOrEqual(12 / 1_000)
    expect(await nodes.holders(NAME)).toEqual(hold.holds.map(({ owner }) => owner))
    await hold.release()
    await soon(Promise.all(waiters), 20_000)
    expect(turns).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })

  it('is fought for by four participants: one at a time, and all get their turns (I1)', async () => {
    const all = await Promise.all([0, 1, 2, 3].map(() => nodes.participant()))
    let inside = 0
    let entries = 0
    let overlaps = 0
    const turns = async (clients: LockClient[]): Promise<void> => {
      for (let i = 0; i < 25; i += 1) {
        await over(clients).withLock(async () => {
          inside += 1
          entries += 1
          overlaps += inside > 1 ? 1 : 0
          await new Promise((resolve) => setImmediate(resolve))
          inside -= 1
        })
      }
    }
    await soon(Promise.all(all.map(turns)), 25_000)
    expect({ entries, overlaps }).toEqual({ entries: 100, overlaps: 0 })
  })

  it('refuses two locks of one client, two clients of one server, short leases and bad options', async () => {
    const [first, second, third] = (await nodes.participant()) as [LockClient, LockClient, LockClient]
    expect(() => first.getRedLock(first.getLock('a'), first.getLock('b'))).toThrow(InvalidArgumentError)
    expect(() => first.getRedLock()).toThrow(InvalidArgumentError)
    expect(() => first.getRedLock([first.getLock('a')], { nodeTimeoutMs: 0 })).toThrow(InvalidArgumentError)
    const lock = first.getRedLock(first.getLock('a'), second.getLock('a'), third.getLock('a'))
    expect(await failureOf(lock.acquire({ leaseMs: 9 }))).toBeInstanceOf(InvalidArgumentError)
    const again = (await nodes.participant())[0]!
    const twins = first.getRedLock(
      first.getLock('a'),
      again.getLock('a'),
      second.getLock('a'),
      third.getLock('b'),
    )
    const held = await third.getLock('b').acquire()
    expect(await failureOf(twins.acquire())).toBeInstanceOf(InvalidArgumentError)
    await held.release()
    await eventually(async () => (await nodes.keys()).length === 0)
  })
})

describe('RedLock: the end of a client', () => {
  it('ends waits with CLIENT_CLOSED, though the clients of the other nodes are open', async () => {
    const [one, other] = [await nodes.participant(), await nodes.participant()]
    const hold = await over(one).acquire()
    const waits = [1, 2].map(() => failureOf(over(other).acquire()))
    await nodes.heard(NAME)
    await other[0]!.close({ graceMs: 0 })
    for (const error of await Promise.all(waits)) {
      expect(error).toMatchObject({ code: 'CLIENT_CLOSED' })
    }
    expect(await hold.release()).toBe('released')
    expect(await nodes.keys()).toEqual([])
  })

  it('ends a pause of a call that has a signal at once (I5)', async () => {
    // Whoever is not told by the end of its client would be told by nothing else in time.
    const clients = await nodes.participant({ resyncInterval: 30_000, unavailableTimeoutMs: 30_000 })
    await Promise.all([1, 2].map((index) => nodes.at(index).server.kill()))
    const wait = failureOf(over(clients).acquire({ signal: new AbortController().signal }))
    // Released by the one node that is left: what comes next is the pause.
    await eventually(async () => {
      const stats = String(await nodes.at(0).server.command('INFO', 'commandstats'))
      return /cmdstat_publish:calls=/.test(stats)
    })
    await clients[0]!.close({ graceMs: 0 })
    expect(await soon(wait)).toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})

describe('RedLock: re-entry', () => {
  it('counts on the nodes that have the outer level, and only there', async () => {
    const clients = await nodes.participant()
    await over(clients).withLock(() => undefined)
    await nodes.at(1).server.pause()
    await clients[0]!.run(async () => {
      const lock = over(clients)
      await lock.lock()
      nodes.at(1).server.resume()
      await eventually(async () => (await counts()).join() === '1,0,1')
      await lock.lock()
      expect(await counts()).toEqual([2, 0, 2])
      expect(await lock.getHoldCount()).toBe(2)
      expect(await lock.isHeldByCurrentContext()).toBe(true)
      expect(await lock.isHeldByThread(clients[0]!.currentThreadId!)).toBe(true)
      await lock.unlock()
      expect(await counts()).toEqual([1, 0, 1])
      await lock.unlock()
      expect(await lock.isHeldByThread(clients[0]!.currentThreadId!)).toBe(false)
      await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
    })
    expect(await nodes.keys()).toEqual([])
  })

  it('a re-entry of a RedLock that fails releases each level: every count is as before', async () => {
    const clients = await nodes.participant()
    await clients[0]!.run(async () => {
      const lock = over(clients, { nodeTimeoutMs: 400 })
      const outer = await over(clients).lock()
      await Promise.all([1, 2].map((i) => nodes.at(i).server.pause()))
      expect(await failureOf(lock.tryLock())).toBeInstanceOf(QuorumError)
      for (const i of [1, 2]) {
        nodes.at(i).server.resume()
      }
      await eventually(async () => (await counts()).join() === '1,1,1')
      expect(outer.count).toBe(1)
      await outer.verify()
      expect(await outer.release()).toBe('released')
    })
  })

  it('into a lock that was lost is LOCK_LOST', async () => {
    const clients = await nodes.participant()
    await clients[0]!.run(async () => {
      const outer = await over(clients).lock()
      await Promise.all([0, 2].map((i) => nodes.at(i).server.command('DEL', NAME)))
      expect(await failureOf(over(clients).lock())).toBeInstanceOf(LockLostError)
      await eventually(async () => (await counts()).join() === '0,1,0')
      expect(await outer.release()).toBe('lost')
    })
    expect(await nodes.keys()).toEqual([])
  })

  it('tells a wait that would never end to a fork that has a node itself, where its parent has the others', async () => {
    const one = await nodes.participant()
    const only = (...at: number[]): Promise<CompoundHold> =>
      one[0]!.getMultiLock(...at.map((i) => one[i]!.getLock(NAME))).acquire()
    await one[0]!.run(async () => {
      const parts = await only(0, 1)
      await one[0]!.fork(async () => {
        const own = await only(2)
        expect(await over(one).tryLock()).toBe(false)
        expect(await soon(failureOf(over(one).lock()))).toBeInstanceOf(SelfDeadlockError)
        await own.release()
      })
      await parts.release()
    })
    await eventually(async () => (await nodes.keys()).length === 0)
  })

  it('nests, passes those who wait, and tells a wait that would never end', async () => {
    // On its clock a wait of 4 ms takes 400, and a refusal has 25 s to come.
    const one = await nodes.participant({ runtime: new SlowClock(true) })
    const other = await nodes.participant()
    await one[0]!.run(async () => {
      await over(one).lock()
      const waiting = over(other).acquire()
      const fromElsewhere = one[0]!.fork(() => over(one).tryLock(4), { detached: true })
      await expect(one[0]!.fork(() => over(one).lock())).rejects.toThrow(SelfDeadlockError)
      await over(one).withLock(() => over(one).withLock((hold) => expect(hold.count).toBe(3)))
      // Started together, while somebody waits in between: both levels are this context's.
      const both = await soon(Promise.all([over(one).lock(), over(one).lock()]))
      expect(await fromElsewhere).toBe(false)
      for (const hold of both) {
        await hold.release()
      }
      await over(one).unlock()
      await (await soon(waiting)).release()
    })
  })
})
