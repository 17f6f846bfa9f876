import { describe, expect, it } from '@jest/globals'
import { releaseCall } from '../../../src/scripts/lock.js'
import { lostAt } from '../support/outcomes.js'
import { MessageLog } from '../support/message-log.js'
import { own, useRig } from '../support/rig.js'

// A spin lock keeps in Redis the hash of a plain lock, and publishes nothing.

const NAME = 'order:42'
const SETTLED = { resyncInterval: 60_000 }

const rig = useRig()
const log = own(() => MessageLog.open(rig.connection(), rig.admin))
const locks = own(() => rig.client({ clientName: 'node', ...SETTLED }))
const others = own(() => rig.client(SETTLED))

/** Scripts and messages, whoever sent them. */
async function commandsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const wanted = ['evalsha', 'eval', 'publish', 'subscribe', 'set']
  const all = await rig.commandsDuring(work)
  return Object.fromEntries([...all].filter(([command]) => wanted.includes(command)))
}

describe('a spin lock on the wire', () => {
  it('is the hash of an RLock with its lease; a release leaves nothing and says nothing', async () => {
    const hold = await locks.getSpinLock(NAME).acquire({ leaseMs: 20_000 })
    expect(hold.owner).toMatch(/^node~[\w-]{21}:\d+$/)
    expect(await rig.contents()).toEqual({ [NAME]: { type: 'hash', value: { [hold.owner]: '1' } } })
    await rig.expectTtl(NAME, 20_000)
    expect(await hold.release()).toBe('released')
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([])
  })

  it('counts its levels, and says nothing about any of them', async () => {
    await locks.run(async () => {
      const lock = locks.getSpinLock(NAME)
      const { owner } = await lock.lock()
      await lock.lock()
      expect(await rig.admin.hgetall(NAME)).toEqual({ [owner]: '2' })
      await lock.unlock()
      expect(await rig.admin.hgetall(NAME)).toEqual({ [owner]: '1' })
      await lock.unlock()
    })
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([])
  })

  it('a forced release tells the client that had it, and nobody else', async () => {
    const hold = await locks.getSpinLock(NAME).acquire()
    const lost = lostAt(hold)
    expect(await others.getSpinLock(NAME).forceUnlock()).toBe(true)
    await lost
    expect(hold.lossError).toMatchObject({ reason: 'forced' })
    expect(await log.take()).toEqual([[`holdfast:client:${locks.clientId}`, hold.owner]])
    expect(await rig.contents()).toEqual({})
  })

  it('costs one script to take and one to release, or those of a turn together', async () => {
    const one = await commandsOf(async () => {
      await (await locks.getSpinLock(NAME).acquire()).release()
    })
    expect(one).toEqual({ evalsha: 2 })
    const many = await commandsOf(async () => {
      const holds = await Promise.all(
        Array.from({ length: 20 }, (_, i) => locks.getSpinLock(`spin-${i}`).acquire()),
      )
      // A turn later: of those that were resumed in this one half would leave first.
      await rig.admin.ping()
      await Promise.all(holds.map((hold) => hold.release()))
    })
    expect(many).toEqual({ evalsha: 2 })
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([])
  })

  it('a release that is sent twice, or arrives late, says nothing either, and harms nobody', async () => {
    const runner = rig.runner()
    const releaseAs = (owner: string) =>
      runner.run(
        releaseCall(runner, {
          ...{ lockName: NAME, key: NAME, tombstoneKey: `holdfast:latch:{${NAME}}:${owner}` },
          queueKey: `holdfast:line:{${NAME}}`,
          ...{ owner, holds: 0, stamp: { sequence: 2, tombstoneThrough: 0 }, channel: null },
        }),
      )
    const first = await locks.getSpinLock(NAME).acquire()
    expect(await releaseAs(first.owner)).toEqual({ kind: 'released' })
    expect(await releaseAs(first.owner)).toEqual({ kind: 'not-held' })
    const next = await others.getSpinLock(NAME).acquire()
    expect(await releaseAs(first.owner)).toEqual({ kind: 'not-held' })
    await next.verify()
    expect(await next.release()).toBe('released')
    expect(await first.release()).toBe('lost')
    expect(await log.take()).toEqual([])
  })
})
