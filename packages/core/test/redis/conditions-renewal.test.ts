import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import type { LockClient } from '../../src/index.js'
import { renew, renewScript } from '../../src/scripts/lock.js'
import { sleep } from './support/harness.js'
import { runsOf } from './support/requests.js'
import { useRig } from './support/rig.js'
import { seeded } from './support/seeded.js'

type Round = (name: string, random: () => number) => Promise<void>

/** 300 rounds in so many lanes, each on a lock of its own. */
function inLanes(lanes: number, round: Round): Promise<unknown> {
  const lane = async (index: number): Promise<void> => {
    const random = seeded(index)
    for (let i = 0; i < 300 / lanes; i += 1) {
      await round(`order:${index}`, random)
    }
  }
  return Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)))
}

describe('a renewal that races with the release and the next acquisition', () => {
  const rig = useRig()
  const either = ([one, other]: LockClient[], random: () => number): LockClient =>
    (random() < 0.5 ? one : other) as LockClient

  it('prolongs nobody else’s lease, whenever it arrives: 300 rounds of stray renewals (I6)', async () => {
    const clients = [await rig.client(), await rig.client()]
    const runners = [rig.runner(), rig.runner()]
    const answers = { renewed: 0, lost: 0 }

    await inLanes(50, async (name, random) => {
      const hold = await either(clients, random).getLock(name).acquire()
      const strays = runners.map(async (runner) => {
        for (let turns = Math.floor(random() * 6); turns > 0; turns -= 1) {
          await turn()
        }
        const [answer] = await renew(runner, { locks: [{ key: name, owner: hold.owner }], leaseMs: 60_000 })
        answers[answer!] += 1
      })
      await turn()
      expect(await hold.release()).toBe('released')
      const next = await either(clients, random).getLock(name).acquire({ leaseMs: 5_000 })
      await Promise.all(strays)
      expect(await rig.admin.pttl(name)).toBeLessThanOrEqual(5_000)
      expect(await rig.admin.hgetall(name)).toEqual({ [next.owner]: '1' })
      expect(await next.release()).toBe('released')
    })

    expect(await rig.admin.dbsize()).toBe(0)
    // Both before the release and after it.
    expect(answers.renewed).toBeGreaterThan(30)
    expect(answers.lost).toBeGreaterThan(30)
  })

  it('also when it is the watchdog’s own, and a copy of it comes late: 300 rounds (I2, I6)', async () => {
    const proxy = await rig.proxy()
    const renewals = proxy.copyLate(runsOf(renewScript), 25, Number.POSITIVE_INFINITY)
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 }, rig.connection({}, proxy))
    const others = await rig.client()

    await inLanes(250, async (name, random) => {
      await sleep(random() * 100)
      const hold = await locks.getLock(name).acquire()
      // The watchdog renews after a second, or a little before, together with others.
      await sleep(890 + random() * 130)
      await hold.release()
      const next = await either([locks, others], random).getLock(name).acquire({ leaseMs: 1_500 })
      for (const pauseMs of [0, 15, 15]) {
        await sleep(pauseMs)
        expect(await rig.admin.pttl(name)).toBeLessThanOrEqual(1_500)
      }
      await next.release()
    })

    // Each is about up to a hundred locks.
    expect(renewals.count).toBeGreaterThanOrEqual(5)
  })
})
