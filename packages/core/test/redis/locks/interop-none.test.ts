import { describe, expect, it } from '@jest/globals'
import type { LockClient, LockClientOptions } from '../../../src/index.js'
import { waitBehind } from '../support/outcomes.js'
import { MessageLog } from '../support/message-log.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

// Locks that nobody but Holdfast clients uses: a release tells only those who stand in the queue.

const NAME = 'order:42'
const CHANNEL = `redisson_lock__channel:{${NAME}}`

const rig = useRig()
const log = own(() => MessageLog.open(rig.connection(), rig.admin))

// No resync helps within a test.
const client = (options: LockClientOptions = {}): Promise<LockClient> =>
  rig.client({ interop: 'none', resyncInterval: 20_000, ...options })
const locks = own(() => client())
const others = own(() => client())

const announced = async (): Promise<string[]> => (await log.take()).map(([channel]) => channel)

/** Its head stands in the queue, to be granted the lock. */
const stands = () => eventually(async () => (await rig.admin.zcard(`holdfast:line:{${NAME}}`)) > 0)

describe("a client with interop: 'none'", () => {
  it('announces no release that nobody waits for', async () => {
    await locks.getLock(NAME).withLock(() => undefined)
    await locks.getNonReentrantLock(NAME).withLock(() => undefined)
    expect(await announced()).toEqual([])
    expect(await rig.contents()).toEqual({})
  })

  it('grants the lock to a waiter of another client', async () => {
    const hold = await locks.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => others.getLock(NAME).acquire())
    await stands()
    await hold.release()
    expect(await (await soon(waiting)).release()).toBe('released')
    await eventually(async () => Object.keys(await rig.contents()).length === 0)
  })

  it('grants it to one that has waited for longer than a short life', async () => {
    const hold = await locks.getLock(NAME).acquire()
    const shortLived = await client({ lockWatchdogTimeout: 600 })
    const { waiting } = await waitBehind(rig, NAME, () => shortLived.getLock(NAME).acquire())
    await stands()
    const aliveUntil = async (): Promise<number> => {
      const [, until] = await rig.admin.zrange(`holdfast:line:{${NAME}}`, '0', '0', 'WITHSCORES')
      return -Number(until ?? Number.NaN)
    }
    const atFirst = await aliveUntil()
    await eventually(async () => (await aliveUntil()) > atFirst + 600)
    await hold.release()
    expect(await (await soon(waiting)).release()).toBe('released')
    await eventually(async () => Object.keys(await rig.contents()).length === 0)
  })

  it('wakes a waiter of its own that the lock is not passed on to', async () => {
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    const waits = ['a', 'b'].map(() => locks.getLock(NAME).acquire({ leaseMs: 60_000 }))
    await rig.heard(NAME)
    await locks.getLock(NAME).isLocked()
    await hold.release()
    await (await soon(waits[0]!)).release()
    await (await soon(waits[1]!)).release()
    expect(await rig.contents()).toEqual({})
  })

  it('tells the others again once a waiter has left', async () => {
    const abort = new AbortController()
    const hold = await locks.getLock(NAME).acquire()
    const leaving = others.getLock(NAME).acquire({ signal: abort.signal })
    await stands()
    abort.abort()
    await expect(leaving).rejects.toBe(abort.signal.reason)
    await hold.release()
    await locks.getLock(NAME).withLock(() => undefined)
    await eventually(async () => Object.keys(await rig.contents()).length === 0)
  })

  it('announces the release of a fenced lock, whose waiters do not stand in the queue', async () => {
    const hold = await locks.getFencedLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => others.getFencedLock(NAME).acquire())
    await hold.release()
    await (await soon(waiting)).release()
    expect(await announced()).toEqual([CHANNEL, CHANNEL])
  })

  it.each([
    ['pushedGrants: false', { pushedGrants: false }, /^pushedGrants must be true where interop is 'none'/],
    ['replicas', { replicas: { acks: 1 } }, /^replicas must be left out where interop is 'none'/],
  ])('is not to be had with %s', async (_what, options, message) => {
    await expect(client(options)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message),
    })
  })
})
