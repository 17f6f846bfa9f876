import { describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { eventually, useRig } from '../support/rig.js'

// Long enough that no lease ends while a busy machine takes them all, or renews them.
const LEASE_MS = 6_000
const SCRIPT_SIZE = 10
/** Scripts that leave one on the answer of the other. */
const IN_A_ROW = 32
const ROWS = 10
const SCRIPTS = ROWS * IN_A_ROW
/** Scripts of one row are closer together than that, rows are not: there is a row every 200 ms. */
const APART_S = 0.02

describe('renewals of locks that were taken in one burst', () => {
  const rig = useRig()

  /**
   * Every script that reaches Redis: when, and how many locks it is about. To be called while nobody sends anything: what
   * arrives with the answer to MONITOR ioredis takes for answers.
   */
  const watchScripts = async () => {
    let seen: { at: number; locks: number }[] = []
    let forgotten = (): void => undefined
    const monitor: Redis = await rig.connection().monitor()
    rig.atEnd(() => monitor.disconnect())
    monitor.on('monitor', (time: string, args: string[], source: string) => {
      if (source !== 'lua' && /^evalsha$/i.test(args[0]!)) {
        seen.push({ at: Number(time), locks: Number(args[2]) })
      }
      if (/^echo$/i.test(args[0]!)) {
        seen = []
        forgotten()
      }
    })
    return {
      seen: () => seen,
      /** The commands up to now: the monitor tells of it later than Redis answers. */
      forget: async () => {
        const done = new Promise<void>((resolve) => (forgotten = resolve))
        await Promise.all([rig.admin.echo('forget'), done])
      },
    }
  }

  it('leave in full scripts, some in a row, and the rows spread over the interval', async () => {
    const scripts = await watchScripts()
    const locks = await rig.client({ lockWatchdogTimeout: LEASE_MS, watchdogBatchSize: SCRIPT_SIZE })
    let lost = 0
    locks.on('lost', () => (lost += 1))
    const names = Array.from({ length: SCRIPTS * SCRIPT_SIZE }, (_, i) => `order:${i}`)
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    await scripts.forget()
    // Three thirds of the lease; each lock is renewed at least three times, and in the first one sooner than it has to.
    await eventually(() => scripts.seen().length >= 4 * SCRIPTS, 25_000)
    const renewals = scripts.seen().slice(0, 4 * SCRIPTS)
    const full = renewals.filter(({ locks: count }) => count === SCRIPT_SIZE)
    // All of them on a quiet machine; what a busy one renews late may be split once.
    expect(full.length).toBeGreaterThan(0.9 * renewals.length)
    const rows = renewals.filter(({ at }, i) => i === 0 || at - renewals[i - 1]!.at > APART_S)
    // Forty on a quiet machine; on a busy one some come together. Without a plan there is one in each third of the lease.
    expect(rows.length).toBeGreaterThan(ROWS)
    expect([lost, holds.every(({ signal }) => !signal.aborted)]).toEqual([0, true])
    await Promise.all(holds.map((hold) => hold.release()))
  })
})
