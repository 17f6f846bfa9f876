import { describe, expect, it } from '@jest/globals'
import { LockLostError, type Hold, type LockClient, type LockClientOptions } from '../../../src/index.js'
import { renameScript } from '../../../src/scripts/fair-lock.js'
import { renewScript } from '../../../src/scripts/lock.js'
import { nextEvent, outcomeOf } from '../support/outcomes.js'
import { FairLine, served } from '../support/fair-line.js'
import { JavaFairClient } from '../support/java-fair-client.js'
import { passer, type Passer } from '../support/passing.js'
import { runsOf } from '../support/requests.js'
import { eventually, own, signalled, soon, useRig } from '../support/rig.js'
import { SlowClock } from '../support/slow-clock.js'

// A fair lock that goes, inside a process, to those who stand directly behind each other in the queue.

const NAME = 'order:42'
const HEARTBEAT_MS = 20_000

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
// No heartbeat helps within a test.
const others = own(() => rig.client({ resyncInterval: HEARTBEAT_MS }))
const holder = own(() => line.lockOf(others).acquire())

const client = (options: LockClientOptions = {}, connection = rig.connection()) =>
  passer(rig, { resyncInterval: HEARTBEAT_MS, ...options }, connection)

const owners = () => rig.admin.hgetall(NAME)

/** Work that lasts until it is let go, and the hold meanwhile. */
function lastingWork() {
  const [begun, ended] = [signalled<Hold>(), signalled()]
  const work = (hold: Hold): Promise<void> => {
    begun.resolve(hold)
    return ended.promise
  }
  return { begun: begun.promise, end: ended.resolve, work }
}

describe('a fair lock that several of one client wait for', () => {
  it('goes along the queue without a command, and one release takes all of them out of it', async () => {
    const { locks, sent } = await client()
    const standing = await line.joinAll(['a', 'b', 'c', 'd'], () => locks)
    sent()
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b', 'c', 'd'])
    expect(sent()).toEqual(['release'])
    expect(await rig.contents()).toEqual({})
  })

  it('is named after who keeps it, who stands in the queue no more', async () => {
    const { locks, sent } = await client()
    const { begun, end, work } = lastingWork()
    const [a] = await line.joinAll(['a'], () => locks)
    const b = await line.join('b', locks, { work })
    const c = await line.join('c', others)
    sent()
    await holder.release()
    const hold = await soon(begun)
    await eventually(async () => b.owner in (await owners()))
    expect(await owners()).toEqual({ [b.owner]: '1' })
    expect(await line.owners()).toEqual([c.owner])
    expect(await line.arrivals()).toEqual([c.owner])
    await eventually(() => hold.trustedForMs > 25_000)
    expect(sent()).toEqual(['renew', 'rename'])
    await hold.verify()
    sent()
    end()
    await soon(served([a!, b, c]))
    expect(line.served).toEqual(['a', 'b', 'c'])
    expect(sent()).toEqual(['release'])
    expect(await rig.contents()).toEqual({})
  })

  it('does not pass a waiter of another client that came between them (I10)', async () => {
    const { locks, sent } = await client()
    const standing = await line.joinAll(['a', 'b', 'other', 'c', 'd'], (label) =>
      label === 'other' ? others : locks,
    )
    sent()
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b', 'other', 'c', 'd'])
    expect(sent()).toEqual(['release', 'release'])
  })

  it('does not pass a Java waiter that came between them (I10)', async () => {
    const { locks } = await client()
    const java = new JavaFairClient(rig.admin, NAME)
    const first = await line.join('a', locks)
    await java.acquire()
    const last = await line.join('b', locks)
    await holder.release()
    await soon(first.done)
    expect(await java.acquire()).toBeNull()
    expect(line.served).toEqual(['a'])
    await java.unlock()
    await soon(last.done)
    expect(await rig.contents()).toEqual({})
  })

  it('skips who has left meanwhile', async () => {
    const { locks, sent } = await client()
    const { begun, end, work } = lastingWork()
    const abort = new AbortController()
    const a = await line.join('a', locks, { work })
    const b = await line.join('b', locks, { signal: abort.signal })
    const c = await line.join('c', locks)
    await holder.release()
    await soon(begun)
    abort.abort()
    await expect(b.done).rejects.toBe(abort.signal.reason)
    await eventually(async () => !(await line.owners()).includes(b.owner))
    sent()
    end()
    await soon(served([a, c]))
    expect(line.served).toEqual(['a', 'c'])
    expect(sent()).toEqual(['release'])
    expect(await rig.contents()).toEqual({})
  })

  it('is not passed on beyond one that asks Redis at that moment: it is released', async () => {
    const proxy = await rig.proxy()
    const { locks, sent } = await client({}, rig.connection({}, proxy))
    const { begun, end, work } = lastingWork()
    const a = await line.join('a', locks, { work })
    const b = await line.join('b', locks)
    const c = await line.join('c', locks)
    await holder.release()
    await soon(begun)
    await eventually(() => sent().includes('renew'))
    proxy.delay(50)
    await rig.admin.publish(`holdfast:client:${locks.clientId}`, `turn:${b.owner}`)
    await eventually(() => sent().includes('acquire'))
    end()
    await soon(served([a, b, c]))
    expect(line.served).toEqual(['a', 'b', 'c'])
    proxy.pass()
    expect(await rig.contents()).toEqual({})
  })
})

describe('it is released instead', () => {
  it.each([
    ['localPassing: false', { localPassing: false }],
    ['pushedGrants: false', { pushedGrants: false }],
  ])('with %s', async (_what, options) => {
    const { locks, sent } = await client(options)
    const standing = await line.joinAll(['a', 'b'], () => locks)
    sent()
    await holder.release()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b'])
    expect(sent().filter((script) => script === 'release')).toHaveLength(2)
  })

  it('for one who wants a lease of its own', async () => {
    const { locks, sent } = await client()
    const a = await line.join('a', locks)
    const b = await line.join('b', locks, { leaseMs: 90_000 })
    sent()
    await holder.release()
    await soon(served([a, b]))
    expect(sent()).toEqual(['release', 'release'])
    expect(await rig.contents()).toEqual({})
  })

  it('where less than a third of the lease can be trusted', async () => {
    const { locks, clock, sent } = await client()
    const { begun, end, work } = lastingWork()
    const a = await line.join('a', locks, { work })
    const b = await line.join('b', locks)
    await holder.release()
    await soon(begun)
    await eventually(() => sent().includes('renew'))
    clock.skip(25_000)
    end()
    await soon(served([a, b]))
    expect(sent()).toContain('release')
    expect(line.served).toEqual(['a', 'b'])
  })
})

describe('a fair lock that was taken away while it was passed on', () => {
  /** Passed on to the last of them, who keeps it. Its name cannot follow before the wire has healed. */
  async function passedOn(labels: readonly string[], { isAwaited = true } = {}) {
    const proxy = await rig.proxy()
    const connection = rig.connection({ autoResendUnfulfilledCommands: false }, proxy)
    const { locks } = await client({ commandTimeout: 0.5 }, connection)
    const { begun, end, work } = lastingWork()
    const before = await line.joinAll(labels.slice(0, -1), () => locks)
    const last = await line.join(labels.at(-1)!, locks, { work })
    const behind = isAwaited ? await line.join('behind', others) : last
    const fault = proxy.loseRequest(runsOf(renameScript), 1_000)
    await holder.release()
    const hold = await soon(begun)
    await eventually(() => fault.count > 0)
    return { proxy, locks, hold, end, before, last, behind, heal: () => proxy.pass() }
  }

  it('by force, and granted to one who has it: Redis says so, and it goes on to the next after it (I1, I4)', async () => {
    const { hold, end, last, behind, heal } = await passedOn(['a', 'b'])
    expect(await line.lockOf(others).forceUnlock()).toBe(true)
    heal()
    await eventually(async () => (await owners())[hold.owner] === '1' && hold.trustedForMs > 0)
    await hold.verify()
    end()
    await soon(Promise.all([last.done, behind.done]))
    expect(line.served).toEqual(['a', 'b', 'behind'])
    await eventually(async () => Object.keys(await rig.contents()).every((key) => key.includes('latch')))
  })

  it('by force, and granted to one who has had it: it goes on to the next (I4)', async () => {
    const labels = ['a', 'b', 'c']
    const { hold, end, last, behind, heal } = await passedOn(labels)
    expect(await line.lockOf(others).forceUnlock()).toBe(true)
    heal()
    await eventually(() => hold.signal.aborted)
    await soon(behind.done)
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
    expect(line.served).toEqual([...labels, 'behind'])
    end()
    await soon(last.done.catch(() => undefined))
    await eventually(async () => Object.keys(await rig.contents()).every((key) => key.includes('latch')))
  })

  it('by force, where nobody waits any more: it is free when who was granted it has had it (I4)', async () => {
    const { hold, end, last, heal } = await passedOn(['a', 'b'], { isAwaited: false })
    expect(await line.lockOf(others).forceUnlock()).toBe(true)
    heal()
    await eventually(async () => (await owners())[hold.owner] === '1' && hold.trustedForMs > 0)
    end()
    await soon(last.done)
    await eventually(async () => Object.keys(await owners()).length === 0)
    await line.lockOf(others).withLock(() => undefined)
  })

  it('by force, before the grant was confirmed, where nobody waits any more: it is free (I4)', async () => {
    const proxy = await rig.proxy()
    const { locks } = await client({}, rig.connection({}, proxy))
    const { begun, end, work } = lastingWork()
    const silence = (): Promise<void> => {
      proxy.blackHole()
      return Promise.resolve()
    }
    const a = await line.join('a', locks, { work: silence })
    const b = await line.join('b', locks, { work })
    await holder.release()
    const hold = await soon(begun)
    expect(await line.lockOf(others).forceUnlock()).toBe(true)
    proxy.pass()
    await eventually(() => hold.signal.aborted)
    await eventually(async () => Object.keys(await owners()).length === 0)
    await line.lockOf(others).withLock(() => undefined)
    end()
    await soon(a.done)
    await soon(b.done.catch(() => undefined))
  })

  it('by a key of another type: it is lost, and nobody it was passed on to stays in the queue', async () => {
    const { hold, end, last, behind, heal } = await passedOn(['a', 'b'])
    await rig.admin.set(NAME, 'somebody else')
    heal()
    await eventually(() => hold.signal.aborted)
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    expect(await hold.release()).toBe('lost')
    await eventually(async () => (await line.owners()).join() === behind.owner)
    await rig.admin.del(NAME)
    expect(await line.lockOf(others).tryLock()).toBe(false)
    await soon(behind.done)
    end()
    await soon(last.done.catch(() => undefined))
  })

  it('found by a re-entry: whoever waits has it at once (I4)', async () => {
    const proxy = await rig.proxy()
    const { locks, sent } = await client({}, rig.connection({}, proxy))
    const thread = locks.thread()
    const { begun, end, work } = lastingWork()
    const a = await line.join('a', locks, { work })
    const b = line.lockOf(thread).acquire()
    await eventually(async () => (await line.length()) === 2)
    await holder.release()
    await soon(begun)
    await eventually(() => sent().includes('renew'))
    await line.lockOf(locks).isLocked()
    proxy.blackHole()
    end()
    const hold = await soon(b)
    const entering = outcomeOf(line.lockOf(thread).acquire())
    await rig.admin.del(NAME)
    // It is granted to `b`, by what Redis knows.
    const waiting = line.lockOf(others).acquire()
    await eventually(async () => Object.keys(await owners()).length === 1)
    proxy.pass()
    await (await soon(waiting)).release()
    expect(await entering).toBeInstanceOf(LockLostError)
    expect(await hold.release()).toBe('lost')
    await soon(a.done)
  })

  it.each([
    ['', []],
    [', though the question for its lease is lost', [renewScript]],
  ])(
    'a fair lock that was taken away while it was passed on, and granted to who has it: that one keeps it, for as long as it is trusted%s (I1)',
    async (_what, lost) => {
      const { proxy, locks, hold, end, last, behind, heal } = await passedOn(['a', 'b'])
      await rig.admin.del(NAME)
      const told = nextEvent(locks, 'lost')
      // Whoever comes finds it free, and `b` first in the queue, by what Redis knows.
      expect(await line.lockOf(others).tryLock()).toBe(false)
      await rig.admin.pexpire(NAME, 10_000)
      heal()
      const faults = lost.map((script) => proxy.loseRequest(runsOf(script)))
      await Promise.all(faults.map((fault) => soon(fault.happened)))
      await eventually(async () => (await rig.admin.pttl(NAME)) > 25_000)
      expect(hold.signal.aborted).toBe(false)
      expect(Object.keys(await owners())).toEqual([last.owner])
      end()
      await soon(served([last, behind]))
      expect(line.served).toEqual(['a', 'b', 'behind'])
      expect(await Promise.race([told, Promise.resolve('kept')])).toBe('kept')
    },
  )
})

describe('callers that come back to it at once', () => {
  /** Each takes the lock so many times; all are in the queue, one after the other, before the first has it. */
  async function flows(labels: readonly string[], locksOf: (label: string) => LockClient, rounds: number) {
    const ends: Promise<void>[] = []
    for (const label of labels) {
      const flow = async (): Promise<void> => {
        for (let round = 0; round < rounds; round += 1) {
          await line.lockOf(locksOf(label)).withLock(() => line.served.push(label))
        }
      }
      ends.push(flow())
      await eventually(async () => (await line.length()) === ends.length)
    }
    return ends
  }

  const releases = (sent: readonly string[]): number => sent.filter((script) => script === 'release').length

  it('go on in the order in which they came, as one', async () => {
    const { locks, sent } = await client()
    const ends = await flows(['a', 'b', 'c', 'd'], () => locks, 3)
    await holder.release()
    await soon(Promise.all(ends))
    expect(line.served.join('')).toBe('abcdabcdabcd')
    expect(releases(sent())).toBeLessThan(9)
    expect(await rig.contents()).toEqual({})
  })

  it('come together behind each other, where those of another client stood between them', async () => {
    // The time that they have to come together is not used up by the test's own round trips.
    const slow = (): Promise<Passer> => client({ runtime: new SlowClock(true) })
    const [one, two] = [await slow(), await slow()]
    const ends = await flows(
      ['a', 'x', 'b', 'y', 'c', 'z'],
      (label) => ('abc'.includes(label) ? one : two).locks,
      6,
    )
    await holder.release()
    await soon(Promise.all(ends))
    // Which of the two clients is back first is a matter of chance.
    expect(line.served.join('')).toMatch(/^axbycz(?:abc|xyz){10}$/)
    // Each by itself in the first round; then at most two: the first may find the lock free, and have it without a grant.
    for (const { sent } of [one, two]) expect(releases(sent())).toBeLessThanOrEqual(3 + 5 * 2)
    expect(await rig.contents()).toEqual({})
  })

  it('stand in the queue soon, whoever has the lock for long', async () => {
    const { locks } = await client()
    const { begun, end, work } = lastingWork()
    const [coming] = await flows(['a'], () => locks, 2)
    const other = await line.join('other', others, { work })
    const last = await line.join('b', locks)
    await holder.release()
    await soon(begun)
    await eventually(async () => (await line.length()) === 2)
    end()
    await soon(Promise.all([coming, other.done, last.done]))
    expect(line.served).toEqual(['a', 'other', 'b', 'a'])
  })
})
