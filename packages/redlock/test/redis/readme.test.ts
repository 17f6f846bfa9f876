import { describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { redisUrl, useRig } from '../../../core/test/redis/support/rig.js'
import { programs, root } from '../../../core/test/redis/support/markdown.js'

const run = promisify(execFile)

const pages = ['packages/redlock/README.md', 'packages/redlock/skills/move-from-redlock/SKILL.md']
// Those of the README after the first are other forms of it.
const examples = pages.flatMap((page, i) => programs(page).slice(0, i === 0 ? 1 : undefined))

describe('the README of @holdfast/redlock and its skill', () => {
  const harness = useRig({ redis: 'all' })

  it.each(examples.map((each) => [`${each.file}: ${each.title}`, each.code]))(
    '%s runs as it is written',
    async (_, code) => {
      const program = code
        .replace('redis://localhost:6379', redisUrl)
        .replace('order:42', harness.name('order:42'))
      const args = ['--input-type=module', '-e', program]
      const { stdout, stderr } = await run(process.execPath, args, { cwd: root })
      expect({ stdout, stderr }).toEqual({ stdout: 'order 42 shipped\n', stderr: '' })
    },
  )
})
