import { describe, expect, it } from '@jest/globals'
import { useScripts } from './support/run-script.js'

const SCRIPT = 'faults.mjs'
const SHORT = 'fair-line --waiters 60 --processes 4 --small 5 --resync 250 --sizes 10,60 --seed 1 --json'

interface Result {
  order: { waiters: number; problems: string[] }
  deaths: { died: number; left: number; problems: string[] }
  cost: { rows: { waiters: number; scripts: number; luaUs: number }[]; problems: string[] }
}

// Starts fourteen processes, which takes a busy machine a while.
describe('a line with callers of several processes, in short', () => {
  const run = useScripts()

  it('is served in order whoever dies or leaves, at no more than two scripts for each hand-over (I10)', async () => {
    const { code, stdout, stderr } = await run(SCRIPT, SHORT.split(' '))
    expect({ code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, stderr: '' })
    const { figures } = JSON.parse(stdout) as { figures: Result }
    const { order, deaths, cost } = figures
    expect(order).toMatchObject({ waiters: 60, problems: [] })
    expect(deaths.problems).toEqual([])
    expect(deaths.died).toBeGreaterThan(0)
    expect(deaths.left).toBeGreaterThan(0)
    expect(cost).toMatchObject({ rows: [{ waiters: 10 }, { waiters: 60 }], problems: [] })
    // A release, and where the lock is kept for longer than a moment, a renewal.
    expect(Math.max(...cost.rows.map(({ scripts }) => scripts))).toBeLessThanOrEqual(2)
  }, 60_000)

  it('an argument that is wrong is exit code 2', async () => {
    const { code, stderr } = await run(SCRIPT, ['fair-line', '--waiters', 'many'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/'--waiters <N>' argument 'many' is invalid\. It takes a number from 1/)
  })
})
