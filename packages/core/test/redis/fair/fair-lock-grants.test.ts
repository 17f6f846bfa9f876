import { describe, expect, it } from '@jest/globals'
import type { LockClientOptions } from '../../../src/index.js'
import { FairLine, served } from '../support/fair-line.js'
import { JavaFairClient } from '../support/java-fair-client.js'
import { MessageLog } from '../support/message-log.js'
import { passer } from '../support/passing.js'
import { eventually, own, soon, useRig } from '../support/rig.js'
import { SlowClock } from '../support/slow-clock.js'

// lock-grants.test.ts tests both kinds: here is what is a fair lock's own.

const NAME = 'order:42'
// No heartbeat helps within a test, or says anything.
const HEARTBEAT_MS = 20_000

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
const locks = own(() => rig.client({ resyncInterval: HEARTBEAT_MS }))

const client = (options: LockClientOptions = {}) => passer(rig, { resyncInterval: HEARTBEAT_MS, ...options })

describe('a release of a fair lock', () => {
  const holder = own(() => line.lockOf(locks).acquire())

  it('is told to a waiter with pushedGrants: false, which tries', async () => {
    const { locks: other, sent } = await client({ pushedGrants: false })
    const { done } = await line.join('waiting', other)
    sent()
    await holder.release()
    await soon(done)
    expect(sent()).toEqual(['acquire', 'release'])
  })

  it('grants nothing where replicas count: the primary alone cannot', async () => {
    const { locks: other } = await client({ replicas: { acks: 1, timeoutMs: 50 } })
    const abort = new AbortController()
    const waiting = await line.join('waiting', other, { signal: abort.signal })
    await holder.release()
    expect(await rig.admin.hgetall(NAME)).toEqual({})
    abort.abort()
    await expect(waiting.done).rejects.toBe(abort.signal.reason)
    await eventually(async () => (await rig.keysLeft()).length === 0)
  })
})

describe('a fair lock that became free without a release', () => {
  own(() => line.lockOf(locks).acquire())

  it('is granted to the first in the queue by the next who comes', async () => {
    const { locks: other, sent } = await client()
    const first = await line.join('first', other)
    sent()
    await rig.admin.del(NAME)
    const newcomer = line.lockOf(locks).acquire()
    await soon(first.done)
    expect(sent()).toEqual(['release'])
    await (await soon(newcomer)).release()
    expect(line.served).toEqual(['first'])
  })

  it('is granted to it by a caller that does not wait, too', async () => {
    const first = await line.join('first', (await client()).locks)
    await rig.admin.del(NAME)
    expect(await line.lockOf(locks).tryLock()).toBe(false)
    await soon(first.done)
  })
})

describe('a long queue of callers of four clients', () => {
  // So rare that none falls into the measurement: hand-offs are counted, not the heartbeats beside them.
  it.each([10, 60])(
    'a long queue of %i is served in order, at no more than two scripts for each hand-off (I10)',
    async (waiters) => {
      const line = new FairLine(rig.admin, 'hot')
      const options = { resyncInterval: 60_000, localPassing: false }
      const clients = await Promise.all(Array.from({ length: 4 }, () => rig.client(options)))
      const holder = await line.lockOf(await rig.client(options)).acquire()
      const labels = Array.from({ length: waiters }, (_, i) => `caller ${i}`)
      const standing = await line.joinAll(labels, (label) => clients[labels.indexOf(label) % 4]!)
      await rig.server.resetStats()
      await holder.release()
      await soon(served(standing))
      const scripts = (await rig.server.commandStats()).get('evalsha') ?? 0
      expect(line.served).toEqual(labels)
      // The release of the first holder is one more.
      expect(scripts).toBeLessThanOrEqual(2 * waiters + 1)
    },
  )
})

describe('what a fair lock says', () => {
  const CHANNEL = 'redisson_lock__channel:{order:42}'
  const log = own(() => MessageLog.open(rig.connection(), rig.admin))
  const others = own(() => rig.client({ resyncInterval: HEARTBEAT_MS }))

  it.each([
    ['that it has the lock', true, /^2:grant:[0-9a-f]{40}:\d+:/],
    ['its turn, without pushed grants,', false, /^2:turn:/],
  ])(
    'a release towards a Node waiter: %s in the inbox of its client, and nothing else',
    async (_what, pushedGrants, before) => {
      const waiters = await rig.client({ resyncInterval: HEARTBEAT_MS, pushedGrants, localPassing: false })
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
    const waiters = await rig.client({ resyncInterval: HEARTBEAT_MS, runtime: new SlowClock() })
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
