import { describe, expect, it } from '@jest/globals'
import { useScripts } from './support/run-script.js'

interface Series {
  readonly tokens: string
  readonly acquisitions: number
  readonly restarts: number
  readonly flushes: number
  readonly backwards: number
  readonly refused: number
  readonly problems: readonly string[]
}

const runScript = useScripts()

// `npm run faults -- tokens`, a short one. Redis starts, ends and comes back many times.
describe('tokens of one lock, callers of three processes', () => {
  it('grow through restarts; through FLUSHALL by time; by counter they do not, and a guard refuses holders (I9)', async () => {
    const args = 'tokens --acquisitions 400 --processes 3 --callers 3 --json'
    const { code, stdout, stderr } = await runScript('faults.mjs', args.split(' '))
    expect({ code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, stderr: '' })
    const { figures } = JSON.parse(stdout) as { figures: [Series, Series, Series] }
    const [counted, timed, lost] = figures
    expect(counted).toMatchObject({ tokens: 'counter', flushes: 0, backwards: 0, refused: 0, problems: [] })
    expect(counted.acquisitions).toBeGreaterThanOrEqual(400)
    expect(counted.restarts).toBeGreaterThan(0)
    expect(timed).toMatchObject({ tokens: 'time', backwards: 0, refused: 0, problems: [] })
    expect(lost).toMatchObject({ tokens: 'counter', problems: [] })
    expect(lost.flushes).toBeGreaterThan(0)
    expect(lost.backwards).toBeGreaterThan(0)
    expect(lost.refused).toBeGreaterThan(0)
  }, 240_000)

  it('an argument that is wrong is exit code 2', async () => {
    const { code, stderr } = await runScript('faults.mjs', ['tokens', '--acquisitions', '9'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/'--acquisitions <N>' argument '9' is invalid\. It takes a number from 100/)
  })
})
