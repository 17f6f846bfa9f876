import { describe, expect, it } from '@jest/globals'
import type { AnyLock, LockClient, LockClientOptions } from '../../src/index.js'
import { eventually, soon, useRig } from './support/rig.js'
import { SlowClock } from './support/slow-clock.js'

// Who tries first where no grants are made. See docs/decisions/0073-nobody-starves.md.

const NAME = 'order:42'

const rig = useRig()

const listeners = async (): Promise<number> => {
  const channels = (await rig.admin.pubsub('CHANNELS', `redisson_*{${NAME}}`)) as string[]
  return channels[0] === undefined ? 0 : Number((await rig.admin.pubsub('NUMSUB', channels[0]))[1])
}

describe.each<[string, (locks: LockClient) => AnyLock, LockClientOptions]>([
  ['a fenced lock', (locks) => locks.getFencedLock(NAME), {}],
  ['a write lock', (locks) => locks.getReadWriteLock(NAME).writeLock(), {}],
  [
    'a plain lock without grants and passing',
    (locks) => locks.getLock(NAME),
    // With passing, a caller does not ask Redis for 5 ms, which is nearly a hold that counts.
    { pushedGrants: false, localPassing: false },
  ],
])('a client that has had %s', (_what, lockOf, options) => {
  /** It has had the lock for some ms, and wants it again; another one that is further away waits. */
  async function wantedAgain(heldMs: number) {
    const clock = new SlowClock(true)
    const near = await rig.client({ ...options, runtime: clock })
    const had = await lockOf(near).acquire()
    const again = lockOf(near).acquire()
    const proxy = await rig.proxy()
    const far = await rig.client(options, rig.connection({}, proxy))
    const theirs = lockOf(far).acquire()
    await eventually(async () => (await listeners()) === 2)
    await near.getLock('else').isLocked()
    await far.getLock('else').isLocked()
    proxy.delay(20)
    clock.skip(heldMs)
    await had.release()
    return { near: again, far: theirs, proxy }
  }

  it('stands back for one that is further away, and has the lock after it', async () => {
    const { near, far, proxy } = await wantedAgain(200)
    const first = await soon(Promise.race([near, far]))
    expect(first).toBe(await soon(far))
    proxy.pass()
    await first.release()
    await (await soon(near)).release()
  })

  it('does not after a short hold: the nearest has it', async () => {
    const { near, far, proxy } = await wantedAgain(1)
    const first = await soon(Promise.race([near, far]))
    expect(first).toBe(await soon(near))
    proxy.pass()
    await first.release()
    await (await soon(far)).release()
  })
})
