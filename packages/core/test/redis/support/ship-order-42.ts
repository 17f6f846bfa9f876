import { expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { root, type CodeBlock } from './markdown.js'
import { redisUrl, useRig } from './rig.js'

const run = promisify(execFile)

/** For a describe block: a test of each example that ships order 42. */
export function shipOrder42(examples: readonly CodeBlock[], change = (code: string): string => code): void {
  const harness = useRig({ redis: 'all' })

  it.each(examples.map(({ file, title, code }) => [`${file}: ${title}`, code]))(
    '%s runs as it is written',
    async (_, code) => {
      expect(code).toContain('order:42')
      const program = change(code)
        .replace('redis://localhost:6379', redisUrl)
        .replace('order:42', harness.name('order:42'))
      const args = ['--input-type=module', '-e', program]
      const { stdout, stderr } = await run(process.execPath, args, { cwd: root })
      expect({ stdout, stderr }).toEqual({ stdout: 'order 42 shipped\n', stderr: '' })
    },
  )
}
