import { describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { redisUrl, useRig } from '../../../core/test/redis/support/rig.js'
import { programs, root } from '../../../core/test/redis/support/markdown.js'

const run = promisify(execFile)

describe('packages/redis-semaphore/README.md', () => {
  const harness = useRig({ redis: 'all' })

  it('has a first example that runs', async () => {
    const program = programs('packages/redis-semaphore/README.md')[0]!
      .code.replace('redis://localhost:6379', redisUrl)
      .replace('order:42', harness.name('order:42'))
    const args = ['--input-type=module', '-e', program]
    const { stdout, stderr } = await run(process.execPath, args, { cwd: root })
    expect({ stdout, stderr }).toEqual({ stdout: 'order 42 shipped\n', stderr: '' })
  })
})
