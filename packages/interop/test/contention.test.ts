import { describe, expect, it } from '@jest/globals'
import { setting } from './support/setting.js'
import type { Side } from './support/side.js'
import { useSides } from './support/sides.js'

const FOR_MS = setting.contentionMs
const WATCHDOG_MS = 1_500
const THREADS = 4
const COUNTER = 'counter'

const sides = useSides()

interface Contended {
  readonly taken: number
  readonly longestMs: number
}

describe('two JVMs and two Node processes contend', () => {
  it.each(['lock', 'fair'] as const)(
    'for one %s while others are killed: the counter is exact, nobody waits for a lease of a free lock (I1, I4)',
    async (kind) => {
      const start = (language: Side['language']): Promise<Side> =>
        sides.launch(language, { watchdogMs: WATCHDOG_MS })
      const steady = await Promise.all([start('java'), start('java'), start('node'), start('node')])
      const settings = { counter: COUNTER, forMs: FOR_MS, wait: 30_000 }
      const running = steady.flatMap((side) =>
        Array.from({ length: THREADS }, (_, i) => side.call(`t${i}`, 'contend', kind, 'hot', settings)),
      )
      // Holders that die with the lock: they have a counter of their own, because their last step may be half done.
      const endsAt = Date.now() + FOR_MS - 3 * WATCHDOG_MS
      let killed = 0
      while (Date.now() < endsAt) {
        const dying = await start(killed % 2 === 0 ? 'node' : 'java')
        await dying.call('d', 'lock', kind, 'hot')
        await dying.kill()
        killed += 1
      }
      const results = (await Promise.all(running)).map(({ value }) => value as Contended)
      const taken = results.reduce((sum, each) => sum + each.taken, 0)
      const longestMs = Math.max(...results.map((each) => each.longestMs))
      expect(Number(await sides.redis.get(COUNTER))).toBe(taken)
      expect(killed).toBeGreaterThan(0)
      const counts = results.map((each) => each.taken)
      process.stderr.write(
        `\n${kind}: ${taken} acquisitions, ${killed} holders killed, longest wait ${longestMs.toFixed(0)} ms, by thread ${counts.join(' ')}\n`,
      )
      // Each death costs everybody a lease.
      expect(longestMs).toBeLessThan(30_000)
      expect(Math.min(...counts)).toBeGreaterThan(0)
    },
    FOR_MS + 120_000,
  )
})

describe('three JVMs and three Node processes take turns at a plain lock, and hold it for 200 ms', () => {
  it('each language has its share of the turns, and nobody starves (I15)', async () => {
    const forMs = 15_000
    const languages = ['java', 'java', 'java', 'node', 'node', 'node'] as const
    const all = await Promise.all(languages.map((language) => sides.launch(language)))
    const settings = { counter: COUNTER, forMs, wait: forMs, holdMs: 200, thinkMs: 50 }
    const answers = await Promise.all(all.map((side) => side.call('t', 'contend', 'lock', 'long', settings)))
    const results = answers.map(({ value }) => value as Contended)
    const turns = results.map(({ taken }) => taken)
    const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0)
    const ofJava = sum(turns.slice(0, 3)) / sum(turns)
    const longestMs = Math.max(...results.map((each) => each.longestMs))
    process.stderr.write(
      `\nturns of Java ${turns.slice(0, 3).join(' ')}, of Node ${turns.slice(3).join(' ')}: ` +
        `Java's share ${ofJava.toFixed(2)}, longest wait ${longestMs.toFixed(0)} ms\n`,
    )
    expect(Math.min(...turns)).toBeGreaterThan(0)
    expect(ofJava).toBeGreaterThan(0.35)
    expect(ofJava).toBeLessThan(0.65)
  }, 120_000)
})
