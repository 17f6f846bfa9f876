import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Hold } from '../../../src/index.js'
import { FairLine } from '../support/fair-line.js'
import { JavaClient } from '../support/java-client.js'
import { JavaFairClient } from '../support/java-fair-client.js'
import { useLockWorkers } from '../support/lock-workers.js'
import { eventually, own, sleep, soon, useRig } from '../support/rig.js'

// A waiter of ours dies or is stopped in the queue, and a Java client waits behind it: it hears Redisson's message, or it
// would sleep until the end of the lease that it was told of. Java is a bare subscription here.

const NAME = 'order:42'
const LINE = 'holdfast:line:{order:42}'
const CHANNEL = 'redisson_lock__channel:{order:42}'
const RESYNC_MS = 600
// A waiter counts as alive for two of them, and is granted the lock for that long; more for a busy machine.
const WITHIN_MS = 2 * RESYNC_MS + 2_000
/** Two of these are longer than a message is waited for: nobody was granted anything for nothing. */
const RARE_MS = 10_000

const rig = useRig()
const start = useLockWorkers()
const beating = () => rig.client({ resyncInterval: RESYNC_MS })
const locks = own(beating)
const line = own(() => new FairLine(rig.admin, NAME))
let holder: Hold

const worker = (resyncMs = RESYNC_MS) =>
  start({ HOLDFAST_TEST_WORKER_REDIS: rig.server.url, HOLDFAST_TEST_RESYNC: `${resyncMs}` })
const inboxes = async (): Promise<number> => (await rig.admin.pubsub('CHANNELS', 'holdfast:client:*')).length

/** Resolves when `channel` has a message; rejects when it has none in time. */
async function message(channel: string, withinMs = WITHIN_MS): Promise<() => Promise<string>> {
  const connection = rig.connection()
  const heard = new Promise<string>((resolve) =>
    connection.once('message', (_channel, text) => resolve(text)),
  )
  await connection.subscribe(channel)
  return () => soon(heard, withinMs)
}

describe('a plain lock for which a Java thread waits', () => {
  const lineUp = () => rig.admin.zrangebyscore(LINE, 0, '+inf')
  const stands = (count: number) => eventually(async () => (await lineUp()).length === count)
  /** Its latest sign of life is new: it counts as alive for nearly as long as it can. */
  const isFresh = (owner: string) =>
    eventually(async () => {
      const aliveUntil = -Number(await rig.admin.zscore(LINE, `alive:${owner}`))
      return aliveUntil - (await rig.now()) > 2 * RESYNC_MS - 100
    })
  const java = own(() => new JavaClient(rig.admin))

  beforeEach(async () => {
    holder = await locks.getLock(NAME).acquire()
  })

  it('is announced at once, when the waiter in front of it was killed (I4)', async () => {
    const first = await worker(RARE_MS)
    first.call('acquire', NAME).catch(() => undefined)
    await stands(1)
    const heard = await message(CHANNEL)
    await first.kill()
    await eventually(async () => (await rig.listeners(CHANNEL)) === 1)
    await holder.release()
    expect(await heard()).toBe('0')
    expect(await java.acquire(NAME)).toBeNull()
    await java.unlock(NAME)
  })

  it('is announced once it was granted for nothing to a waiter that is stopped (I4)', async () => {
    const [stopped, killed] = [await worker(), await worker()]
    const first = stopped.call('acquire', NAME)
    await stands(1)
    killed.call('acquire', NAME).catch(() => undefined)
    await stands(2)
    const heard = await message(CHANNEL)
    await killed.kill()
    // The number of listeners is that of waiters: the stopped one, and Java instead of the dead one.
    await eventually(async () => (await rig.listeners(CHANNEL)) === 2)
    const [inFront] = await lineUp()
    await isFresh(inFront!)
    await stopped.pause()
    await holder.release()
    expect(Object.keys(await rig.admin.hgetall(NAME))).toEqual([inFront])
    expect(await heard()).toBe('0')
    expect(await java.acquire(NAME)).toBeNull()
    await java.unlock(NAME)
    stopped.resume()
    await soon(first)
    await stopped.call('release', NAME)
  })

  it('is not announced again when the waiter used what it was granted', async () => {
    const first = await beating()
    const waiting = first.getLock(NAME).acquire()
    await stands(1)
    await holder.release()
    const hold = await soon(waiting)
    const heard = await message(CHANNEL, 2 * RESYNC_MS + 300)
    await expect(heard()).rejects.toThrow('Not settled')
    await hold.release()
  })

  it('is looked at again after an outage (I4)', async () => {
    const options = { resyncInterval: RESYNC_MS, commandTimeout: 150 }
    const { proxy, locks: far } = await rig.proxied(options)
    await holder.release()
    holder = await far.getLock(NAME).acquire()
    const stopped = await worker()
    const first = stopped.call('acquire', NAME)
    await stands(1)
    await isFresh((await lineUp())[0]!)
    await stopped.pause()
    expect(await holder.release()).toBe('released')
    const heard = await message(CHANNEL, 5_000)
    proxy.refuse()
    await eventually(async () => (await rig.admin.exists(NAME)) === 0)
    // The first look has its time-out.
    await sleep(400)
    proxy.pass()
    expect(await heard()).toBe('0')
    stopped.resume()
    await soon(first)
    await stopped.call('release', NAME)
  })
})

describe('a fair lock for which a Java thread waits', () => {
  const java = own(() => new JavaFairClient(rig.admin, NAME))

  beforeEach(async () => {
    holder = await line.lockOf(locks).acquire()
  })

  it('calls it up at once, when the waiter in front of it was killed (I4)', async () => {
    const first = await worker(RARE_MS)
    first.call('acquireFair', NAME).catch(() => undefined)
    await eventually(async () => (await line.length()) === 1)
    expect(await java.acquire()).not.toBeNull()
    const heard = await message(java.channel)
    const before = await inboxes()
    await first.kill()
    await eventually(async () => (await inboxes()) < before)
    await holder.release()
    expect(await heard()).toBe('0')
    expect(await java.acquire()).toBeNull()
    await java.unlock()
  })

  it.each<[string, () => Promise<unknown>]>([
    ['a release', () => holder.release()],
    ['a forced release', () => line.lockOf(locks).forceUnlock()],
  ])('calls it up once %s granted it for nothing to a waiter that is stopped (I4)', async (_how, end) => {
    const stopped = await worker()
    const first = stopped.call('acquireFair', NAME)
    await eventually(async () => (await line.length()) === 1)
    expect(await java.acquire()).not.toBeNull()
    const heard = await message(java.channel)
    await stopped.pause()
    await end()
    expect(await heard()).toBe('0')
    expect(await java.acquire()).toBeNull()
    stopped.resume()
    await eventually(async () => (await line.length()) === 1)
    await java.unlock()
    await soon(first)
    await stopped.call('release', NAME)
  })
})

describe('a fair lock whose waiters have lost the connection that hears', () => {
  const hearing = async (): Promise<string[]> => {
    const list = String(await rig.admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub'))
    return [...list.matchAll(/^id=(\d+) /gm)].map(([, id]) => id!)
  }

  /** A client, and what ends its connection that hears. It is back some moments later. */
  async function mutable() {
    const before = await hearing()
    const client = await beating()
    const [own] = (await hearing()).filter((id) => !before.includes(id))
    return { client, silence: () => rig.admin.client('KILL', 'ID', own!) }
  }

  it('goes to the next who hears; whoever lives after all comes back to its place (I10)', async () => {
    holder = await line.lockOf(locks).acquire()
    const { client, silence } = await mutable()
    const silent = await line.join('silent', client)
    const work = () => eventually(async () => (await line.owners())[0] === silent.owner)
    const heard = await line.join('hears', await beating(), { work })
    const last = await line.join('last', await beating())
    await silence()
    await holder.release()
    await soon(Promise.all([silent.done, heard.done, last.done]))
    expect(line.served).toEqual(['hears', 'silent', 'last'])
  })

  it('keeps its order where nobody hears (I10)', async () => {
    const [one, two] = [await beating(), await beating()]
    holder = await line.lockOf(locks).acquire()
    const standing = await line.joinAll(['a', 'b', 'c', 'd'], (label) => (label < 'c' ? one : two))
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await holder.release()
    await soon(Promise.all(standing.map(({ done }) => done)))
    expect(line.served).toEqual(['a', 'b', 'c', 'd'])
  })
})
