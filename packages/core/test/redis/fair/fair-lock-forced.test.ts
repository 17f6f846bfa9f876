import { describe, expect, it } from '@jest/globals'
import type { Lock, LockClient, LockClientOptions } from '../../../src/index.js'
import { eventually, signalled, soon, useRig } from '../support/rig.js'

// A forced release and the message that tells of it reach a client on connections of their own, in whatever order.

const NAME = 'order:42'
const rig = useRig()
// No resync helps within a test.
const client = (options: LockClientOptions = {}, connection = rig.connection()): Promise<LockClient> =>
  rig.client({ resyncInterval: 20_000, ...options }, connection)

const isFree = (): Promise<void> => eventually(async () => (await rig.admin.exists(NAME)) === 0)

const KINDS: [string, (locks: LockClient) => Lock][] = [
  ['lock', (locks) => locks.getLock(NAME)],
  ['fair lock', (locks) => locks.getFairLock(NAME)],
]

describe.each(KINDS)('%s', (_kind, of) => {
  it.each<[string, (others: LockClient) => Promise<unknown>]>([
    ['released by force', (others) => of(others).forceUnlock()],
    ['deleted', () => rig.admin.del(NAME)],
  ])('a lock that was %s is not taken again by a late copy of its acquire (I1, I2)', async (_how, end) => {
    const proxy = await rig.proxy()
    const others = await client()
    const locks = await client({}, rig.connection({}, proxy))
    await of(locks).withLock(() => undefined)
    const isAcquire = (bytes: Buffer): boolean => bytes.includes('evalsha')
    const closed = signalled()
    const copied = proxy.copyLate(isAcquire, closed.promise)
    const lost = proxy.loseReply(isAcquire)
    // The connection breaks with the reply: the client sends the command again, and knows of copies.
    const hold = await of(locks).acquire()
    await lost.happened
    await end(others)
    await hold.verify().catch(() => undefined)
    await eventually(() => hold.isLost)
    await locks.close()
    closed.resolve()
    await soon(copied.happened)
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('is held by nobody who does not know it, when it was forced before a waiter that was granted it had confirmed that (I4)', async () => {
    const proxy = await rig.proxy()
    const others = await client()
    const locks = await client({ describeHolds: true }, rig.connection({}, proxy))
    const first = await of(others).acquire()
    const given = of(locks)
      .acquire()
      .then((hold) => {
        proxy.blackHole()
        return hold
      })
    await eventually(
      async () => (await rig.admin.exists(`holdfast:line:{${NAME}}`, `holdfast:arrivals:{${NAME}}`)) === 1,
    )
    await first.release()
    const hold = await soon(given)
    expect(await of(others).forceUnlock()).toBe(true)
    proxy.pass()
    // Its confirmation takes it anew, or comes too late: Redis decides, and the holder goes by that.
    await eventually(async () => hold.isLost || (await rig.admin.hexists(NAME, hold.owner)) === 1)
    expect(await hold.release()).toBe(hold.isLost ? 'lost' : 'released')
    await isFree()
    await of(others).withLock(() => undefined)
  })
})
