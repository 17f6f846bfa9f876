import { beforeEach, describe, expect, it } from '@jest/globals'
import type { FaultProxy } from '@holdfast/faults/harness'
import type { Hold, LockClient } from '../../../src/index.js'
import { FairLine, served } from '../support/fair-line.js'
import { eventually, own, sleep, soon, useRig } from '../support/rig.js'

// Redis goes away while callers stand in the queue. Nobody is dead, and nobody overtakes.

const NAME = 'order:42'
const HEARTBEAT_MS = 200
const LABELS = ['a', 'b', 'c', 'd', 'e', 'f']

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
const client = () => rig.client({ resyncInterval: HEARTBEAT_MS, unavailableTimeoutMs: 20_000 })
const holding = own(client)
let clients: LockClient[]
beforeEach(async () => {
  clients = await Promise.all([client(), client(), client()])
})

const clientOf = (label: string) => clients[LABELS.indexOf(label) % 3]!
const joinAll = () => line.joinAll(LABELS, clientOf)
const expectOrder = async (standing: Awaited<ReturnType<typeof joinAll>>) => {
  await soon(served(standing), 8_000)
  expect(line.served).toEqual(LABELS)
}

describe('an outage while callers stand in the queue', () => {
  it.each<[string, boolean, (holder: Hold) => unknown]>([
    ['and nothing else happens', false, () => undefined],
    ['and the lock is released meanwhile', false, (holder) => void holder.release()],
    ['and the lease of its holder ends meanwhile', true, () => undefined],
  ])(
    'Redis stands still for five heartbeats, %s: the order is kept (I10)',
    async (_what, isLost, meanwhile) => {
      const holder = await line.lockOf(holding).acquire()
      const standing = await joinAll()
      if (isLost) await rig.admin.pexpire(NAME, 3 * HEARTBEAT_MS)
      await rig.server.pause()
      meanwhile(holder)
      await sleep(5 * HEARTBEAT_MS)
      rig.server.resume()
      if (!isLost) await holder.release()
      await expectOrder(standing)
      expect(await holder.release()).toBe(isLost ? 'lost' : 'already-released')
    },
  )

  describe('an outage that ends for one client after another', () => {
    let proxies: FaultProxy[]

    beforeEach(async () => {
      proxies = await Promise.all(LABELS.slice(0, 3).map(() => rig.proxy()))
      // A server takes its time to restart on a busy machine. So lives are two seconds, as without options.
      const client = (proxy: FaultProxy) => rig.client({}, rig.connection({}, proxy))
      clients = await Promise.all(proxies.map(client))
    })

    const hear = async (some: readonly { owner: string }[]) => {
      const inboxes = some.map(({ owner }) => `holdfast:client:${owner.split(':')[0]}`)
      return !(await rig.admin.pubsub('NUMSUB', ...inboxes)).includes(0)
    }

    it('every connection breaks, and the lock is released: the order is kept (I4, I10)', async () => {
      const holder = await line.lockOf(holding).acquire()
      let standing: Awaited<ReturnType<typeof joinAll>> = []
      // Who can be told has its turn before who cannot.
      const work = () => eventually(() => hear(standing))
      standing = await line.joinAll(LABELS, clientOf, { work })
      proxies.forEach((proxy) => proxy.refuse())
      await holder.release()
      proxies.forEach((proxy) => proxy.pass())
      await expectOrder(standing)
    })

    it.each([
      // Redis tells in whole seconds when it began.
      ['Redis restarts with its data', 1_000, 0],
      ['nobody is heard for more than a heartbeat', 0, 1_300],
    ])('%s: a client that is back later keeps its turn, too (I10)', async (_, before, silence) => {
      const holder = await line.lockOf(holding).acquire()
      const standing = await joinAll()
      await sleep(before)
      proxies.forEach((proxy) => proxy.refuse())
      if (silence > 0) await sleep(silence)
      else await rig.server.restart()
      expect(await line.owners()).toEqual(standing.map(({ owner }) => owner))
      proxies.slice(0, 2).forEach((proxy) => proxy.pass())
      await eventually(() => hear(standing.slice(0, 2)))
      await eventually(async () => (await holder.release()) !== 'still-held')
      await eventually(async () => (await rig.admin.hkeys(NAME))[0] === standing[2]!.owner)
      proxies[2]!.pass()
      await expectOrder(standing)
    })
  })

  it('Redis comes back empty: who waited is in the queue again, in the old order (I10)', async () => {
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
})
