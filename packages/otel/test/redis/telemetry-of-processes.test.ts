import { describe, expect, it } from '@jest/globals'
import { useScripts } from '../../../core/test/redis/support/run-script.js'

const runScript = useScripts()

// `npm run faults -- telemetry`, a short one.
describe('metrics of four processes', () => {
  it('killed, cut off and robbed of locks at random: all calls and losses are as their callers counted them', async () => {
    const { code, stdout, stderr } = await runScript('faults.mjs', ['telemetry', '--minutes', '0.15'])
    expect({ code, stderr: code === 0 ? '' : stderr + stdout }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/\nNo violation\.\n$/)
    for (const what of ['acquired by a command', 'acquired by re-entry', 'timeout', 'aborted', 'losses']) {
      expect(stdout).toMatch(new RegExp(`^\\| ${what} +\\| +([1-9]\\d*) \\| +\\1 \\|$`, 'm'))
    }
  }, 240_000)

  it('an argument that is wrong is exit code 2', async () => {
    const { code, stderr } = await runScript('faults.mjs', ['telemetry', '--faults', 'rain'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/argument 'rain' is invalid\. It knows no 'rain', only lose-reply/)
  })
})
