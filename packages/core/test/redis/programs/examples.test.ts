import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { eventually, redisUrl, useRig } from '../support/rig.js'

const EXAMPLES = new URL('../../../../../examples/', import.meta.url)
jest.setTimeout(180_000)

describe('the example', () => {
  const harness = useRig({ redis: 'all' })
  let running: ChildProcess | undefined
  afterEach(() => {
    if (running?.exitCode === null) running.kill('SIGKILL')
  })

  const run = (name: string, ...args: string[]): Promise<{ code: number | null; output: string }> =>
    new Promise((resolve, reject) => {
      const cwd = fileURLToPath(new URL(name, EXAMPLES))
      const env = { ...process.env, REDIS_URL: redisUrl }
      const child = spawn(process.execPath, args.length > 0 ? args : ['main.mjs'], { cwd, env })
      running = child
      let output = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => (output += String(chunk)))
      }
      child.once('error', reject)
      child.once('close', (code) => {
        // Whoever learns from an example must not learn a mistake.
        if (/\[HOLDFAST_\w+\]/.test(output)) reject(new Error(`${name} was warned:\n${output}`))
        else resolve({ code, output })
      })
    })

  /** Its output, when it has ended well and left no such key. */
  const outputOf = async (name: string, keys: string): Promise<string> => {
    const { code, output } = await run(name)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
    await eventually(async () => (await harness.admin.keys(keys)).length === 0)
    return output
  }

  it('flash-sale oversells without the lock, and never with it', async () => {
    const output = await outputOf('flash-sale', '*flash-sale*')
    const [, sold] = /^unguarded: 10 in stock, (\d+) sold, \d+ buyers told "sold out"$/m.exec(output) ?? []
    expect(Number(sold)).toBeGreaterThan(10)
    expect(output).toMatch(/^guarded: 10 in stock, 10 sold, 50 buyers told "sold out"$/m)
    expect(output.trimEnd().split('\n')).toHaveLength(3)
  })

  it('service pays and ships each order once, through a kill, and shows its metrics and its board', async () => {
    const output = await outputOf('service', '*service-example*')
    expect(output.match(/^as it should be: /gm)).toHaveLength(13)
    expect(output).toMatch(/^as it should be: 12 orders, .* 24 answers "paid", the bank was asked 12 times$/m)
    // Names of locks are templates there: an id would be a series of its own.
    expect(output).toMatch(/^as it should be: the metrics: .*, payment:\* was acquired [1-9]\d* times$/m)
    expect(output).toMatch(/^as it should be: no order was paid twice: 23 charges$/m)
    expect(output).toMatch(/^as it should be: no order was shipped twice: 23 parcels, /m)
  })

  it('service is tested by itself without a Redis, as its README says', async () => {
    const { code, output } = await run('service', '--test', 'test/locking.test.mjs')
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
    expect(output).toMatch(/pass 6$/m)
  })

  it('sequence gives numbers twice or leaves gaps, and neither under locks', async () => {
    const output = await outputOf('sequence', '*sequence:*')
    expect(output).toMatch(/^read-and-write: 160 comments, [1-9]\d* numbers given twice, \d+ gaps$/m)
    expect(output).toMatch(/^incr: 160 comments, 0 numbers given twice, [1-9]\d* gaps$/m)
    expect(output).toMatch(/^locked: 160 comments, 0 numbers given twice, 0 gaps$/m)
  })

  it('migration changes a fleet over, and no two are ever inside', async () => {
    const output = await outputOf('migration', '*migration:*')
    expect(output).toMatch(/^order: [1-9]\d* turns, 0 at the same time, [1-9]\d* counted$/m)
    expect(output).toMatch(/^report: [1-9]\d* turns, 0 at the same time, [1-9]\d* counted$/m)
    expect(output.match(/^ {2}(old|new) +\d /gm)).toHaveLength(18)
  })

  it('refresh-token loses the family only where a process dies between the answer and the write', async () => {
    const output = await outputOf('refresh-token', '*refresh-token*')
    const [, kills, lost, revoked] =
      /^shared: .* refreshes, (\d+) processes killed, (\d+) with .* revoked (\d+) times$/m.exec(output) ?? []
    expect(Number(kills)).toBe(9)
    expect(revoked).toBe(lost)
    expect(output).toMatch(/^each for itself: 400 requests, .* revoked [1-9]\d* times$/m)
  })

  it('cron-fleet runs each tick once, and knows of the one that was not finished', async () => {
    const output = await outputOf('cron-fleet', '*cron-fleet*')
    expect(output).toMatch(/^tick (\+\d+ s) was not finished: told to the run of tick \+\d+ s$/m)
    expect(output.match(/ (done|unfinished|missed) /g)!.length).toBeGreaterThanOrEqual(6)
    expect(output).toMatch(/^\d+ ticks run once, 1 not finished, none lost from sight$/m)
  })

  it('leader draws terms one after the other, through kills and a successor of choice', async () => {
    const output = await outputOf('leader', '*leader-example*')
    expect(output.match(/^worker-\d [·\dx>]+$/gm)).toHaveLength(3)
    expect(output.match(/^term \d+: worker-\d from \d+ to \d+ ms, killed$/gm)).toHaveLength(2)
    expect(output).toMatch(
      /^\d+ terms one after the other, each with a larger token, and a follower was told of all$/m,
    )
  })

  it('recursion sells what there is, through services that ask for the same locks again', async () => {
    expect(await outputOf('recursion', 'recursion:*')).toBe(
      '10 of 10 garden sets sold, left over: {"spade":0,"rake":5,"bench":3}\n' +
        'the lock of the stock was held 3 levels deep\n' +
        '60 entries in the ledger, numbered without a gap\n',
    )
  })

  it('recursion cannot work with locks that are not reentrant', async () => {
    const { code, output } = await run('recursion', 'main.mjs', '--not-reentrant')
    expect(output).toMatch(/^NOT_REENTRANT: Lock "recursion:stock" /)
    expect(code).toBe(1)
    expect(await harness.admin.keys('recursion:*')).toEqual([])
  })
})
