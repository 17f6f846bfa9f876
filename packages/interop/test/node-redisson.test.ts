import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { WorkerProcess } from '@holdfast/faults/harness'
import { useSides } from './support/sides.js'

const FOR_MS = 3_000
const FLOWS = 3
// Many times what a caller may go on for after the end: its last wait has a limit.
const LIMIT_MS = 30_000
const WORKER = new URL('./support/node-redisson-worker.mjs', import.meta.url)

const sides = useSides()

/** A side that hangs is named, with what Redis has of the lock: the time-out of a test would say neither. */
async function ended(side: string, callers: Promise<number>[]): Promise<number[]> {
  const limit = once(AbortSignal.timeout(LIMIT_MS), 'abort')
  const taken = await Promise.race([Promise.all(callers), limit.then(() => undefined)])
  if (taken === undefined) {
    const [owners, leftMs] = [await sides.redis.hgetall('hot'), await sides.redis.pttl('hot')]
    throw new Error(`${side} did not end in ${LIMIT_MS} ms; ${JSON.stringify(owners)} for ${leftMs} ms`)
  }
  return taken
}

/** The one npm package besides this one that writes Redisson's locks. */
describe('node-redisson and Holdfast contend for one lock', () => {
  let other: WorkerProcess
  afterEach(() => other.kill())

  it('node-redisson and Holdfast exclude each other: the counter is exact (I1)', async () => {
    other = await WorkerProcess.start(WORKER, { args: [sides.server.url] })
    const holdfast = await sides.launch('node')
    const settings = { counter: 'counter', forMs: FOR_MS }
    const [theirs, ours] = await Promise.all([
      ended(
        'node-redisson',
        Array.from(
          { length: FLOWS },
          () => other.call('contend', 'hot', 'counter', FOR_MS) as Promise<number>,
        ),
      ),
      ended(
        'Holdfast',
        Array.from({ length: FLOWS }, async (_, i) => {
          const { value } = await holdfast.call(`t${i}`, 'contend', 'lock', 'hot', settings)
          return (value as { taken: number }).taken
        }),
      ),
    ])
    const sum = (counts: number[]): number => counts.reduce((all, each) => all + each, 0)
    process.stderr.write(`\nnode-redisson took it ${sum(theirs)} times, Holdfast ${sum(ours)} times\n`)
    expect(Math.min(sum(theirs), sum(ours))).toBeGreaterThan(0)
    expect(Number(await sides.redis.get('counter'))).toBe(sum(theirs) + sum(ours))
  })
})
