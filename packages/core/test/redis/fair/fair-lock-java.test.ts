import { describe, expect, it } from '@jest/globals'
import { FairLine, served } from '../support/fair-line.js'
import { JavaFairClient } from '../support/java-fair-client.js'
import { MessageLog } from '../support/message-log.js'
import { eventually, own, sleep, soon, useRig } from '../support/rig.js'

// One line with Java clients in it, who are replayed by hand.

const NAME = 'order:42'
const PATIENCE_MS = 300_000

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
// Only messages can end a wait soon.
const locks = own(() => rig.client({ resyncInterval: 20_000 }))
const others = own(() => rig.client({ resyncInterval: 20_000 }))

const java = (patienceMs?: number) => new JavaFairClient(rig.admin, NAME, patienceMs)
const timeOf = async (owner: string): Promise<number> =>
  Number(await rig.admin.zscore(line.keys.timeouts, owner))
const isListening = async (owner: string): Promise<boolean> =>
  (await rig.listeners(`redisson_lock__channel:{${NAME}}:${owner}`)) === 1

describe('Java and Node waiters in one queue', () => {
  it('are served in order, whoever is at the head or in the middle (I10)', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
    const [one, two] = [java(), java()]
    const holder = await line.lockOf(locks).acquire()
    await one.acquire()
    const middle = await line.join('middle', locks)
    await two.acquire()
    const last = await line.join('last', others)
    expect(await line.owners()).toEqual([one.owner, middle.owner, two.owner, last.owner])

    await holder.release()
    expect(await log.take()).toEqual([[one.channel, '0']])
    expect(await two.acquire()).not.toBeNull()
    expect(line.served).toEqual([])

    expect(await one.acquire()).toBeNull()
    await one.unlock()
    await soon(middle.done)
    await eventually(async () => (await rig.admin.exists(NAME)) === 0)
    expect(line.served).toEqual(['middle'])

    expect(await two.acquire()).toBeNull()
    await two.unlock()
    await soon(last.done)
    expect(line.served).toEqual(['middle', 'last'])
    expect(await rig.contents()).toEqual({})
  })

  it('a Java unlock wakes our waiter on its own channel', async () => {
    const holder = java()
    await holder.acquire()
    const waiting = await line.join('waiting', locks)
    await eventually(() => isListening(waiting.owner))
    const log = await MessageLog.open(rig.connection(), rig.admin)
    await holder.unlock()
    await soon(waiting.done)
    expect(await log.take()).toEqual([[`redisson_lock__channel:{${NAME}}:${waiting.owner}`, '0']])
    await eventually(async () => !(await isListening(waiting.owner)))
  })

  it('a caller that already waits listens on its channel once a Java client comes', async () => {
    const beating = await rig.client({ resyncInterval: 100 })
    const holder = await line.lockOf(locks).acquire()
    const waiting = await line.join('waiting', beating)
    expect(await isListening(waiting.owner)).toBe(false)
    const behind = java()
    await behind.acquire()
    await eventually(() => isListening(waiting.owner))
    await behind.giveUp()
    await holder.release()
    await soon(waiting.done)
  })

  it('a Java client that takes a lock or a place finds our times by its own formula', async () => {
    const before = Date.now()
    const holder = await line.lockOf(locks).acquire({ leaseMs: 60_000 })
    const first = await line.join('first', locks)
    const behind = java()
    const ttl = (await behind.acquire())!
    const time = await timeOf(first.owner)
    expect(time).toBeGreaterThanOrEqual(before + 60_000 + PATIENCE_MS - 1_000)
    expect(time).toBeLessThanOrEqual(Date.now() + 60_000 + PATIENCE_MS)
    expect(Math.abs(ttl - (time - Date.now()))).toBeLessThan(5_000)
    expect((await timeOf(behind.owner)) - time).toBe(PATIENCE_MS)

    const second = await line.join('second', others)
    expect((await timeOf(second.owner)) - (await timeOf(behind.owner))).toBe(PATIENCE_MS)
    await behind.giveUp()
    await holder.release()
    await soon(served([first, second]))
  })
})

describe('a Java client lowers all times when it takes the lock', () => {
  it('our waiters that the next one drops go back in order, and are served in order (I10)', async () => {
    const [here, there] = [
      await rig.client({ resyncInterval: 20_000, fairLockWaitTimeout: 800 }),
      await rig.client({ resyncInterval: 20_000, fairLockWaitTimeout: 800 }),
    ]
    const [one, two] = [java(800), java(800)]
    const holder = await line.lockOf(locks).acquire()
    await one.acquire()
    const [a, b] = [await line.join('a', here), await line.join('b', there)]
    await rig.admin.del(NAME)
    expect(await one.acquire()).toBeNull()
    expect(await holder.release()).toBe('lost')
    // The times that they were lowered to are over.
    const now = Date.now()
    await rig.admin.zadd(line.keys.timeouts, now - 801, a.owner, now - 1, b.owner)
    await two.acquire()
    expect(await line.owners()).toEqual([two.owner])

    const c = await line.join('c', there)
    const d = await line.join('d', here)
    expect(await line.owners()).toEqual([a.owner, b.owner, two.owner, c.owner, d.owner])
    expect(await timeOf(a.owner)).toBeGreaterThan(Date.now() - 200)

    await one.unlock()
    await soon(served([a, b]))
    await eventually(async () => (await two.acquire()) === null)
    expect(line.served).toEqual(['a', 'b'])
    await two.unlock()
    await soon(served([c, d]))
    expect(line.served).toEqual(['a', 'b', 'c', 'd'])
  })

  it('a heartbeat raises ours again, so that the next one drops nobody', async () => {
    const beating = await rig.client({ resyncInterval: 100, fairLockWaitTimeout: 700 })
    const [one, two] = [java(700), java(700)]
    const holder = await line.lockOf(locks).acquire({ leaseMs: 1_000 })
    await one.acquire()
    const waiting = await line.join('waiting', beating)
    const lowered = (await timeOf(waiting.owner)) - 700
    await eventually(async () => (await one.acquire()) === null)
    expect(await holder.release()).toBe('lost')
    await sleep(Math.max(lowered - Date.now(), 0) + 100)
    await two.acquire()
    expect(await line.owners()).toEqual([waiting.owner, two.owner])
    expect(await timeOf(waiting.owner)).toBeGreaterThan(lowered + 100)
    await one.unlock()
    await soon(waiting.done)
    await two.giveUp()
  })

  it('delete() takes the whole queue away: our waiters are back at the next heartbeat, in order (I10)', async () => {
    const [one, two] = [await rig.client({ resyncInterval: 100 }), await rig.client({ resyncInterval: 100 })]
    const holder = await line.lockOf(locks).acquire()
    const standing = await line.joinAll(['a', 'b', 'c', 'd'], (label) => ('ac'.includes(label) ? one : two))
    await java().delete()
    await soon(served(standing))
    expect(line.served).toEqual(['a', 'b', 'c', 'd'])
    expect(await holder.release()).toBe('lost')
  })
})

describe('a dead Java waiter at the head', () => {
  it('a dead Java waiter at the head whose time has run out is passed over at once', async () => {
    const dead = java()
    const holder = await line.lockOf(locks).acquire()
    await dead.acquire()
    const waiting = await line.join('waiting', others)
    await rig.admin.zadd(line.keys.timeouts, Date.now() - 1, dead.owner)
    await holder.release()
    await soon(waiting.done)
  })

  it('holds up the queue for as long as Redisson allows it, and no longer', async () => {
    const beating = await rig.client({ resyncInterval: 100 })
    const dead = java(700)
    const holder = await line.lockOf(locks).acquire()
    await dead.acquire()
    const waiting = await line.join('waiting', beating)
    const until = Date.now() + 700
    await rig.admin.zadd(line.keys.timeouts, until, dead.owner)
    await holder.release()
    await soon(waiting.done)
    expect(Date.now()).toBeGreaterThanOrEqual(until)
    expect(Date.now()).toBeLessThan(until + 3_500)
  })

  it('a dead Java waiter at the head that came far behind has its patience from its turn on, not that of all who were before it', async () => {
    const beating = await rig.client({ resyncInterval: 100, fairLockWaitTimeout: 700 })
    const holder = await line.lockOf(beating).acquire({ leaseMs: 20_000 })
    const before = await line.joinAll(['a', 'b', 'c', 'd', 'e'], () => beating)
    const dead = java(700)
    await dead.acquire()
    const waiting = await line.join('waiting', beating)
    await holder.release()
    await soon(served(before))
    // With that of the five before it, it would be 4,200 ms.
    expect(await timeOf(dead.owner)).toBeLessThan(Date.now() + 1_400)
    await soon(waiting.done)
  })

  it('a dead Java waiter at the head that has no time at all, as a broken one, is passed over', async () => {
    const holder = await line.lockOf(locks).acquire()
    await rig.admin.rpush(line.keys.queue, java().owner)
    const waiting = await line.join('waiting', others)
    await holder.release()
    await soon(waiting.done)
  })
})
