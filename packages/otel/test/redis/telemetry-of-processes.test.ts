import { describe, expect, it } from '@jest/globals'
import { useScripts } from '../../../core/test/redis/support/run-script.js'

const runScript = useScripts()

// `npm run test:telemetry`, a short one.
describe('metrics of four processes', () => {
  it('killed, cut off and robbed of locks at random: all calls and losses are as their callers counted them', async () => {
    const { code, stdout, stderr } = await runScript('telemetry.mjs', ['--seconds', '8'])
    expect({ code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/\nall as counted\n$/)
    for (const what of ['acquired by a command', 'acquired by re-entry', 'timeout', 'aborted', 'losses']) {
      expect(stdout).toMatch(new RegExp(`^${what} +([1-9]\\d*) +\\1$`, 'm'))
    }
  }, 60_000)

  it('an argument that is wrong is exit code 2, with the usage', async () => {
    const { code, stderr } = await runScript('telemetry.mjs', ['--faults', 'rain'])
    expect(code).toBe(2)
    expect(stderr).toContain('Usage: npm run test:telemetry')
  })
})
