// `holdfast run` while the command line, its guardian, its command and Redis are killed and stopped at any instant: is the
// command's group dead before anybody else has the lock, each time, and what is left behind? docs/cli.md has the figures.
import { setTimeout as sleep } from 'node:timers/promises'
import { count, ms } from '../run/options.js'
import { seededRandom } from '../run/random.js'
import { defineScenario, type Run } from '../run/scenario.js'
import { table } from '../run/table.js'
import { HARMS, type HarmName } from './run-command/harms.js'
import { Lane, type RoundOutcome } from './run-command/lane.js'

const options = {
  rounds: count(300, 'commands that are run, each with one harm'),
  lanes: count(4, 'commands at a time, each on a Redis of its own', { most: 16 }),
  lease: ms(2_500, 'how long a lock lasts without renewal', { least: 1_000 }),
}

export const runCommand = defineScenario({
  name: 'run-command',
  summary: 'Commands under a lock: what runs them, guards them and keeps their lock is killed and stopped.',
  options,
  smoke: '--rounds 8',
  long: '',
  heading: ({ rounds, lanes, lease }) => `${rounds} commands, ${lanes} at a time, lease ${lease} ms`,

  async run(run) {
    if (process.platform !== 'linux') {
      return { report: [], violations: [], skipped: 'it reads the process table of Linux' }
    }
    const outcomes = await allRounds(run)
    const violations = outcomes.flatMap((each) => each.violations)
    return { figures: figuresOf(outcomes), violations, report: reportOf(outcomes) }
  },
})

/** Each harm comes as often as any other, in an order of the seed. */
const allRounds = async (run: Run<typeof options>): Promise<RoundOutcome[]> => {
  const { rounds, lanes, lease } = run.options
  const random = seededRandom(run.seed)
  const names = Object.keys(HARMS) as HarmName[]
  const wanted = Array.from({ length: rounds }, (_, i) => names[i % names.length] as HarmName)
    .map((harm) => ({ harm, rank: random.next() }))
    .toSorted((a, b) => a.rank - b.rank)
  const outcomes: RoundOutcome[] = []
  const serve = async (number: number): Promise<void> => {
    const lane = await Lane.open(run, { number, leaseMs: lease, seed: run.seed * 1_000 + number })
    for (let next = wanted.pop(); next; next = wanted.pop()) {
      run.interrupted.throwIfAborted()
      outcomes.push(await run.unlessInterrupted(lane.round(next.harm)))
      if (outcomes.length % 20 === 0) run.progress(`${outcomes.length} of ${rounds} commands`)
      await sleep(0)
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, rounds) }, (_, i) => serve(i)))
  return outcomes
}

interface Figures {
  readonly harm: string
  readonly rounds: number
  readonly begun: number
  readonly ended: number
  readonly longestFreeMs: number
}

const figuresOf = (outcomes: readonly RoundOutcome[]): Figures[] =>
  (Object.keys(HARMS) as HarmName[]).flatMap((harm) => {
    const all = outcomes.filter((each) => each.harm === harm)
    return all.length === 0
      ? []
      : [
          {
            harm,
            rounds: all.length,
            begun: all.filter(({ hasBegun }) => hasBegun).length,
            ended: all.filter(({ wasEnded }) => wasEnded).length,
            longestFreeMs: Math.max(...all.map(({ freeAfterMs }) => freeAfterMs)),
          },
        ]
  })

const reportOf = (outcomes: readonly RoundOutcome[]): string[] => [
  `${outcomes.length} commands; ${outcomes.filter(({ violations }) => violations.length > 0).length} whose group lived when the next had the lock, or that left something behind`,
  ...table([
    ['harm', 'commands', 'begun', 'lost, or killed itself', 'the next had the lock after, ms, at most'],
    ...figuresOf(outcomes).map(({ harm, rounds, begun, ended, longestFreeMs }) => [
      HARMS[harm as HarmName].what,
      `${rounds}`,
      `${begun}`,
      `${ended}`,
      `${Math.round(longestFreeMs)}`,
    ]),
  ]),
]
