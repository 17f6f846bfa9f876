import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import { FairLine, served } from './support/fair-line.js'
import { eventually, sleep } from './support/harness.js'
import { soon, useRig } from './support/rig.js'

// Redis goes away while callers stand in line. Nobody is dead, and nobody overtakes.

const NAME = 'order:42'
const HEARTBEAT_MS = 200
const LABELS = ['a', 'b', 'c', 'd', 'e', 'f']

const rig = useRig()
let line: FairLine
let holding: LockClient
let clients: LockClient[]

beforeEach(async () => {
  line = new FairLine(rig.admin, NAME)
  const client = () => rig.client({ resyncInterval: HEARTBEAT_MS, unavailableTimeoutMs: 20_000 })
  holding = await client()
  clients = await Promise.all([client(), client(), client()])
})

const joinAll = () => line.joinAll(LABELS, (label) => clients[LABELS.indexOf(label) % 3]!)
const expectOrder = async (standing: Awaited<ReturnType<typeof joinAll>>) => {
  await soon(served(standing), 8_000)
  expect(line.served).toEqual(LABELS)
}

describe('an outage while callers stand in line', () => {
  it('Redis stands still for five heartbeats: the order is kept (I10)', async () => {
    const holder = await line.lockOf(holding).acquire()
    const standing = await joinAll()
    await rig.server.pause()
    await sleep(5 * HEARTBEAT_MS)
    rig.server.resume()
    await holder.release()
    await expectOrder(standing)
  })

  it('and the lock is given back meanwhile: the order is kept (I10)', async () => {
    const holder = await line.lockOf(holding).acquire()
    const standing = await joinAll()
    await rig.server.pause()
    const released = holder.release()
    await sleep(5 * HEARTBEAT_MS)
    rig.server.resume()
    await released
    await expectOrder(standing)
  })

  it('and the lease of the holder ends meanwhile: the order is kept (I10)', async () => {
    const holder = await line.lockOf(holding).acquire({ leaseMs: 3 * HEARTBEAT_MS })
    const standing = await joinAll()
    await rig.server.pause()
    await sleep(5 * HEARTBEAT_MS)
    rig.server.resume()
    await expectOrder(standing)
    expect(await holder.release()).toBe('lost')
  })

  it('Redis restarts with its data: the order is kept (I10)', async () => {
    const holder = await line.lockOf(holding).acquire()
    const standing = await joinAll()
    const owners = standing.map(({ owner }) => owner)
    await rig.server.restart()
    await eventually(async () => (await line.owners()).length === LABELS.length)
    expect(await line.owners()).toEqual(owners)
    await eventually(async () => (await holder.release()) !== 'still-held')
    await expectOrder(standing)
  })

  it('Redis comes back empty: who waited is in line again, in the old order (I10)', async () => {
    const holder = await line.lockOf(holding).acquire()
    const standing = await joinAll()
    await rig.admin.flushall()
    // The lock is free, too: somebody has to be slow enough for the others to be back.
    const other = await line.lockOf(holding).tryAcquire()
    await eventually(async () => (await line.owners()).length === LABELS.length)
    expect(await line.owners()).toEqual(standing.map(({ owner }) => owner))
    await other?.release()
    await expectOrder(standing)
    expect(await holder.release()).toBe('lost')
  })

  it('every connection breaks: the order is kept (I4, I10)', async () => {
    const proxies = await Promise.all([rig.proxy(), rig.proxy(), rig.proxy()])
    clients = await Promise.all(
      proxies.map((proxy) => rig.client({ resyncInterval: HEARTBEAT_MS }, rig.connection({}, proxy))),
    )
    const holder = await line.lockOf(holding).acquire()
    const standing = await joinAll()
    proxies.forEach((proxy) => proxy.cutAll())
    await holder.release()
    await expectOrder(standing)
  })
})
