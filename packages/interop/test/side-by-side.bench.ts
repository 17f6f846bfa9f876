import { beforeAll, describe, expect, it } from '@jest/globals'
import { Matrix } from './support/matrix.js'
import { setting } from './support/setting.js'
import type { Side } from './support/side.js'
import { eventually, median, useSides } from './support/sides.js'

const isBrief = setting.brief
const ROUNDS = isBrief ? 1 : 5
const ROUND_MS = isBrief ? 100 : 2_000
const WARM_UP_MS = isBrief ? 100 : 8_000

interface Load {
  readonly pairs: number
  readonly ms: number
  readonly cpuMs: number
}

const sides = useSides()
const matrix = new Matrix('scenario')
let java: Side
let node: Side
let secondJava: Side
let secondNode: Side

const redisCpuMs = async (): Promise<number> => {
  const info = await sides.redis.info('cpu')
  const of = (field: string): number => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1])
  return 1_000 * (of('used_cpu_user') + of('used_cpu_sys'))
}

const untilSubscribed = (channel: string): Promise<void> =>
  eventually(async () => Number((await sides.redis.pubsub('NUMSUB', channel))[1]) > 0)

/** Interleaved rounds, so that what else the machine does falls on both. */
async function interleaved<T>(measure: (side: Side) => Promise<T>): Promise<Record<Side['language'], T[]>> {
  const results: Record<Side['language'], T[]> = { java: [], node: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of round % 2 === 0 ? [java, node] : [node, java]) {
      results[side.language].push(await measure(side))
    }
  }
  return results
}

const note = (
  scenario: string,
  what: string,
  unit: string,
  each: Record<Side['language'], number[]>,
): void => {
  const [theirs, ours] = [median(each.java), median(each.node)]
  const text = (value: number): string =>
    value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 1 : 0 })
  const row = `${scenario}: ${what}`
  matrix.note(row, 'Redisson', `${text(theirs)} ${unit}`)
  matrix.note(row, 'Holdfast', `${text(ours)} ${unit}`)
  matrix.note(row, 'Holdfast / Redisson', (ours / theirs).toFixed(2))
}

const figures = (each: Record<Side['language'], Load[]>, of: (load: Load) => number) => ({
  java: each.java.map(of),
  node: each.node.map(of),
})

describe('Holdfast beside Redisson', () => {
  beforeAll(async () => {
    const starting = ['java', 'node', 'java', 'node'].map((language) =>
      sides.launch(language as Side['language']),
    )
    ;[java, node, secondJava, secondNode] = (await Promise.all(starting)) as [Side, Side, Side, Side]
    for (const side of [java, node, secondJava, secondNode]) {
      await side.call('main', 'run', 'load', 'warm', { flows: 32, forMs: WARM_UP_MS, names: 'own' })
    }
  }, 120_000)

  it.each([1, 10, 100])(
    '%i flows with a lock each',
    async (flows) => {
      const redis: Record<Side['language'], number[]> = { java: [], node: [] }
      const loads = await interleaved(async (side) => {
        const before = await redisCpuMs()
        const { value } = await side.call('main', 'run', 'load', 'own', {
          flows,
          forMs: ROUND_MS,
          names: 'own',
        })
        const load = value as Load
        redis[side.language].push((((await redisCpuMs()) - before) * 1_000) / load.pairs)
        return load
      })
      note(
        `${flows} flows, own locks`,
        'pairs',
        '/s',
        figures(loads, ({ pairs, ms }) => (pairs * 1_000) / ms),
      )
      note(
        `${flows} flows, own locks`,
        'client CPU per pair',
        'µs',
        figures(loads, ({ pairs, cpuMs }) => (cpuMs * 1_000) / pairs),
      )
      note(`${flows} flows, own locks`, 'Redis CPU per pair', 'µs', redis)
    },
    120_000,
  )

  it('32 flows of one process, one lock', async () => {
    const options = { flows: 32, forMs: ROUND_MS, names: 'one' }
    const loads = await interleaved(
      async (side) => (await side.call('main', 'run', 'load', 'one', options)).value as Load,
    )
    note(
      '32 flows of one process, one lock',
      'pairs',
      '/s',
      figures(loads, ({ pairs, ms }) => (pairs * 1_000) / ms),
    )
  }, 120_000)

  it('8 flows of each of two processes, one lock', async () => {
    const options = { flows: 8, forMs: ROUND_MS, names: 'one' }
    const loads = await interleaved(async (side) => {
      const both = [side, side === java ? secondJava : secondNode]
      const answers = await Promise.all(both.map((each) => each.call('main', 'run', 'load', 'two', options)))
      const results = answers.map(({ value }) => value as Load)
      return { pairs: results.reduce((sum, each) => sum + each.pairs, 0), ms: results[0]!.ms, cpuMs: 0 }
    })
    note(
      '2 processes with 8 flows, one lock',
      'pairs',
      '/s',
      figures(loads, ({ pairs, ms }) => (pairs * 1_000) / ms),
    )
  }, 120_000)

  it('wakes a waiter of another process, of either language', async () => {
    const wakeUp = async (holder: Side, waiter: Side): Promise<number> => {
      const times: number[] = []
      for (let i = 0; i < 40; i += 1) {
        await holder.call('h', 'lock', 'lock', 'wake')
        const waiting = waiter.call('w', 'lock', 'lock', 'wake')
        await untilSubscribed('redisson_lock__channel:{wake}')
        const { from } = await holder.call('h', 'unlock', 'lock', 'wake')
        times.push((await waiting).to - from)
        await waiter.call('w', 'unlock', 'lock', 'wake')
      }
      return median(times)
    }
    const within = await interleaved((side) => wakeUp(side, side === java ? secondJava : secondNode))
    const across = await interleaved((side) => wakeUp(side, side === java ? node : java))
    note('wake-up, to the same language', 'from the unlock', 'ms', within)
    note('wake-up, to the other language', 'from the unlock', 'ms', across)
    for (const language of ['java', 'node'] as const) {
      // A few rounds beside other programs tell nothing about time.
      if (!isBrief) expect(median(across[language])).toBeLessThanOrEqual(2 * median(within.node))
    }
  }, 120_000)

  it('200 callers wait for what they do not get', async () => {
    const forMs = 3_000
    const commands: Record<Side['language'], number[]> = { java: [], node: [] }
    const cpu = await interleaved(async (side) => {
      await sides.redis.hset('held', 'somebody:1', 1)
      await sides.redis.pexpire('held', 60_000)
      const processed = async (): Promise<number> =>
        Number(/total_commands_processed:(\d+)/.exec(await sides.redis.info('stats'))?.[1])
      const before = await processed()
      const { value } = await side.call('main', 'wait', 'load', 'held', { flows: 200, forMs })
      commands[side.language].push(((await processed()) - before) / (forMs / 1_000))
      await sides.redis.del('held')
      return ((value as Load).cpuMs / forMs) * 100
    })
    note('200 callers wait 3 s', 'commands', '/s', commands)
    note('200 callers wait 3 s', 'client CPU', '%', cpu)
  }, 120_000)

  it('is printed', () => {
    matrix.print()
    expect(matrix.isEmpty).toBe(false)
  })
})
