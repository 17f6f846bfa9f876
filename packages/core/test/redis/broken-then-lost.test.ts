import { beforeEach, describe, expect, it } from '@jest/globals'
import type { FaultProxy } from '@holdfast/faults/harness'
import { LockLostError, type LockClient } from '../../src/index.js'
import { acquireScript, releaseScript } from '../../src/scripts/lock.js'
import { runsOf } from './support/requests.js'
import { soon, useRig } from './support/rig.js'

const NAME = 'order:42'
const rig = useRig()

// "Nothing there" answers a full release that is sent again, and also a first one after a loss. Only the full
// release's own broken connection makes it the former.
describe('a connection that broke earlier hides no loss', () => {
  let proxy: FaultProxy
  let locks: LockClient

  beforeEach(async () => {
    proxy = await rig.proxy()
    locks = await rig.client({}, rig.connection({}, proxy))
  })

  const isAcquireOf = (count: number) => runsOf(acquireScript, (argv) => argv[1] === `${count}`)
  const isReleaseTo = (count: number) => runsOf(releaseScript, (argv) => argv[1] === `${count}`)

  it('a connection that broke earlier hides no loss of an acquire: a release that finds nothing says lost (I1)', async () => {
    const fault = proxy.loseReply(isAcquireOf(1))
    const hold = await soon(locks.getLock(NAME).acquire())
    expect(fault.count).toBe(1)
    await rig.admin.del(NAME)
    expect(await hold.release()).toBe('lost')
    expect(hold.signal.reason).toMatchObject({ reason: 'gone', owner: hold.owner })
  })

  it('a connection that broke earlier hides no loss of an acquire: withLock says LockLostError, with the result (I1)', async () => {
    const fault = proxy.loseReply(isAcquireOf(1))
    const work = locks.getLock(NAME).withLock(async () => {
      await rig.admin.del(NAME)
      return 'the result'
    })
    await expect(soon(work)).rejects.toBeInstanceOf(LockLostError)
    await expect(work).rejects.toMatchObject({ reason: 'gone', result: 'the result' })
    expect(fault.count).toBe(1)
  })

  it('a connection that broke earlier hides no loss of a re-entry and of a partial release: the full release says lost (I1)', async () => {
    await locks.run(async () => {
      const lock = locks.getLock(NAME)
      const outer = await lock.acquire()
      const faults = [proxy.loseReply(isAcquireOf(2)), proxy.loseReply(isReleaseTo(1))]
      const inner = await soon(lock.acquire())
      expect(await soon(inner.release())).toBe('still-held')
      expect(faults.map(({ count }) => count)).toEqual([1, 1])
      await rig.admin.del(NAME)
      expect(await outer.release()).toBe('lost')
    })
  })

  it('a connection that broke earlier hides no loss of the full release itself: released', async () => {
    const hold = await locks.getLock(NAME).acquire()
    const fault = proxy.loseReply(isReleaseTo(0))
    expect(await soon(hold.release())).toBe('released')
    expect(fault.count).toBe(1)
    expect(hold.signal.aborted).toBe(false)
  })
})
