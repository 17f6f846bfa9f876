import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, redisUrl, signalled, useRig } from '../support/rig.js'

const DEMO = fileURLToPath(new URL('../../../../../examples/demo/main.mjs', import.meta.url))
jest.setTimeout(180_000)

describe('the demo', () => {
  const harness = useRig({ redis: 'all' })
  let folder: string
  let demo: ChildProcess

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-'))
  })

  afterEach(async () => {
    if (demo.exitCode === null) demo.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })

  /** Runs it to its end in a process group of its own. */
  const run = async (env: Record<string, string>, onOutput: (soFar: string) => void = () => undefined) => {
    demo = spawn(process.execPath, [DEMO], {
      cwd: folder,
      env: { ...process.env, REDIS_URL: redisUrl, HOLDFAST_DEMO_LEASE_MS: '1500', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let output = ''
    for (const stream of [demo.stdout, demo.stderr]) {
      stream?.on('data', (chunk) => {
        output += String(chunk)
        onOutput(output)
      })
    }
    const ended = signalled<number | null>()
    demo.once('close', ended.resolve)
    return { code: await ended.promise, output }
  }

  const keysOf = (output: string): Promise<string[]> => {
    const prefix = /holdfast-demo-[0-9a-f]{8}/.exec(output)?.[0]
    expect(prefix).toBeDefined()
    return harness.admin.keys(`*${prefix ?? ''}*`)
  }

  const failed = (claims: number): string[] => Array<string>(claims).fill('FAILED')
  const results = (output: string): string[] => output.match(/(?<= {2})(ok|FAILED)$/gm) ?? []

  it('shows that its claims hold, draws them, and leaves nothing in Redis', async () => {
    // Some of them are about a lease, in which no process may stand still for long.
    const { code, output } = await run({ HOLDFAST_DEMO_LEASE_MS: '3000' })
    expect(output).toContain('All 14 claims hold')
    expect(results(output)).toEqual(Array(14).fill('ok'))
    expect(code).toBe(0)
    expect(output).not.toContain('\x1b')
    await eventually(async () => (await keysOf(output)).length === 0)
    expect(await readdir(folder)).toEqual(['holdfast-demo.svg'])
    const picture = await readFile(join(folder, 'holdfast-demo.svg'), 'utf8')
    expect(picture).toMatch(/^<svg [^]*<\/svg>\n$/)
    expect(picture).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('plays on the embedded engine where there is no Redis, and judges no times', async () => {
    // No redis-server, no docker, no package manager.
    const { code, output } = await run({ PATH: folder, REDIS_URL: '', HOLDFAST_REDIS_SERVER: '' })
    expect(output).toContain("redis: embedded engine, for development: figures are not Redis's")
    expect(output).toContain("Holdfast demo on an embedded engine, for development: figures are not Redis's")
    expect(output.match(/ {2}not judged$/gm)).toHaveLength(2)
    expect(results(output)).toEqual(Array(12).fill('ok'))
    expect(output).toContain('All 12 claims hold')
    expect(code).toBe(0)
  })

  it('fails when the lock lets everybody in', async () => {
    const { code, output } = await run({ HOLDFAST_DEMO_LOCK: 'broken' })
    expect(results(output)).toEqual(['ok', ...failed(6), 'ok', ...failed(5), 'ok'])
    expect(output).toContain('11 of 14 claims FAILED')
    expect(code).toBe(1)
    await eventually(async () => (await keysOf(output)).length === 0)
  })

  it('ends on Ctrl-C with all its processes and keys', async () => {
    let asked = false
    const { code, output } = await run({}, (soFar) => {
      if (asked || !soFar.includes('two processes wait')) return
      asked = true
      process.kill(-(demo.pid ?? NaN), 'SIGINT')
    })
    expect(output).toContain('interrupted by SIGINT')
    expect(code).toBe(130)
    expect(() => process.kill(-(demo.pid ?? NaN), 0)).toThrow('ESRCH')
    await eventually(async () => (await keysOf(output)).length === 0)
    expect(await readdir(folder)).toEqual([])
  })
})
