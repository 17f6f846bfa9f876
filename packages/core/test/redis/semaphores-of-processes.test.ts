import { describe, expect, it } from '@jest/globals'
import { useScripts } from './support/run-script.js'

interface Result {
  readonly taken: { semaphore: number; permits: number }
  readonly most: number
  readonly killed: number
  readonly pool: { held: number; lost: number }
  readonly latches: { passed: number }
  readonly deaths: { killed: number; held: number; lost: number; backMs: number }
}

const runScript = useScripts()
const run = async (args: string): Promise<Result> => {
  const { code, stdout, stderr } = await runScript('faults.mjs', `semaphores ${args} --json`.split(' '))
  expect({ code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, stderr: '' })
  const { figures, violations } = JSON.parse(stdout) as { figures: Result; violations: string[] }
  expect(violations).toEqual([])
  return figures
}

// `npm run faults -- semaphores`, a short one.
describe('semaphores and latches of four processes', () => {
  it('killed at random: never more in use than there are, what the dead had is lost or comes back (I1, I2, I4)', async () => {
    const { taken, most, killed, pool, latches, deaths } = await run('--seconds 4 --lease 900')
    expect(most).toBe(5)
    expect(Math.min(taken.semaphore, taken.permits, latches.passed, killed)).toBeGreaterThan(0)
    expect(pool.lost).toBeGreaterThanOrEqual(pool.held)
    expect(deaths).toMatchObject({ killed: 2, held: 4, lost: 4 })
  }, 240_000)

  it('with lost replies and late copies: each operation counts once (I1, I2)', async () => {
    const { pool } = await run('--seconds 4 --processes 2 --faults lose-reply,late-copy,black-hole')
    expect(pool).toMatchObject({ held: 0, lost: 0 })
  }, 240_000)

  it('an argument that is wrong is exit code 2', async () => {
    const { code, stderr } = await runScript('faults.mjs', ['semaphores', '--faults', 'rain'])
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /'--faults <LIST>' argument 'rain' is invalid\. It knows no 'rain', only lose-reply/,
    )
  })
})
