import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../../src/index.js'
import { CriticalSection, oneAfterAnother } from '../support/critical-section.js'
import { renewed } from '../support/outcomes.js'
import { useRig } from '../support/rig.js'

describe('SCRIPT FLUSH in a loop', () => {
  const rig = useRig({ redis: 'test' })

  it('nobody sees NOSCRIPT, the counts are exact, and each NOSCRIPT costs one EVAL (I1)', async () => {
    // A command that was given up is sent again, and its NOSCRIPT answered by nobody: none is, however slow Redis is.
    const patient = { commandTimeout: 20_000, unavailableTimeoutMs: 20_000 }
    const clients = [await rig.client(patient), await rig.client(patient)]
    const renewing = await rig.client({ ...patient, lockWatchdogTimeout: 3_000 })
    const names = ['one', 'two', 'three']
    const sections = names.map((name) => new CriticalSection(rig.admin, `counter:${name}`))
    const watched = await renewing.getLock('watched').acquire()
    let busy = true
    let flushes = 0
    const flush = async (): Promise<void> => {
      while (busy) {
        await rig.admin.script('FLUSH')
        flushes += 1
      }
    }
    const work = async (locks: LockClient, index: number): Promise<void> => {
      for (let i = 0; i < 25; i += 1) {
        await locks.getLock(names[index]!).withLock(sections[index]!.enter)
      }
    }

    await rig.server.resetStats()
    const flushing = flush()
    const flows = clients.flatMap((locks) => names.flatMap((_, i) => [work(locks, i), work(locks, i)]))
    await Promise.all([...flows, renewed(watched)]).finally(() => (busy = false))
    await flushing
    await watched.verify()
    expect(await watched.release()).toBe('released')

    for (const section of sections) {
      expect(await section.result()).toEqual(oneAfterAnother(4 * 25))
    }
    const errors = String(await rig.server.command('INFO', 'errorstats'))
    const unknown = Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(errors)?.[1])
    expect(flushes).toBeGreaterThan(50)
    expect(unknown).toBeGreaterThan(50)
    expect((await rig.server.commandStats()).get('eval')).toBe(unknown)
  })
})
