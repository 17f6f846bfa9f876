import { expect } from '@jest/globals'
import type { WorkerProcess } from '@holdfast/faults/harness'
import type { LockClient } from '../../../src/index.js'
import { scriptsRunBy } from '../support/carrier.js'
import { CriticalSection, oneAfterAnother } from '../support/critical-section.js'
import { outcomeOf } from '../support/outcomes.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, own, useRig, useLockWorkers } from '../support/together.js'

const NAME = 'pool'
const startWorker = useLockWorkers()
const rig = useRig()
// No tick: what wakes a waiter here is a message, a confirmation or a reconnect.
const locks = own(() => rig.client({ resyncInterval: 60_000 }))
const semaphore = own(() => locks.getSemaphore(NAME))

const subscribers = (): Promise<number> => rig.listeners(`redisson_sc:{${NAME}}`)
const isParked = async (): Promise<boolean> => (await subscribers()) > 0
const expectAtLast = async (permits: number): Promise<void> => {
  expect(await rig.admin.get(NAME)).toBe(`${permits}`)
  await rig.admin.del(NAME)
}

/** How many scripts a client has sent, once all are answered: a release meets no try that is under way. */
const sentBehindAnswers = async (client: LockClient, sent: () => string[]): Promise<number> => {
  await client.getLock('another').isLocked()
  return sent().length
}

describe('a caller that waits', () => {
  it('passes for as many permits as one message brings (#6664, I4)', async () => {
    await semaphore.trySetPermits(0)
    const waiting = Promise.all(Array.from({ length: 20 }, () => semaphore.acquire()))
    await eventually(isParked)
    await locks.getSemaphore(NAME).release(20)
    await soon(waiting)
    await expectAtLast(0)
  })

  it('wants what is free: a caller behind a head that wants 5 passes it with 1, in order of arrival', async () => {
    await semaphore.trySetPermits(0)
    const order: string[] = []
    const wants = (permits: number, name: string): Promise<unknown> =>
      semaphore.acquire(permits).then(() => order.push(name))
    const waiting = [wants(5, 'five'), wants(2, 'two'), wants(1, 'one'), wants(1, 'another one')]
    await eventually(isParked)
    await semaphore.release(4)
    await soon(Promise.all(waiting.slice(1)))
    expect(order).toEqual(['two', 'one', 'another one'])
    expect(await semaphore.availablePermits()).toBe(0)
    await semaphore.release(5)
    await soon(Promise.all(waiting))
    await expectAtLast(0)
  })

  it('has less time than a round trip takes: what is there for two of one turn is given to both', async () => {
    const proxy = await rig.proxy()
    const far = await rig.client({ resyncInterval: 60_000 }, rig.connection({}, proxy))
    await semaphore.trySetPermits(2)
    proxy.delay(5)
    // No answer for 250 ms, on a busy machine, is an error and no `false`.
    const twice = async (call: () => Promise<boolean>): Promise<unknown[]> =>
      soon(Promise.all([call(), call()].map(outcomeOf)))
    expect(await twice(() => far.getCountDownLatch('open').await(1))).not.toContain(false)
    expect(await twice(() => far.getSemaphore(NAME).tryAcquire(1, 1))).not.toContain(false)
    const read = (): Promise<boolean> =>
      far.run(() => far.getReadWriteLock('read').readLock().tryLock(1, 60_000))
    expect(await twice(read)).not.toContain(false)
    await rig.admin.flushall()
  })

  it('passes whoever shares its client: a request for 1 is served beside a waiter for 2, here and elsewhere', async () => {
    await semaphore.trySetPermits(3)
    const elsewhere = (await rig.client()).getSemaphore(NAME)
    await elsewhere.acquire(2)
    const two = semaphore.acquire(2)
    await eventually(isParked)
    for (const each of [semaphore, elsewhere]) {
      await soon(each.acquire(1))
      await each.release(1)
    }
    expect(await rig.admin.get(NAME)).toBe('1')
    await elsewhere.release(2)
    await soon(two)
    await expectAtLast(1)
  })

  it('wants what is free, whichever of three processes it is of: a request for 1 passes a waiter for 3', async () => {
    await semaphore.trySetPermits(2)
    const env = { HOLDFAST_TEST_RESYNC: '60000', HOLDFAST_TEST_WORKER_REDIS: rig.server.url }
    const workers = await Promise.all([1, 2, 3].map(() => startWorker(env)))
    const [first, ...others] = workers as [WorkerProcess, ...WorkerProcess[]]
    const three = first.call('acquirePermits', NAME, 3)
    await eventually(isParked)
    // Beside it in its own process, and elsewhere.
    for (const each of workers) {
      await soon(each.call('acquirePermits', NAME, 1))
      await each.call('releasePermits', NAME, 1)
    }
    expect(await rig.admin.get(NAME)).toBe('2')
    await others[0]?.call('releasePermits', NAME, 1)
    await soon(three)
    await expectAtLast(0)
  })

  it('sends one try more for a head that does not fit, however many wait behind it', async () => {
    const connection = rig.connection()
    const client = await rig.client({ resyncInterval: 60_000 }, connection)
    const mine = client.getSemaphore(NAME)
    await semaphore.trySetPermits(0)
    const abort = new AbortController()
    const sent = scriptsRunBy(connection)
    const [big, ...others] = [9, 8, 7, 2, 6].map((permits) => mine.acquire({ permits, signal: abort.signal }))
    const ended = Promise.allSettled([big, ...others])
    await eventually(isParked)
    await eventually(() => sent().length === 2)
    const before = await sentBehindAnswers(client, sent)
    await semaphore.release(3)
    await soon(others[2] as Promise<void>)
    // The head, the one that fits, and nobody else: one is left.
    expect(sent()).toHaveLength(before + 2)
    abort.abort(new Error('enough'))
    await ended
    await expectAtLast(1)
  })

  it('passes when the head in front gives up, at once (I4)', async () => {
    await semaphore.trySetPermits(0)
    const abort = new AbortController()
    const head = semaphore.acquire({ permits: 9, signal: abort.signal })
    const next = semaphore.acquire(2)
    await eventually(isParked)
    await semaphore.release(2)
    abort.abort(new Error('enough'))
    await expect(head).rejects.toThrow('enough')
    await soon(next)
    await expectAtLast(0)
  })

  it.each([
    ['trySetPermits', () => locks.getSemaphore(NAME).trySetPermits(2)],
    ['addPermits', () => locks.getSemaphore(NAME).addPermits(2)],
    ['a Java release', () => rig.admin.multi().incrby(NAME, 2).publish(`redisson_sc:{${NAME}}`, '2').exec()],
  ])('is woken by %s', async (_what, give) => {
    const waiting = semaphore.acquire(2)
    await eventually(isParked)
    await give()
    await soon(waiting)
    await expectAtLast(0)
  })

  it('passes after a reconnect during which the permits came (I4)', async () => {
    const { proxy, locks: cut } = await rig.proxied({ resyncInterval: 60_000 })
    await semaphore.trySetPermits(0)
    const waiting = cut.getSemaphore(NAME).acquire()
    await eventually(isParked)
    proxy.refuse()
    await semaphore.release()
    proxy.pass()
    await soon(waiting)
    await expectAtLast(0)
  })

  it('passes by the next tick when the message is lost, or nobody sent one (I4)', async () => {
    const { proxy, locks: deaf } = await rig.proxied({ resyncInterval: 50 })
    await semaphore.trySetPermits(0)
    proxy.dropPushes(1)
    const waiting = deaf.getSemaphore(NAME).acquire()
    await eventually(isParked)
    await rig.admin.del(NAME)
    await semaphore.release()
    await soon(waiting)
    await expectAtLast(0)
  })

  it('ends with CLIENT_CLOSED, and leaves no subscription (I5)', async () => {
    const waiting = semaphore.acquire()
    await eventually(isParked)
    const ended = expect(waiting).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
    await locks.close()
    await ended
    expect(await subscribers()).toBe(0)
  })

  it('without a limit ends in REDIS_UNAVAILABLE after unavailableTimeoutMs of silence', async () => {
    const { proxy, locks: cut } = await rig.proxied({ commandTimeout: 50, unavailableTimeoutMs: 2_000 })
    proxy.blackHole()
    const waiting = cut.getSemaphore(NAME).acquire()
    await expect(soon(waiting)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    proxy.pass()
  })
})

describe('many at once', () => {
  it('1,000 waits that are aborted at any instant leave exactly the permits there were (I8)', async () => {
    await semaphore.trySetPermits(3)
    const client = await rig.client()
    const other = client.getSemaphore(NAME)
    let random = 7
    const next = (below: number): number => (random = (random * 48_271) % 2_147_483_647) % below
    const one = async (): Promise<void> => {
      const abort = new AbortController()
      const call = other.withPermits(() => undefined, { permits: 1 + next(3), signal: abort.signal })
      for (let turns = next(6); turns > 0; turns -= 1) await new Promise(setImmediate)
      abort.abort()
      await call.catch(() => undefined)
    }
    for (let round = 0; round < 20; round += 1) await Promise.all(Array.from({ length: 50 }, one))
    await client.close()
    await expectAtLast(3)
  })

  it('4 clients of 5 flows under 1 permit: a counter that is read and written is exact', async () => {
    await semaphore.trySetPermits(1)
    const section = new CriticalSection(rig.admin, 'counter')
    const clients = await Promise.all(Array.from({ length: 4 }, () => rig.client()))
    const flow = async (client: LockClient): Promise<void> => {
      for (let i = 0; i < 10; i += 1) await client.getSemaphore(NAME).withPermits(section.enter)
    }
    await soon(Promise.all([...clients, ...clients, ...clients, ...clients, ...clients].map(flow)), 25_000)
    expect(await section.result()).toEqual(oneAfterAnother(200))
    await expectAtLast(1)
  })

  it('an acquire and a release are one script each; who waits sends two tries and one at the message', async () => {
    const connection = rig.connection()
    const client = await rig.client({ resyncInterval: 60_000 }, connection)
    const sent = scriptsRunBy(connection)
    const mine = client.getSemaphore(NAME)
    await semaphore.trySetPermits(1)
    await mine.acquire()
    await mine.release()
    expect(sent()).toHaveLength(2)
    await semaphore.drainPermits()
    const waiting = mine.acquire()
    await eventually(isParked)
    await eventually(() => sent().length === 4)
    const before = await sentBehindAnswers(client, sent)
    await semaphore.release()
    await soon(waiting)
    expect(sent()).toHaveLength(before + 1)
    await expectAtLast(0)
  })
})

describe('Redis out of memory', () => {
  it('refuses an acquire clearly and takes a release; who waits goes on', async () => {
    await semaphore.trySetPermits(2)
    await semaphore.acquire()
    await rig.outOfMemory(async () => {
      const refused = { code: 'REDIS_UNAVAILABLE', outcome: 'refused', transient: false }
      await expect(semaphore.acquire()).rejects.toMatchObject(refused)
      expect(await semaphore.tryAcquire(2)).toBe(false)
      await semaphore.release()
    })
    await expectAtLast(2)
  })
})
