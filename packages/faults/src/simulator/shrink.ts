import { play, type Episode } from './episode.js'
import type { Finding } from './finding.js'
import type { Plan, Step } from './work/plan.js'

/** The rest of a world's plan: its faults, and its steps with the times at which they began. */
export interface Kept {
  readonly faults: ReadonlySet<string>
  readonly steps: ReadonlyMap<string, number | undefined>
}

export interface Shrunk {
  readonly kept: Kept
  readonly episode: Episode
  /** How many worlds were played. */
  readonly tries: number
}

/** A plan without what is not kept. Processes without callers, and callers without steps, are not there. */
export const reduced = (plan: Plan, { faults, steps }: Kept): Plan => ({
  ...plan,
  faults: plan.faults.filter(({ id }) => faults.has(id)),
  processes: plan.processes
    .map((process) => ({
      ...process,
      callers: process.callers
        .map((caller) =>
          caller.filter(({ id }) => steps.has(id)).map((step) => pinned(step, steps.get(step.id))),
        )
        .filter((caller) => caller.length > 0),
    }))
    .filter(({ callers }) => callers.length > 0),
})

const pinned = (step: Step, atMs: number | undefined): Step => (atMs === undefined ? step : { ...step, atMs })

/** The same, each step at the time at which it began; those that never did are gone. */
const pinnedAt = ({ kept, episode }: { readonly kept: Kept; readonly episode: Episode }): Kept => ({
  faults: kept.faults,
  steps: new Map(
    [...kept.steps].flatMap(([id]) => (episode.begun.has(id) ? [[id, episode.begun.get(id)]] : [])),
  ),
})

/** `all` in so many parts. */
const partsOf = (all: readonly string[], count: number): string[][] => {
  const size = Math.ceil(all.length / count)
  return Array.from({ length: count }, (_, i) => all.slice(i * size, (i + 1) * size)).filter(
    (each) => each.length > 0,
  )
}

/**
 * Fewer and fewer steps and faults, as long as the same rule is broken (delta debugging, Zeller and Hildebrandt 2002).
 * Each step keeps its time, so that nothing moves when another is left out.
 */
class Shrinker {
  tries = 0
  private readonly rule: string
  private readonly endsAt: number
  best: { readonly kept: Kept; readonly episode: Episode }

  constructor(
    private readonly plan: Plan,
    episode: Episode,
    longestMs: number,
  ) {
    this.rule = episode.findings[0]?.rule ?? ''
    this.endsAt = performance.now() + longestMs
    const steps = new Map([...episode.begun].map(([id]) => [id, undefined]))
    this.best = { kept: { faults: new Set(plan.faults.map(({ id }) => id)), steps }, episode }
  }

  async run(): Promise<Shrunk> {
    await this.withoutOthers()
    await this.stillBreaks(pinnedAt(this.best))
    for (let before = Infinity; this.size < before;) {
      before = this.size
      await this.without('faults')
      await this.withoutGroups((id) => id.split('.')[0] ?? '')
      await this.withoutGroups((id) => id.split('.').slice(0, 2).join('.'))
      await this.without('steps')
    }
    return { ...this.best, tries: this.tries }
  }

  /** Neither what came later, nor what was about another lock. */
  private async withoutOthers(): Promise<void> {
    const { plan, begun, findings } = this.best.episode
    const { untilMs, lock } = findings.find(({ rule }) => rule === this.rule) as Finding
    const faults = plan.faults.filter(({ atMs }) => atMs <= untilMs).map(({ id }) => id)
    const steps = plan.processes.flatMap(({ callers }) => callers.flat())
    const before = steps.filter(({ id }) => (begun.get(id) ?? Infinity) <= untilMs)
    const keep = (some: readonly Step[], at: 'begun' | 'after'): Kept => ({
      faults: new Set(faults),
      steps: new Map(some.map(({ id }) => [id, at === 'begun' ? begun.get(id) : undefined])),
    })
    await this.stillBreaks(keep(before, 'after'))
    if (lock !== undefined) {
      const about = before.filter((step) => step.lock === lock)
      if (!(await this.stillBreaks(keep(about, 'begun')))) await this.stillBreaks(keep(about, 'after'))
    }
  }

  private get size(): number {
    const { faults, steps } = this.best.kept
    return faults.size + steps.size
  }

  private get isLate(): boolean {
    return performance.now() > this.endsAt
  }

  private async stillBreaks(kept: Kept): Promise<boolean> {
    if (this.isLate) return false
    this.tries += 1
    const episode = await play(reduced(this.plan, kept))
    const isSame = episode.findings.some(({ rule }) => rule === this.rule)
    if (isSame) this.best = { kept, episode }
    return isSame
  }

  private async without(what: 'faults' | 'steps'): Promise<void> {
    for (let count = 2, all = this.idsOf(what); all.length > 0 && !this.isLate;) {
      let isLess = false
      for (const part of partsOf(all, Math.min(count, all.length))) {
        if (await this.stillBreaks(this.minus(what, new Set(part)))) {
          isLess = true
          break
        }
      }
      if (!isLess && count >= all.length) return
      count = isLess ? Math.max(2, count - 1) : 2 * count
      all = this.idsOf(what)
    }
  }

  private async withoutGroups(groupOf: (id: string) => string): Promise<void> {
    for (const group of new Set(this.idsOf('steps').map(groupOf))) {
      const gone = this.idsOf('steps').filter((id) => groupOf(id) === group)
      await this.stillBreaks(this.minus('steps', new Set(gone)))
    }
  }

  private idsOf(what: 'faults' | 'steps'): string[] {
    return [...this.best.kept[what].keys()]
  }

  private minus(what: 'faults' | 'steps', gone: ReadonlySet<string>): Kept {
    const { faults, steps } = this.best.kept
    return what === 'faults'
      ? { steps, faults: new Set([...faults].filter((id) => !gone.has(id))) }
      : { faults, steps: new Map([...steps].filter(([id]) => !gone.has(id))) }
  }
}

/** @param episode one that broke a rule */
export const shrink = (episode: Episode, longestMs: number): Promise<Shrunk> =>
  new Shrinker(episode.plan, episode, longestMs).run()

/** The text that `--replay` takes. */
export const textOf = ({ faults, steps }: Kept): string =>
  [
    [...steps].map(([id, atMs]) => (atMs === undefined ? id : `${id}@${atMs}`)).join(),
    [...faults].join(),
  ].join('/')

/** @throws RangeError it is no such text */
export const keptIn = (text: string): Kept => {
  const match = /^((?:\d+\.\d+\.\d+(?:@\d+(?:\.\d+)?)?,?)*)\/((?:f\d+,?)*)$/.exec(text)
  if (!match) throw new RangeError('It takes what a failure printed: steps, a slash, and faults.')
  const [, steps = '', faults = ''] = match
  return {
    faults: new Set(faults.split(',').filter(Boolean)),
    steps: new Map(
      steps
        .split(',')
        .filter(Boolean)
        .map((each) => {
          const [id = '', atMs] = each.split('@')
          return [id, atMs === undefined ? undefined : Number(atMs)]
        }),
    ),
  }
}
