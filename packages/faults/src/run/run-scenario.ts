import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer } from '@holdfast/faults/harness'
import { Fleet } from './fleet.js'
import { openHistory, readHistories } from './history-file.js'
import type { OptionSpecs, OptionValues } from './options.js'
import { seededRandom } from './random.js'
import type { Scenario, Verdict } from './scenario.js'

/** What every scenario takes besides its own options. */
export interface CommonOptions {
  readonly seed: number
  /** A file that keeps the events of the run as JSON lines. */
  readonly history?: string | undefined
  /** Prints what was measured as JSON. */
  readonly json?: boolean | undefined
}

/** Runs a scenario once, in a folder of its own, and leaves nothing of it behind. */
export const runScenario = async <S extends OptionSpecs>(
  scenario: Scenario<S>,
  options: OptionValues<S>,
  { seed, history: kept }: CommonOptions,
  interrupted: AbortSignal,
): Promise<Verdict> => {
  const folder = await mkdtemp(join(tmpdir(), `holdfast-${scenario.name}-`))
  const file = join(folder, 'runner.jsonl')
  const history = openHistory(file, 'runner')
  const fleet = new Fleet(scenario.name, folder)
  const startedAt = performance.now()
  const ended = new Promise<never>((_, reject) => {
    const end = (): void => reject(interrupted.reason as Error)
    if (interrupted.aborted) end()
    else interrupted.addEventListener('abort', end, { once: true })
  })
  ended.catch(() => undefined)
  const stops: (() => unknown)[] = []
  const run = {
    ...{ options, seed, history, fleet, folder, interrupted },
    random: seededRandom(seed),
    unlessInterrupted: <T>(work: Promise<T>): Promise<T> => Promise.race([work, ended]),
    after: (stop: () => unknown) => void stops.unshift(stop),
    progress: (line: string) =>
      console.error(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${line}`),
    redis: async (how?: Parameters<typeof RedisServer.start>[0]) => {
      const redis = await RedisServer.start(how)
      stops.unshift(() => redis.stop())
      return redis
    },
  }
  try {
    return await scenario.run(run)
  } finally {
    history.close()
    await fleet.stop()
    for (const stop of stops) await stop()
    if (kept !== undefined) {
      const events = readHistories([...fleet.files, file])
      await writeFile(kept, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    }
    await rm(folder, { recursive: true, force: true })
  }
}
