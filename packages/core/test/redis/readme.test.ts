import { describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { carrierPackage } from './support/carrier.js'
import { lowered } from './support/code-checks.js'
import { redisUrl, useHarness } from './support/harness.js'
import { programs, root, type CodeBlock } from './support/markdown.js'

const PROGRAM_LIMIT_MS = 15_000
// What a program keeps in Redis beside its lock.
const DATA_KEY = 'order:42:state'

// What each program of the pages writes. The server of the tests has a lease that is a little older.
const OUTPUT: Record<string, RegExp> = {
  'README.md: Quickstart': /^order 42 shipped\n$/,
  "README.md: Redisson's face": /^5 (30000|29\d{3}) true\n$/,
  "README.md: Redisson's face 2": /^order 42 shipped\nreleased\n$/,
  "README.md: Redisson's face 3": /^order 42 shipped\n$/,
  'README.md: Contexts': /^false\norder 42 shipped\n$/,
  'README.md: What a hold can do': /^\S+~[\w-]{21}:\d+ 1 5\d{4}(\.\d+)?\n$/,
  'README.md: Kinds of lock': /^order 43 shipped\norder 44 shipped\n$/,
  'README.md: Errors': /^\S+~[\w-]{21}:\d+ has it, (30000|29\d{3}) ms of lease left\n$/,
  'README.md: Who has it': /^\S+ has it, (30000|29\d{3}) ms of lease left\n$/,
  'packages/core/README.md: Smallest example': /^42\n$/,
  'docs/fenced-lock.md: Use': /^shipped\n$/,
  'docs/fenced-lock.md: Use 2': /^true true\n$/,
}

const dataUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`
const hooks = `export const resolve = (name, ...rest) => rest[1](name === 'ioredis' ? '${carrierPackage}' : name, rest[0])`
const registerHooks = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hooks))})`

/** Runs a program as a user would who pasted it into a file beside the package. */
function run(program: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const args = ['--import', dataUrl(registerHooks), '--input-type=module']
    const child = spawn(process.execPath, args, {
      cwd: root,
      timeout: PROGRAM_LIMIT_MS,
      killSignal: 'SIGKILL',
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk) => (stdout += String(chunk)))
    child.stderr.on('data', (chunk) => (stderr += String(chunk)))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end(program)
  })
}

describe('the programs of the pages', () => {
  const harness = useHarness()
  const all = ['README.md', 'packages/core/README.md', 'docs/fenced-lock.md'].flatMap(programs)
  const nameOf = ({ file, title }: CodeBlock): string => `${file}: ${title}`

  it('are the ones whose output is known', () => {
    expect(all.map(nameOf)).toEqual(Object.keys(OUTPUT))
  })

  it.each(all.map((block) => [nameOf(block), block.code] as const))('%s', async (name, code) => {
    expect(code).toContain("LockClient.connect('redis://localhost:6379')")
    const program = lowered(code)
      .replaceAll('redis://localhost:6379', redisUrl)
      .replaceAll(/(?<=get\w*Lock\(')[^']*/g, (lock) => harness.name(lock))
      .replaceAll(DATA_KEY, harness.name(DATA_KEY))
    const { stderr, ...result } = await run(program)
    await harness.admin.del(harness.name(DATA_KEY))
    expect(stderr).toBe('')
    expect(result).toEqual({ code: 0, stdout: expect.stringMatching(OUTPUT[name]!) })
  })
})
