import type { RedisServer } from '@holdfast/faults/harness'
import type { Fleet } from './fleet.js'
import type { History } from './history-file.js'
import type { OptionSpecs, OptionValues } from './options.js'
import type { SeededRandom } from '../harness/seeded-random.js'

/** The findings of a run, for the terminal and for the page of its scenario. */
export interface Verdict {
  /** Lines for the terminal: the figures first, then what was violated. */
  readonly report: readonly string[]
  /** Each names the invariant it breaks, such as `I1`. Empty: all held. */
  readonly violations: readonly string[]
  /** The measurements, for `--json`. */
  readonly figures?: unknown
  /** Why nothing was run, where this machine cannot. */
  readonly skipped?: string
}

/** The services of a scenario for one run. Everything it starts by this is ended after it, however it ends. */
export interface Run<S extends OptionSpecs> {
  readonly options: OptionValues<S>
  readonly seed: number
  readonly random: SeededRandom
  /** The runner's own part of the history, such as which faults it caused. */
  readonly history: History
  readonly fleet: Fleet
  /** A folder of this run alone; removed after it. */
  readonly folder: string
  /** Aborts when the program is asked to end. */
  readonly interrupted: AbortSignal
  /** Starts a server that is stopped after the run. */
  readonly redis: (options?: Parameters<typeof RedisServer.start>[0]) => Promise<RedisServer>
  /** Calls `stop` after the run, whatever happens; the latest first. */
  readonly after: (stop: () => unknown) => void
  /**
   * Runs another scenario as a part of this one, with the same seed.
   *
   * @param cores modules that its processes load for `@holdfast/core`, in turns (undefined: the one of this tree); by
   *   default those of this run
   */
  readonly part: <P extends OptionSpecs>(
    scenario: Scenario<P>,
    options: Partial<OptionValues<P>>,
    cores?: readonly (string | undefined)[],
  ) => Promise<Part>
  /** A line of progress, on stderr, with the seconds that have passed. */
  readonly progress: (line: string) => void
}

/** The findings of a part of a run, and the files with the events of its processes and of whoever controlled them. */
export interface Part {
  readonly verdict: Verdict
  readonly files: readonly string[]
}

/** The functions that the controller calls in a worker process by their names. Arguments and results travel as JSON. */
export type Roles = Readonly<Record<string, (...args: never[]) => unknown>>

/** One fault program: a file of its own in `scenarios/`, listed in `scenarios/index.ts`. */
export interface Scenario<S extends OptionSpecs = OptionSpecs> {
  readonly name: string
  /** One sentence for the list of scenarios. */
  readonly summary: string
  /** Its options besides those of every scenario (`--seed`, `--history`, `--json`). */
  readonly options: S
  /** Arguments of the form that takes seconds, run in CI. */
  readonly smoke: string
  /** Arguments of the form whose figures stand on its page. */
  readonly long: string
  /** The line that is printed before anything is done. */
  heading?(options: OptionValues<S>): string
  run(run: Run<S>): Promise<Verdict>
  /** The calls that a worker process of this scenario serves. */
  worker?(): Roles
}

/** Keeps the types of a scenario's own options. */
export const defineScenario = <const S extends OptionSpecs>(scenario: Scenario<S>): Scenario<S> => scenario
