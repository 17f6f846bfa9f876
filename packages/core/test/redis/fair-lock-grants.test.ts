import { describe, expect, it } from '@jest/globals'
import type { LockClientOptions } from '../../src/index.js'
import { FairLine, served } from './support/fair-line.js'
import { passer } from './support/passing.js'
import { eventually, own, soon, useRig } from './support/rig.js'

// lock-grants.test.ts tests both kinds: here is what is a fair lock's own.

const NAME = 'order:42'
// No heartbeat helps within a test.
const HEARTBEAT_MS = 20_000

const rig = useRig()
const line = own(() => new FairLine(rig.admin, NAME))
const locks = own(() => rig.client({ resyncInterval: HEARTBEAT_MS }))
const holder = own(() => line.lockOf(locks).acquire())

const client = (options: LockClientOptions = {}) => passer(rig, { resyncInterval: HEARTBEAT_MS, ...options })

describe('a release of a fair lock', () => {
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
