import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import { CriticalSection, oneAfterAnother } from './support/critical-section.js'
import { useRig } from './support/rig.js'

describe('SCRIPT FLUSH in a loop', () => {
  const own = useRig({ redis: 'test' })

  it('nobody sees NOSCRIPT, the counts are exact, and each NOSCRIPT costs one EVAL (I1)', async () => {
    const admin = own.connection()
    const clients = [await own.client(), await own.client()]
    const renewing = await own.client({ lockWatchdogTimeout: 1_500 })
    const names = ['one', 'two', 'three']
    const sections = names.map((name) => new CriticalSection(admin, `counter:${name}`))
    const watched = await renewing.getLock('watched').acquire()
    let busy = true
    let flushes = 0
    const flush = async (): Promise<void> => {
      while (busy) {
        await admin.script('FLUSH')
        flushes += 1
      }
    }
    const work = async (locks: LockClient, index: number): Promise<void> => {
      for (let i = 0; i < 25; i += 1) {
        await locks.getLock(names[index]!).withLock(sections[index]!.enter)
      }
    }

    await own.server.resetStats()
    const flushing = flush()
    const flows = clients.flatMap((locks) => names.flatMap((_, i) => [work(locks, i), work(locks, i)]))
    await Promise.all(flows).finally(() => (busy = false))
    await flushing
    await watched.verify()
    expect(await watched.release()).toBe('released')

    for (const section of sections) {
      expect(await section.result()).toEqual(oneAfterAnother(4 * 25))
    }
    const errors = String(await own.server.command('INFO', 'errorstats'))
    const unknown = Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(errors)?.[1])
    expect(flushes).toBeGreaterThan(50)
    expect(unknown).toBeGreaterThan(50)
    expect((await own.server.commandStats()).get('eval')).toBe(unknown)
  })
})
