import { describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const read = (path: string): string => readFileSync(here(path), 'utf8')
const examples = ['jest.test.ts', 'vitest.test.mjs', 'node.test.mjs']

/** Runs a program of Node beside the package, on what is published. */
function run(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', FORCE_COLOR: undefined }
    const child = spawn(process.execPath, args, { cwd: here('../../'), env })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

describe('the examples of the README', () => {
  it('are the files that are run here, in this order', () => {
    const blocks = [...read('../../README.md').matchAll(/```(?:ts|js)\n([^]*?)```/g)].map(([, code]) => code)
    expect(blocks).toEqual(examples.map((name) => read(`../readme/${name}`)))
  })

  it('vitest.test.mjs passes, with Vitest', async () => {
    const vitest = here('../../../../node_modules/vitest/vitest.mjs')
    const { code, output } = await run([vitest, 'run', 'readme/vitest.test.mjs', '--cache=false'])
    expect(output).toMatch(/Tests +1 passed \(1\)/)
    expect(code).toBe(0)
  })

  it('node.test.mjs passes', async () => {
    const { code, output } = await run(['--test', here('../readme/node.test.mjs')])
    expect(output).toContain('pass 1')
    expect(code).toBe(0)
  })
})
