import { createHash } from 'node:crypto'
import { Command, CommanderError } from 'commander'
import type { HistoryEvent } from '@holdfast/faults/harness'
import {
  count,
  flag,
  minutes,
  optionOf,
  someOf,
  text,
  type OptionSpecs,
  type OptionValues,
} from '../run/options.js'
import { play, type Episode } from './episode.js'
import { appendHistory } from './history-lines.js'
import { explore, sample, type Explored } from './exhaustive.js'
import { keptIn, reduced, shrink, textOf } from './shrink.js'
import { stepLine, timelineOf, commandLine } from './timeline.js'
import { FAULT_NAMES, type FaultName } from './work/plan.js'
import { chanceOf } from './world/chance.js'
import { KINDS, planOf, type Scope } from './work/plan-of.js'

const PROGRESS_MS = 5_000
const MOST_SHOWN = 3
const LONGEST_SHRINK_MS = 60_000
const EXIT_CODES = '\nExit code: 0 all held, 1 something was violated, 2 the arguments are wrong.'

const OPTIONS = {
  seed: count(1, 'whole number; decides all that happens in the first world', { least: 0 }),
  seeds: count(1_000_000, 'how many worlds, each with the seed after'),
  minutes: minutes(1, 'of one core: no world is begun after'),
  hours: count(0, 'the same in hours', { least: 0, most: 24 }),
  kinds: someOf(KINDS, 'kinds of locks'),
  faults: someOf(FAULT_NAMES, 'faults', { mayBeNone: true }),
  someReleaseEarly: flag('every second process has releaseWaitMs: 0'),
  someLinger: flag('every second process has lingerMs'),
  replay: text('of the world of --seed only what a failure printed', 'all of it'),
  acquisitions: count(0, 'ends when it has had so many, and fails when it has not', { least: 0 }),
  ofEach: count(0, 'the same for faults of each kind', { least: 0 }),
  first: flag('ends with the first world that breaks a rule, and shrinks nothing'),
  exhaustive: flag('small worlds in every order of what arrives, instead of worlds of a seed'),
  history: text('file that gets the histories, as JSON lines; nothing is shrunk then'),
  trace: flag('with --replay: also each command that a server ran'),
} satisfies OptionSpecs

type Options = OptionValues<typeof OPTIONS>

/** Processor time of this process: how long something takes on a core of its own. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Sums over the worlds of a run. */
class Totals {
  worlds = 0
  acquisitions = 0
  losses = 0
  longestWaitMs = 0
  readonly faults = new Map<FaultName, number>()
  readonly failed: Episode[] = []
  private readonly hash = createHash('sha256')
  private readonly startedAt = cpuMs()

  add(episode: Episode): void {
    const { figures, findings } = episode
    this.worlds += 1
    this.acquisitions += figures.acquisitions
    this.losses += figures.losses
    this.longestWaitMs = Math.max(this.longestWaitMs, figures.longestWaitMs)
    for (const [name, times] of episode.faults) this.faults.set(name, (this.faults.get(name) ?? 0) + times)
    this.hash.update(episode.hash)
    if (findings.length > 0) this.failed.push(episode)
  }

  get seconds(): number {
    return (cpuMs() - this.startedAt) / 1_000
  }

  get line(): string {
    return `${this.worlds} worlds, ${this.acquisitions} acquisitions, ${this.losses} losses, ${this.seconds.toFixed(1)} s`
  }

  get digest(): string {
    return this.hash.digest('hex').slice(0, 16)
  }
}

const simulate = async (options: Options, interrupted: AbortSignal): Promise<number> => {
  const { seed, seeds, hours } = options
  const longest = hours > 0 ? hours * 60 : options.minutes
  const totals = new Totals()
  let reportedAt = 0
  for (let i = 0; i < seeds && totals.seconds < longest * 60 && !interrupted.aborted; i += 1) {
    const episode = await play(planOf(seed + i, options))
    if (options.history !== '') appendHistory(options.history, episode)
    totals.add(episode)
    if (options.first && totals.failed.length > 0) break
    if (isAsked(options) && isEnough(totals, options)) break
    if (totals.seconds * 1_000 - reportedAt >= PROGRESS_MS) {
      reportedAt = totals.seconds * 1_000
      console.error(totals.line)
    }
  }
  console.log(`seeds ${seed} to ${seed + totals.worlds - 1}: ${totals.line}`)
  console.log(`longest wait ${Math.round(totals.longestWaitMs)} ms; hash ${totals.digest}`)
  console.log(`faults: ${[...totals.faults].map(([name, times]) => `${times} ${name}`).join(', ') || 'none'}`)
  const { failed } = totals
  if (failed.length === 0) {
    console.log('No violation.')
    if (!isAsked(options) || isEnough(totals, options)) return 0
    console.log(`But not ${options.acquisitions} acquisitions, and ${options.ofEach} faults of each kind.`)
    return 1
  }
  console.log(`${failed.length} worlds broke a rule: seeds ${failed.map(({ plan }) => plan.seed).join()}`)
  if (options.first) console.log(failed[0]?.findings[0]?.text)
  else if (options.history === '')
    for (const each of failed.slice(0, MOST_SHOWN)) await explain(each, options)
  return 1
}

const isAsked = ({ acquisitions, ofEach }: Options): boolean => acquisitions > 0 || ofEach > 0

const isEnough = (totals: Totals, { acquisitions, ofEach, faults }: Options): boolean =>
  totals.acquisitions >= acquisitions && faults.every((name) => (totals.faults.get(name) ?? 0) >= ofEach)

const scopeOf = ({ kinds, faults, someReleaseEarly, someLinger }: Scope): string =>
  (someReleaseEarly === true ? ' --some-release-early' : '') +
  (someLinger === true ? ' --some-linger' : '') +
  (kinds.length < KINDS.length ? ` --kinds ${kinds.join()}` : '') +
  (faults.length < FAULT_NAMES.length ? ` --faults ${faults.join() || 'none'}` : '')

/** The fewest steps that break the same rule, as a time line, and how to play them again. */
const explain = async (episode: Episode, options: Options): Promise<void> => {
  const { seed } = episode.plan
  console.log(`\nseed ${seed}, ${episode.findings.length} findings. Leaving out what is not needed …`)
  const { kept, episode: least, tries } = await shrink(episode, LONGEST_SHRINK_MS)
  console.log(`${kept.steps.size} steps and ${kept.faults.size} faults are left, after ${tries} worlds:`)
  show(least, episode.findings[0]?.rule)
  console.log(`\nnpm run simulate -- --seed ${seed}${scopeOf(options)} --replay ${textOf(kept)}`)
}

const show = ({ plan, findings, events }: Episode, rule?: string): void => {
  const finding = findings.find((each) => rule === undefined || each.rule === rule) ?? findings[0]
  console.log(JSON.stringify(plan.settings))
  for (const step of plan.processes.flatMap(({ callers }) => callers.flat())) console.log(stepLine(step))
  const { untilMs = Infinity, lock } = finding ?? {}
  const isShown = (event: HistoryEvent): boolean =>
    event.atMs <= untilMs && (lock === undefined || !('lock' in event) || (event.lock ?? lock) === lock)
  for (const line of timelineOf(events.filter(isShown))) console.log(line)
  console.log(finding?.text ?? 'No violation.')
}

const SAMPLES = 2_000

/** Small worlds in every order: two clients that take one lock once each; three in orders at random. */
const searchAll = async (
  { seed, minutes: longest, hours }: Options,
  interrupted: AbortSignal,
): Promise<number> => {
  const endsAt = cpuMs() + (hours > 0 ? hours * 60 : longest) * 60_000
  const isOver = (): boolean => interrupted.aborted || cpuMs() > endsAt
  let code = 0
  const report = (
    what: string,
    { histories, redundant, states, isComplete, reach, findings, events }: Explored,
  ): void => {
    const how = isComplete ? 'all of them' : `about ${(100 * reach).toFixed(1)} % of them`
    console.log(
      `${what}: ${histories} histories, ${how}; ${redundant} cut off as equal to others; ${states} states`,
    )
    if (findings.length === 0) return
    code = 1
    for (const line of timelineOf(events)) console.log(line)
    for (const { text } of findings) console.log(text)
  }
  const locks = ['plain:0', 'fair:0']
  for (const lock of locks) {
    report(`2 clients, ${lock}, no fault`, await explore({ lock, clients: 2, faults: 0 }, isOver))
  }
  for (const lock of locks) {
    const how = { chance: chanceOf(seed, lock), times: SAMPLES, isOver }
    report(`3 clients, ${lock}, at most one fault, a sample`, await sample({ lock, clients: 3 }, how))
  }
  for (const [i, lock] of locks.entries()) {
    // Each has as much of what is left as the others.
    const turnEndsAt = cpuMs() + (endsAt - cpuMs()) / (locks.length - i)
    const isTurnOver = (): boolean => isOver() || cpuMs() > turnEndsAt
    report(
      `2 clients, ${lock}, at most one fault`,
      await explore({ lock, clients: 2, faults: 1 }, isTurnOver),
    )
  }
  return code
}

const replay = async (options: Options): Promise<number> => {
  const plan = planOf(options.seed, options)
  const lines: string[] = []
  const episode = await play(reduced(plan, keptIn(options.replay)), (heard) => lines.push(commandLine(heard)))
  if (options.trace) lines.forEach((line) => console.log(line))
  show(episode)
  return episode.findings.length === 0 ? 0 : 1
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
    .addHelpText('after', EXIT_CODES)
    .exitOverride()
    .action(async (options: Options) => {
      if (options.exhaustive) code = await searchAll(options, interrupted)
      else code = options.replay === '' ? await simulate(options, interrupted) : await replay(options)
    })
  for (const [name, spec] of Object.entries(OPTIONS)) command.addOption(optionOf(name, spec))
  try {
    await command.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    console.error(error)
    return 1
  }
}
