import { describe, expect, it } from '@jest/globals'
import { LockLostError } from '../../../src/index.js'
import { acquireScript } from '../../../src/scripts/lock.js'
import { itAtOnce } from '../support/at-once.js'
import { renewed } from '../support/outcomes.js'
import { reentrantKinds } from '../support/lock-kinds.js'
import { runsOf } from '../support/requests.js'
import { own, signalled, soon, useRig } from '../support/rig.js'

describe('re-entry, of each kind of lock', () => {
  const rig = useRig({ redis: 'all' })

  itAtOnce(
    'lock, lock with a lease, unlock: the outer hold is still renewed',
    reentrantKinds,
    async (kind) => {
      const locks = await rig.client({ lockWatchdogTimeout: 2_400 })
      const lock = kind.of(locks, rig.name(kind.name))
      await locks.run(async () => {
        const outer = await lock.lock()
        await lock.lock(2_500)
        await lock.unlock()
        await renewed(outer)
        await renewed(outer)
        expect(await lock.getHoldCount()).toBe(1)
        await lock.unlock()
      })
    },
  )
})

describe.each(reentrantKinds)('re-entry: $name', (kind) => {
  const rig = useRig({ redis: 'all' })
  const locks = own(() => rig.client())
  const lock = own(() => kind.of(locks, rig.name()))

  it('re-entry after the key was deleted is a loss on every level', async () => {
    await locks.run(async () => {
      const outer = await lock.lock()
      const inner = await lock.lock()
      await kind.vanish(rig.admin, rig.name())
      await expect(lock.lock()).rejects.toThrow(LockLostError)
      expect(outer.signal.aborted).toBe(true)
      expect(inner.signal.aborted).toBe(true)
      expect(await inner.release()).toBe('lost')
      expect(await outer.release()).toBe('lost')
    })
  })

  it('a signal that has aborted already ends a re-entry too, and the level is not taken', async () => {
    await locks.run(async () => {
      const hold = await lock.acquire()
      const signal = AbortSignal.abort(new Error('no'))
      await expect(lock.acquire({ signal })).rejects.toBe(signal.reason)
      await expect(lock.withLock(() => undefined, { signal })).rejects.toBe(signal.reason)
      expect(hold.count).toBe(1)
      expect(await lock.getHoldCount()).toBe(1)
      await hold.release()
    })
  })
})

describe('a re-entry whose caller goes', () => {
  const rig = useRig()
  const NAME = 'order:42'

  /** A lock behind a slow wire, and what resolves when a re-entry of it is on its way. */
  const slow = async () => {
    const { proxy, locks } = await rig.proxied()
    const lock = locks.thread().getLock(NAME)
    const outer = await lock.acquire()
    proxy.delay(20)
    const sent = signalled()
    let count = 0
    proxy.loseReply((bytes) => {
      if (runsOf(acquireScript)(bytes)) {
        count += 1
        sent.resolve()
      }
      return false
    })
    return { lock, outer, sent: sent.promise, sentSoFar: () => count }
  }

  it('while it is on its way, is no level of those who stay: their last release frees the lock (I2)', async () => {
    const { lock, outer, sent } = await slow()
    const leaving = new AbortController()
    const gone = lock.acquire({ signal: leaving.signal })
    await sent
    leaving.abort('enough')
    await expect(gone).rejects.toBe('enough')
    expect(await soon(outer.release())).toBe('released')
    expect(await rig.contents()).toEqual({})
  })

  it('before its turn has come, is not sent', async () => {
    const { lock, outer, sent, sentSoFar } = await slow()
    const leaving = new AbortController()
    const inner = lock.acquire()
    const gone = lock.acquire({ signal: leaving.signal })
    await sent
    leaving.abort('enough')
    await expect(gone).rejects.toBe('enough')
    expect(await (await soon(inner)).release()).toBe('still-held')
    expect(sentSoFar()).toBe(1)
    expect(await rig.admin.hgetall(NAME)).toEqual({ [outer.owner]: '1' })
    expect(await outer.release()).toBe('released')
  })
})
