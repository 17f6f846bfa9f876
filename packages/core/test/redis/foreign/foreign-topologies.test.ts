import { describe, expect, it } from '@jest/globals'
import { LockTimeoutError, type LockClient, type RedLock } from '../../../src/index.js'
import { nextEvent, outcomeOf } from '../support/outcomes.js'
import { useClusterRig } from '../support/cluster-rig.js'
import { foreignKinds, TOKEN } from '../support/foreign-kinds.js'
import { redLockOf, useNodes } from '../support/nodes.js'
import { soon } from '../support/rig.js'
import { SlowClock } from '../support/slow-clock.js'

const NAME = 'order:42'
const LONG_MS = '60000'

describe("foreignLocks: 'wait' on a Redis Cluster", () => {
  const rig = useClusterRig({ replicasPerPrimary: 0 })

  it.each(foreignKinds)(
    '$name: waits at the primary of the name until the string is deleted (I1)',
    async (kind) => {
      const locks = await rig.client({ foreignLocks: 'wait' })
      const primary = await rig.primaryOf(NAME)
      await primary.command('SET', NAME, TOKEN, 'PX', LONG_MS)
      expect(await kind.of(locks, NAME).tryLock()).toBe(false)
      const waiting = nextEvent(locks, 'waiting')
      const hold = kind.of(locks, NAME).acquire()
      await waiting
      expect(await primary.command('GET', NAME)).toBe(TOKEN)
      await primary.command('DEL', NAME)
      const taken = await soon(hold)
      expect(await primary.command('TYPE', NAME)).toBe('hash')
      expect(await taken.release()).toBe('released')
      await primary.command('SET', NAME, TOKEN, 'PX', LONG_MS)
      const slow = await rig.client({ foreignLocks: 'wait', runtime: new SlowClock(true) })
      const error = await outcomeOf(kind.of(slow, NAME).acquire({ waitMs: 1 }))
      expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', holder: { owner: TOKEN, foreign: true } })
      await primary.command('DEL', NAME)
    },
  )
})

describe("foreignLocks: 'wait' in a RedLock", () => {
  const nodes = useNodes(3)
  // All nodes answer; a busy machine must not make some of them count as silent.
  const over = (clients: readonly LockClient[]): RedLock => redLockOf(clients, NAME, { nodeTimeoutMs: 5_000 })
  const takeStrings = (...of: number[]): Promise<unknown> =>
    Promise.all(of.map((each) => nodes.at(each).server.command('SET', NAME, TOKEN, 'PX', LONG_MS)))
  const stringAt = (index: number): Promise<unknown> => nodes.at(index).server.command('GET', NAME)

  it('a majority of strings refuses it and is waited for; the strings stay (I1)', async () => {
    const lock = over(await nodes.participant({ foreignLocks: 'wait', commandTimeout: 5_000 }))
    const slow = over(await nodes.participant({ foreignLocks: 'wait', runtime: new SlowClock(true) }))
    await takeStrings(1, 2)
    expect(await lock.tryLock()).toBe(false)
    expect(await outcomeOf(slow.acquire({ waitMs: 1 }))).toBeInstanceOf(LockTimeoutError)
    const hold = lock.acquire()
    expect([await stringAt(1), await stringAt(2)]).toEqual([TOKEN, TOKEN])
    await nodes.at(1).server.command('DEL', NAME)
    const taken = await soon(hold)
    expect((await nodes.holders(NAME, [nodes.at(0), nodes.at(1)])).every(Boolean)).toBe(true)
    expect(await stringAt(2)).toBe(TOKEN)
    expect(await taken.release()).toBe('released')
    await nodes.at(2).server.command('DEL', NAME)
  })

  it('a minority of strings does not keep it out, and survives its release', async () => {
    const lock = over(await nodes.participant({ foreignLocks: 'wait', commandTimeout: 5_000 }))
    await takeStrings(0)
    const taken = await soon(lock.acquire())
    expect((await nodes.holders(NAME, [nodes.at(1), nodes.at(2)])).every(Boolean)).toBe(true)
    expect(await taken.release()).toBe('released')
    expect(await stringAt(0)).toBe(TOKEN)
    await nodes.at(0).server.command('DEL', NAME)
  })
})
