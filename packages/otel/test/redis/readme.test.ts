import { describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { redisUrl, useRig } from '../../../core/test/redis/support/rig.js'
import { programs, root } from '../../../core/test/redis/support/markdown.js'

const run = promisify(execFile)

describe('packages/otel/README.md', () => {
  const harness = useRig({ redis: 'all' })

  it('has a first example that runs', async () => {
    const code = programs('packages/otel/README.md')[0]!.code
    expect(code).toContain("getLock('order:42')")
    const program = code
      .replace('redis://localhost:6379', redisUrl)
      .replace('order:42', harness.name('order:42'))
      // Its port may be somebody else's.
      .replace('metricProducers: [telemetry]', 'metricProducers: [telemetry], preventServerStart: true')
    const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', program], {
      cwd: root,
    })
    expect({ stdout, stderr }).toEqual({ stdout: 'order 42 shipped\n', stderr: '' })
  })
})
