import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import { FairLine, served } from './support/fair-line.js'
import { JavaFairClient } from './support/java-fair-client.js'
import { sleep, soon, useRig } from './support/rig.js'

const NAME = 'order:42'

const rig = useRig()
let line: FairLine
let locks: LockClient
let others: LockClient

beforeEach(async () => {
  line = new FairLine(rig.admin, NAME)
  locks = await rig.client({ resyncInterval: 20_000 })
  others = await rig.client({ resyncInterval: 20_000 })
})

const java = (patienceMs?: number) => new JavaFairClient(rig.admin, NAME, patienceMs)
const timeOf = async (owner: string): Promise<number> =>
  Number(await rig.admin.zscore(line.keys.timeouts, owner))

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
    const holder = await line.lockOf(locks).acquire({ leaseMs: 500 })
    await dead.acquire()
    const until = await timeOf(dead.owner)
    const waiting = await line.join('waiting', beating)
    await holder.release()
    await sleep(150)
    expect(line.served).toEqual([])
    await soon(waiting.done)
    expect(Date.now()).toBeGreaterThanOrEqual(until)
    expect(Date.now()).toBeLessThan(until + 2_000)
  })

  it('a dead Java waiter at the head that came far behind has its patience from its turn on, not that of all who were before it', async () => {
    const beating = await rig.client({ resyncInterval: 100, fairLockWaitTimeout: 700 })
    const holder = await line.lockOf(beating).acquire({ leaseMs: 500 })
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
