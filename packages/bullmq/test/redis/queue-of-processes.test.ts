import { describe, expect, it } from '@jest/globals'
import { useScripts } from '../../../core/test/redis/support/run-script.js'

interface Result {
  readonly name: string
  readonly done: number
  readonly overlaps: number
  readonly starts: number
  readonly failures: number
  readonly problems: readonly string[]
}

const runScript = useScripts()

// `npm run faults -- queue`, a short one.
describe('jobs that share resources, with workers of several processes', () => {
  const run = async (only: string): Promise<Record<string, Result>> => {
    const args = ['queue', '--jobs', '120', '--resources', '3', '--processes', '3', '--only', only, '--json']
    const { code, stdout, stderr } = await runScript('faults.mjs', args)
    expect({ code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, stderr: '' })
    const { figures: results } = JSON.parse(stdout) as { figures: Result[] }
    expect(results.flatMap(({ problems }) => problems)).toEqual([])
    return Object.fromEntries(results.map((each) => [each.name, each]))
  }

  it('run two at once without locks, and never with them: delayed or waiting, no attempt is used up (I1)', async () => {
    const results = await run('plain,delay-20,wait')
    expect(results.plain!.overlaps).toBeGreaterThan(0)
    expect(results['delay-20']).toMatchObject({ done: 120, overlaps: 0, failures: 0 })
    expect(results['delay-20']!.starts).toBeGreaterThan(1)
    expect(results.wait).toMatchObject({ done: 120, overlaps: 0, failures: 0, starts: 1 })
  }, 240_000)

  it('are all done where a conflict fails them, by their own attempts', async () => {
    const { fail } = await run('fail')
    expect(fail).toMatchObject({ done: 120, overlaps: 0 })
    expect(fail!.failures).toBeGreaterThan(0)
  }, 240_000)

  it('are all done when a worker is killed among them, and still never two at once (I1)', async () => {
    expect((await run('delay-killed'))['delay-killed']).toMatchObject({ done: 120, overlaps: 0, failures: 0 })
  }, 240_000)

  it('an argument that is wrong is exit code 2', async () => {
    const { code, stderr } = await runScript('faults.mjs', ['queue', '--only', 'luck'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/argument 'luck' is invalid\. It knows no 'luck', only plain/)
  })
})
