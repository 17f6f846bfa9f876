import { expect } from '@jest/globals'
import {
  InvalidArgumentError,
  LockLostError,
  NotLockOwnerError,
  RedisUnavailableError,
  type LockClient,
} from '../../../src/index.js'
import { tombstonePrefix } from '../../../src/keys.js'
import { shorten } from '../../../src/scripts/lock.js'
import { lockKinds, reentrantKinds } from '../support/lock-kinds.js'
import { redLockOf } from '../support/nodes.js'
import { eventually } from '../support/rig.js'
import { describe, it, itAtOnce, own, useNodes, useRig } from '../support/together.js'

// Much less than a lease, and longer than any stand-still of a machine that is busy with other tests.
const SOON_MS = 3_000
/** Where the end is not waited for. */
const MIDDLE_MS = 10_000
const LATER_MS = 20_000

describe('a lease that is shortened, of each kind of lock', () => {
  const rig = useRig({ redis: 'all' })

  itAtOnce(
    'ends by then, in Redis too, is trusted no longer than that, and goes to a waiter of another client',
    lockKinds,
    async (kind) => {
      const [locks, name] = [await rig.client(), rig.name(kind.name)]
      const lost: string[] = []
      locks.on('lost', ({ error }) => lost.push(error.reason))
      const lock = kind.of(locks, name)
      const hold = await lock.acquire()
      const next = kind.rivalOf(await rig.client(), name).acquire({ waitMs: 2 * LATER_MS })
      await hold.shorten(SOON_MS)
      expect(hold.trustedForMs).toBeLessThan(SOON_MS)
      expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(SOON_MS)
      await hold.verify()
      await (await next).release()
      expect(hold.lossError).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
      expect(lost).toEqual(Array.from({ length: kind.locks }, () => 'expired'))
      expect(await hold.release()).toBe('lost')
    },
  )
})

describe.each(lockKinds)('a lease that is shortened: $name', (kind) => {
  const rig = useRig({ redis: 'all' })

  it('never becomes longer by it, and becomes longer by extend', async () => {
    const lock = kind.of(await rig.client(), rig.name())
    const hold = await lock.acquire({ leaseMs: MIDDLE_MS })
    await hold.shorten(LATER_MS)
    expect(hold.trustedForMs).toBeLessThan(MIDDLE_MS)
    expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(MIDDLE_MS)
    await hold.extend(LATER_MS)
    expect(hold.trustedForMs).toBeGreaterThan(MIDDLE_MS)
    expect(await lock.remainTimeToLive()).toBeGreaterThan(MIDDLE_MS)
    expect(await hold.release()).toBe('released')
  })

  it('shortening a lock that has gone is a loss, and one that was released an error; a text is no number', async () => {
    const locks = await rig.client()
    locks.on('lost', () => undefined)
    const lock = kind.of(locks, rig.name())
    const hold = await lock.acquire()
    await expect(hold.shorten('5' as never)).rejects.toThrow(InvalidArgumentError)
    await expect(hold.shorten(2 ** 31)).rejects.toThrow(/^ms .*24 days/)
    await kind.vanish(rig.admin, rig.name())
    await expect(hold.shorten(MIDDLE_MS)).rejects.toThrow(LockLostError)
    await hold.release()
    await expect(hold.shorten(MIDDLE_MS)).rejects.toThrow(NotLockOwnerError)
    expect(await lock.isLocked()).toBe(false)
  })
})

describe.each(reentrantKinds)('a lease that is shortened, and re-entry: $name', (kind) => {
  const rig = useRig({ redis: 'all' })

  it('is refused where other levels count on it; a later re-entry renews it again', async () => {
    const locks = await rig.client()
    const lock = kind.of(locks, rig.name())
    await locks.run(async () => {
      const outer = await lock.acquire()
      const inner = await lock.acquire()
      await expect(inner.shorten(MIDDLE_MS)).rejects.toThrow(/only level of its owner.*one of 2 levels/)
      expect(outer.trustedForMs).toBeGreaterThan(MIDDLE_MS)
      await inner.release()
      await outer.shorten(MIDDLE_MS)
      const again = await lock.acquire()
      expect(outer.trustedForMs).toBeGreaterThan(MIDDLE_MS)
      expect(await lock.remainTimeToLive()).toBeGreaterThan(MIDDLE_MS)
      await again.release()
      expect(await outer.release()).toBe('released')
    })
  })
})

describe('a lease that is shortened', () => {
  const rig = useRig()
  const NAME = 'order:42'

  it.each([
    ['plain', (locks: LockClient) => locks.getLock(NAME)],
    ['fair', (locks: LockClient) => locks.getFairLock(NAME)],
  ])(
    'a lease that is shortened of a lock that another client has just granted it ends by then: %s',
    async (_kind, lockOf) => {
      const options = { describeHolds: true }
      const [one, other] = [await rig.client(options), await rig.client(options)]
      const first = await lockOf(one).acquire()
      const next = lockOf(other).acquire()
      const queues = [`holdfast:line:{${NAME}}`, `redisson_lock_queue:{${NAME}}`]
      await eventually(async () => (await rig.admin.exists(queues)) > 0)
      await first.release()
      const hold = await next
      await hold.shorten(MIDDLE_MS)
      await hold.verify()
      expect(hold.trustedForMs).toBeLessThan(MIDDLE_MS)
      expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(MIDDLE_MS)
      expect(await hold.release()).toBe('released')
    },
  )

  it("is trusted no longer although Redis did not reply, and is nobody else's before that", async () => {
    const { proxy, locks } = await rig.proxied({ commandTimeout: 900 })
    locks.on('lost', () => undefined)
    const hold = await locks.getLock(NAME).acquire()
    proxy.blackHole()
    await expect(hold.shorten(SOON_MS)).rejects.toThrow(RedisUnavailableError)
    expect(hold.trustedForMs).toBeLessThan(SOON_MS)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(SOON_MS)
    proxy.pass()
    // The client takes back what Redis still has when it does not trust it any more.
    const next = await (await rig.client()).getLock(NAME).acquire({ waitMs: LATER_MS })
    expect(hold.lossError).toMatchObject({ reason: 'expired' })
    await next.release()
  })

  it.each(['an extend', 'a re-entry'])(
    'a lease that is shortened, and became longer again by %s stays so when a late copy arrives (I1)',
    async (by) => {
      // Within that it has to connect again.
      const { proxy, locks } = await rig.proxied({ commandTimeout: 900 })
      const lock = locks.getLock(NAME)
      await locks.run(async () => {
        const hold = await lock.acquire()
        const { owner } = hold
        proxy.blackHole()
        await expect(hold.shorten(MIDDLE_MS)).rejects.toThrow(RedisUnavailableError)
        proxy.cutAll()
        proxy.pass()
        await (by === 'an extend' ? hold.extend(LATER_MS) : lock.acquire().then((level) => level.release()))
        expect(hold.trustedForMs).toBeGreaterThan(MIDDLE_MS)
        for (const sequence of [1, 2]) {
          const stamp = { sequence, tombstoneThrough: 0 }
          const command = {
            lockName: NAME,
            key: NAME,
            tombstoneKey: tombstonePrefix(NAME) + owner,
            owner,
            stamp,
          }
          expect(await shorten(rig.runner(), { ...command, leaseMs: 1 })).toBe('superseded')
        }
        expect(await rig.admin.pttl(NAME)).toBeGreaterThan(MIDDLE_MS)
        expect(await hold.release()).toBe('released')
      })
    },
  )

  it('a lease that is shortened of a reader keeps the lock for the reader that has it longest, and for its writer', async () => {
    const [one, other] = [await rig.client(), await rig.client()]
    const readers = [one, other].map((each) => each.getReadWriteLock(NAME).readLock())
    const [mine, others] = [await readers[0]!.acquire(), await readers[1]!.acquire({ leaseMs: LATER_MS })]
    await mine.shorten(MIDDLE_MS)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(MIDDLE_MS)
    await others.verify()
    await others.shorten(MIDDLE_MS)
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(MIDDLE_MS)
    expect([await mine.release(), await others.release()]).toEqual(['released', 'released'])
    await one.run(async () => {
      const lock = one.getReadWriteLock(NAME)
      const [write, read] = [await lock.writeLock().acquire(), await lock.readLock().acquire()]
      await read.shorten(MIDDLE_MS)
      expect(await rig.admin.pttl(NAME)).toBeGreaterThan(MIDDLE_MS)
      await read.extend(LATER_MS)
      await write.shorten(MIDDLE_MS)
      expect(write.trustedForMs).toBeLessThan(MIDDLE_MS)
      expect(await rig.admin.pttl(NAME)).toBeGreaterThan(MIDDLE_MS)
      await read.verify()
      expect([await write.release(), await read.release()]).toEqual(['released', 'released'])
    })
  })
})

describe('a lease of a RedLock that is shortened', () => {
  const nodes = useNodes(3)
  const lock = own(async () => {
    const clients = await nodes.participant({ commandTimeout: 2_000 })
    clients.forEach((client) => client.on('lost', () => undefined))
    // For every node that works, however busy the machine.
    return redLockOf(clients, 'order:42', { nodeTimeoutMs: 2_000 })
  })

  it('ends by then on each node, is trusted no longer, and takes no node again', async () => {
    const hold = await lock.acquire()
    await nodes.at(0).server.command('FLUSHALL')
    await hold.shorten(SOON_MS)
    expect(hold.trustedForMs).toBeLessThan(SOON_MS)
    for (const { server } of nodes.all.slice(1)) {
      expect(Number(await server.command('PTTL', 'order:42'))).toBeLessThanOrEqual(SOON_MS)
    }
    const next = redLockOf(await nodes.participant(), 'order:42')
    await (await next.acquire({ waitMs: LATER_MS })).release()
    expect(hold.lossError).toMatchObject({ reason: 'expired' })
    await hold.release()
  })
})
