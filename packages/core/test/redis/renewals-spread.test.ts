import { describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { eventually } from './support/harness.js'
import { useRig } from './support/rig.js'

const LEASE_MS = 3_000
const BATCH = 100
const CHUNKS = 15
/** What one turn of the event loop sends is closer together than that. */
const ONE_BURST_S = 0.002

describe('renewals of locks that were taken in one burst', () => {
  const rig = useRig()

  /** Every renewal that reaches Redis: when, and how many locks it is about. */
  const watchRenewals = async (): Promise<{ at: number; locks: number }[]> => {
    const seen: { at: number; locks: number }[] = []
    const monitor: Redis = await rig.connection().monitor()
    rig.atEnd(() => monitor.disconnect())
    monitor.on('monitor', (time: string, args: string[], source: string) => {
      if (source !== 'lua' && /^evalsha$/i.test(args[0]!)) {
        seen.push({ at: Number(time), locks: Number(args[2]) })
      }
    })
    return seen
  }

  it('leave in full chunks, spread over the interval, as often as they have to and no oftener', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: LEASE_MS, watchdogBatchSize: BATCH })
    let lost = 0
    locks.on('lost', () => (lost += 1))
    const names = Array.from({ length: CHUNKS * BATCH }, (_, i) => `order:${i}`)
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    const seen = await watchRenewals()
    // Three thirds of the lease; each lock is renewed at least three times, and in the first one sooner than it has to.
    await eventually(() => seen.length >= 4 * CHUNKS, 10_000)
    const renewals = seen.slice(0, 4 * CHUNKS)
    expect(renewals.every(({ locks: count }) => count === BATCH)).toBe(true)
    const inBursts = renewals.filter(({ at }, i) => i > 0 && at - renewals[i - 1]!.at < ONE_BURST_S)
    // None on a quiet machine. Without a plan it is all but one of each third.
    expect(inBursts.length).toBeLessThan(CHUNKS)
    expect([lost, holds.every(({ signal }) => !signal.aborted)]).toEqual([0, true])
    await Promise.all(holds.map((hold) => hold.release()))
  }, 20_000)
})
