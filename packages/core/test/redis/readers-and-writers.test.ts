import { afterEach, expect, it } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'

const SCRIPT = fileURLToPath(new URL('../../../../scripts/readers-and-writers.mjs', import.meta.url))

// The project's module map decides which ioredis a test sees; a worker has to be told. Only 6 knows RESP3.
const ioredis = 'protocol' in new Redis({ lazyConnect: true }).options ? 'ioredis' : 'ioredis5'

const LIMIT_MS = 60_000

let running: ChildProcess | undefined

afterEach(() => {
  if (running?.exitCode === null) running.kill('SIGTERM')
})

/** `npm run test:read-write`, a short one: the exit code and what was printed. */
const readAndWrite = (...args: string[]): Promise<{ code: number | null; output: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [SCRIPT, ...args], {
      env: { ...process.env, HOLDFAST_TEST_IOREDIS: ioredis },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running = child
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => (output += String(chunk)))
    }
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })

it(
  '800 random reads and writes of three processes: only readers are inside together (I1, I4, I5)',
  async () => {
    const { code, output } = await readAndWrite('--operations', '800', '--processes', '3')
    expect(output).toContain('No violation.')
    expect(output).toMatch(/up to ([2-9]|\d\d) readers of [23] processes inside at once/)
    expect(code).toBe(0)
  },
  LIMIT_MS,
)
