import { describe, expect, it } from '@jest/globals'
import { FairLine, served } from './support/fair-line.js'
import { JavaFairClient } from './support/java-fair-client.js'
import { MessageLog } from './support/message-log.js'
import { own, soon, useRig } from './support/rig.js'
import { SlowClock } from './support/slow-clock.js'

const NAME = 'order:42'
const CHANNEL = 'redisson_lock__channel:{order:42}'

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
const log = own(() => MessageLog.open(rig.connection(), rig.admin))
// Nothing but messages can end a wait soon, and no heartbeat says anything.
const locks = own(() => rig.client({ resyncInterval: 20_000 }))
const others = own(() => rig.client({ resyncInterval: 20_000 }))

describe('what a fair lock says', () => {
  it.each([
    ['that it has the lock', true, /^2:grant:[0-9a-f]{40}:\d+:/],
    ['its turn, without pushed grants,', false, /^2:turn:/],
  ])(
    'a release towards a Node waiter: %s in the inbox of its client, and nothing else',
    async (_what, pushedGrants, before) => {
      const waiters = await rig.client({ resyncInterval: 20_000, pushedGrants, localPassing: false })
      const hold = await line.lockOf(locks).acquire()
      const standing = await line.joinAll(['a', 'b'], () => waiters)
      expect(await log.take()).toEqual([])
      await hold.release()
      await soon(served(standing))
      const said = await log.take()
      expect(said.map(([channel]) => channel)).toEqual(Array(2).fill(`holdfast:client:${waiters.clientId}`))
      expect(said.every(([, payload]) => before.test(payload))).toBe(true)
      expect(said.map(([, payload]) => payload.replace(before, ''))).toEqual(
        standing.map(({ owner }) => owner),
      )
    },
  )

  it('a release, to a waiter that asks again once in two days at most (I4)', async () => {
    const waiters = await rig.client({ resyncInterval: 2 * 86_400_000 })
    const hold = await line.lockOf(locks).acquire()
    const { owner, done } = await line.join('a', waiters)
    await hold.release()
    await soon(done)
    expect((await log.take()).map(([, payload]) => payload.endsWith(owner))).toEqual([true])
  })

  it('a release towards a Node waiter that passes it on: who of its client stands directly behind, too', async () => {
    // On a busy machine the bound of passing is over before all have had it.
    const waiters = await rig.client({ resyncInterval: 20_000, runtime: new SlowClock() })
    const hold = await line.lockOf(locks).acquire()
    const standing = await line.joinAll(['a', 'b', 'c', 'other', 'd'], (label) =>
      label === 'other' ? others : waiters,
    )
    const [a, b, c, other, d] = standing.map(({ owner }) => owner)
    const threadOf = (owner = ''): string => owner.slice(owner.indexOf(':') + 1)
    expect(await log.take()).toEqual([])
    await hold.release()
    await soon(served(standing))
    const said = (await log.take()).map(([, payload]) => payload.replace(/^2:grant:[0-9a-f]{40}:\d+:/, ''))
    expect(said).toEqual([`${a},${threadOf(b)},${threadOf(c)}`, other, d])
  })

  it('a release towards a Java waiter: "0" on its own channel, and nothing else', async () => {
    const hold = await line.lockOf(locks).acquire()
    const behind = new JavaFairClient(rig.admin, NAME)
    await behind.acquire()
    await hold.release()
    expect(await log.take()).toEqual([[`${CHANNEL}:${behind.owner}`, '0']])
    await behind.giveUp()
  })

  it('a partial release and a re-entry say nothing', async () => {
    await locks.run(async () => {
      const lock = line.lockOf(locks)
      await lock.lock()
      await lock.lock()
      const waiting = await line.join('a', others)
      await lock.unlock()
      expect(await log.take()).toEqual([])
      await lock.unlock()
      await soon(waiting.done)
    })
  })

  it('forceUnlock wakes the head, and tells the client that lost it', async () => {
    const hold = await line.lockOf(locks).acquire()
    const waiting = await line.join('a', others)
    expect(await line.lockOf(others).forceUnlock()).toBe(true)
    await soon(waiting.done)
    expect(await log.take()).toEqual([
      [
        `holdfast:client:${others.clientId}`,
        expect.stringMatching(`^2:grant:[0-9a-f]{40}:\\d+:${waiting.owner}$`),
      ],
      [`holdfast:client:${locks.clientId}`, hold.owner],
    ])
    expect(hold.signal.aborted).toBe(true)
    expect(await rig.contents()).toEqual({})
  })

  it('without a Java client nobody listens but to inboxes', async () => {
    const hold = await line.lockOf(locks).acquire()
    const standing = await line.joinAll(['a', 'b'], (label) => (label === 'a' ? locks : others))
    const channels = (await rig.admin.pubsub('CHANNELS', '*')) as string[]
    expect(channels.sort()).toEqual(
      [locks, others].map(({ clientId }) => `holdfast:client:${clientId}`).sort(),
    )
    await hold.release()
    await soon(served(standing))
  })
})
