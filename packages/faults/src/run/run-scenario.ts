import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer } from '@holdfast/faults/harness'
import { Fleet } from './fleet.js'
import { openHistory, readHistories, runnerFile } from './history-file.js'
import { defaultsOf, type OptionSpecs, type OptionValues } from './options.js'
import { seededRandom } from '../harness/seeded-random.js'
import type { Part, Run, Scenario, Verdict } from './scenario.js'

/** Options of every scenario besides its own. */
export interface CommonOptions {
  readonly seed: number
  /** A file that keeps the events of the run as JSON lines. */
  readonly history?: string | undefined
  /** Prints what was measured as JSON. */
  readonly json?: boolean | undefined
}

/** Options that are the same for a run and its parts. */
interface Frame {
  readonly folder: string
  readonly seed: number
  readonly startedAt: number
  readonly interrupted: AbortSignal
  /** Files of events. */
  readonly files: string[]
}

/** Runs a scenario once, in a folder of its own, and leaves nothing of it behind. */
export const runScenario = async <S extends OptionSpecs>(
  scenario: Scenario<S>,
  options: OptionValues<S>,
  { seed, history: kept }: CommonOptions,
  interrupted: AbortSignal,
): Promise<Verdict> => {
  const folder = await mkdtemp(join(tmpdir(), `holdfast-${scenario.name}-`))
  const files: string[] = []
  try {
    const frame = { folder, seed, startedAt: performance.now(), interrupted, files }
    return (await play(scenario, options, frame)).verdict
  } finally {
    if (kept !== undefined) {
      const events = readHistories(files)
      await writeFile(kept, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    }
    await rm(folder, { recursive: true, force: true })
  }
}

const play = async <S extends OptionSpecs>(
  scenario: Scenario<S>,
  options: OptionValues<S>,
  frame: Frame,
  cores: readonly (string | undefined)[] = [],
): Promise<Part> => {
  const { folder, seed, startedAt, interrupted } = frame
  const file = runnerFile(frame)
  const history = openHistory(file, 'runner')
  const fleet = new Fleet(scenario.name, folder, cores)
  const stops: (() => unknown)[] = []
  let parts = 0
  const run: Run<S> = {
    ...{ options, seed, history, fleet, folder, interrupted },
    random: seededRandom(seed),
    after: (stop: () => unknown) => void stops.unshift(stop),
    progress: (line: string) =>
      console.error(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${line}`),
    redis: async (how?: Parameters<typeof RedisServer.start>[0]) => {
      const redis = await RedisServer.start(how)
      stops.unshift(() => redis.stop())
      return redis
    },
    part: async (other, given, ofPart = cores) => {
      const own = join(folder, `part-${(parts += 1)}`)
      await mkdir(own)
      return play(other, { ...defaultsOf(other.options), ...given }, { ...frame, folder: own }, ofPart)
    },
  }
  const before = frame.files.length
  let verdict: Verdict
  try {
    verdict = await scenario.run(run)
  } finally {
    history.close()
    frame.files.push(...fleet.files, file)
    await fleet.stop()
    for (const stop of stops) await stop()
  }
  return { verdict, files: frame.files.slice(before) }
}
