import { createHash } from 'node:crypto'
import { Command, CommanderError } from 'commander'
import { LOCK_KINDS, type LockKind } from '../workload/lock-kinds.js'
import { count, minutes, optionOf, someOf } from '../run/options.js'
import { play, type Episode } from './episode.js'
import { planOf } from './work/plan.js'

const PROGRESS_MS = 5_000
const MOST_SHOWN = 3
const EXIT_CODES = '\nExit code: 0 all held, 1 something was violated, 2 the arguments are wrong.'

interface Options {
  readonly seed: number
  readonly seeds: number
  readonly minutes: number
  readonly kinds: readonly LockKind[]
}

/** What the worlds of a run add up to. */
class Totals {
  worlds = 0
  acquisitions = 0
  losses = 0
  longestWaitMs = 0
  readonly failed: Episode[] = []
  private readonly hash = createHash('sha256')
  private readonly startedAt = performance.now()

  add(episode: Episode): void {
    const { figures, findings } = episode
    this.worlds += 1
    this.acquisitions += figures.acquisitions
    this.losses += figures.losses
    this.longestWaitMs = Math.max(this.longestWaitMs, figures.longestWaitMs)
    this.hash.update(episode.hash)
    if (findings.length > 0) this.failed.push(episode)
  }

  get seconds(): number {
    return (performance.now() - this.startedAt) / 1_000
  }

  get line(): string {
    return `${this.worlds} worlds, ${this.acquisitions} acquisitions, ${this.losses} losses, ${this.seconds.toFixed(1)} s`
  }

  get digest(): string {
    return this.hash.digest('hex').slice(0, 16)
  }
}

const simulate = async (options: Options, interrupted: AbortSignal): Promise<number> => {
  const { seed, seeds, kinds, minutes: longest } = options
  const totals = new Totals()
  let reportedAt = 0
  for (let i = 0; i < seeds && totals.seconds < longest * 60 && !interrupted.aborted; i += 1) {
    totals.add(await play(planOf(seed + i, { kinds })))
    if (totals.seconds * 1_000 - reportedAt >= PROGRESS_MS) {
      reportedAt = totals.seconds * 1_000
      console.error(totals.line)
    }
  }
  const last = seed + totals.worlds - 1
  console.log(`seeds ${seed} to ${last}: ${totals.line}`)
  console.log(`longest wait ${Math.round(totals.longestWaitMs)} ms; hash ${totals.digest}`)
  for (const { plan, findings } of totals.failed.slice(0, MOST_SHOWN)) {
    console.log(`\nseed ${plan.seed}: ${findings.length} violations, the first:\n${findings[0]?.text}`)
  }
  if (totals.failed.length === 0) console.log('No violation.')
  return totals.failed.length === 0 ? 0 : 1
}

/**
 * @returns the exit code
 * @param args without those of Node
 * @param interrupted aborts when the process is asked to end
 */
export const main = async (args: readonly string[], interrupted: AbortSignal): Promise<number> => {
  let code = 0
  const command = new Command('npm run simulate --')
    .description('Whole clients on virtual time and a simulated network, from a seed. docs/simulator.md')
    .addOption(
      optionOf('seed', count(1, 'whole number; decides all that happens in the first world', { least: 0 })),
    )
    .addOption(optionOf('seeds', count(1_000_000, 'how many worlds, each with the seed after')))
    .addOption(optionOf('minutes', minutes(1, 'how long no world is begun any more after')))
    .addOption(optionOf('kinds', someOf(LOCK_KINDS, 'kinds of locks')))
    .addHelpText('after', EXIT_CODES)
    .exitOverride()
    .action(async (options: Options) => {
      code = await simulate(options, interrupted)
    })
  try {
    await command.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    console.error(error)
    return 1
  }
}
