import type { LockKind } from '@holdfast/core'
import { diag, type Attributes } from '@opentelemetry/api'
import { ATTRIBUTES } from './attributes.js'
import type { CountedMetric, TimedMetric } from './metric-names.js'
import type { ResolvedOptions } from './options.js'

// Number of names whose series is cached, because making a template costs more than the rest of a record. The cache has
// two halves: a name that is used again moves to the young one, and the old one is dropped when that is full. So names
// used once displace each other, and none in use.
const MOST_CACHED = 1_000
const OTHER = 'other'

/** Records the times of one metric with one set of attributes. */
export interface Timer {
  record(seconds: number): void
}

/** Makes the timers. */
export interface Recorder {
  /** Called once per metric and set of attributes. */
  timer(metric: TimedMetric, attributes: Attributes): Timer
}

/** A count, with the attributes of its export. */
export class Count {
  value = 0
  private timer: Timer | null = null

  constructor(
    readonly attributes: Attributes,
    private readonly times: Recorder,
  ) {}

  /** The wait times of the counted calls that had to wait. */
  get wait(): Timer {
    return (this.timer ??= this.times.timer('wait', this.attributes))
  }
}

/** Counts of one metric that differ in further attributes. */
export class Counts {
  private readonly byKey = new Map<string, Count>()

  constructor(
    private readonly common: Attributes,
    private readonly times: Recorder,
  ) {}

  /** @param key identifies these attributes */
  find(key: string): Count | undefined {
    return this.byKey.get(key)
  }

  make(key: string, attributes: Attributes): Count {
    const count = new Count({ ...this.common, ...attributes }, this.times)
    this.byKey.set(key, count)
    return count
  }

  all(): Iterable<Count> {
    return this.byKey.values()
  }
}

/** The data of locks of one kind whose names share a template. */
export class Series {
  waiters = 0
  /** Holds that were seen to begin, and those of them that were seen to end. */
  begun = 0
  ended = 0
  readonly acquisitions: Counts
  readonly losses: Counts
  readonly renewals: Counts
  private readonly timers: Record<Exclude<TimedMetric, 'wait'>, Timer | null>

  constructor(
    readonly attributes: Attributes,
    private readonly times: Recorder,
  ) {
    this.acquisitions = new Counts(attributes, times)
    this.losses = new Counts(attributes, times)
    this.renewals = new Counts(attributes, times)
    this.timers = { hold: null, handOff: null, margin: null }
  }

  get hold(): Timer {
    return (this.timers.hold ??= this.times.timer('hold', this.attributes))
  }

  get handOff(): Timer {
    return (this.timers.handOff ??= this.times.timer('handOff', this.attributes))
  }

  get margin(): Timer {
    return (this.timers.margin ??= this.times.timer('margin', this.attributes))
  }
}

/** The series of one lock name; most names are of one kind only. */
interface Resolved {
  readonly kind: LockKind
  readonly series: Series
  readonly next: Resolved | undefined
}

/** All series: at most `maxLockNames` names, however many locks there are. */
export class AllSeries {
  private young = new Map<string, Resolved>()
  private old = new Map<string, Resolved>()
  private readonly byName = new Map<string, Map<LockKind, Series>>()
  private lastName = ''
  private last: Resolved | undefined = undefined

  constructor(
    private readonly options: Pick<ResolvedOptions, 'nameOf' | 'maxLockNames'>,
    private readonly times: Recorder,
  ) {}

  of(lockName: string, kind: LockKind): Series {
    const { last } = this
    // The end of a call directly follows the beginning of its hold.
    if (last?.kind === kind && this.lastName === lockName) {
      return last.series
    }
    let resolved = this.young.get(lockName) ?? this.usedAgain(lockName)
    while (resolved && resolved.kind !== kind) {
      resolved = resolved.next
    }
    resolved ??= this.resolve(lockName, kind)
    this.lastName = lockName
    this.last = resolved
    return resolved.series
  }

  *all(): Iterable<Series> {
    for (const ofName of this.byName.values()) {
      yield* ofName.values()
    }
  }

  private resolve(lockName: string, kind: LockKind): Resolved {
    const series = this.find(this.templateOf(lockName), kind)
    return this.keep(lockName, { kind, series, next: this.young.get(lockName) })
  }

  private usedAgain(lockName: string): Resolved | undefined {
    const resolved = this.old.get(lockName)
    return resolved && this.keep(lockName, resolved)
  }

  private keep(lockName: string, resolved: Resolved): Resolved {
    if (this.young.size >= MOST_CACHED / 2) {
      this.old = this.young
      this.young = new Map()
    }
    this.young.set(lockName, resolved)
    return resolved
  }

  private find(template: string | undefined, kind: LockKind): Series {
    const name = this.admitted(template)
    const ofName = this.byName.get(name ?? '') ?? new Map<LockKind, Series>()
    this.byName.set(name ?? '', ofName)
    let series = ofName.get(kind)
    if (!series) {
      const named = name === undefined ? {} : { [ATTRIBUTES.name]: name }
      // In the order in which the SDK would otherwise sort them for each record.
      series = new Series({ [ATTRIBUTES.kind]: kind, ...named }, this.times)
      ofName.set(kind, series)
    }
    return series
  }

  private admitted(template: string | undefined): string | undefined {
    if (template === undefined || this.byName.has(template)) {
      return template
    }
    // One entry is reserved for `other`.
    return this.byName.size < this.options.maxLockNames - 1 ? template : OTHER
  }

  private templateOf(lockName: string): string | undefined {
    const { nameOf } = this.options
    if (!nameOf) {
      return undefined
    }
    try {
      const template: unknown = nameOf(lockName)
      return typeof template === 'string' ? template : OTHER
    } catch (error) {
      diag.error('holdfast: the function for lock names threw', error)
      return OTHER
    }
  }
}

/** One metric with one set of attributes, for export. */
export interface ExportedCount {
  readonly metric: CountedMetric
  readonly attributes: Attributes
  readonly value: number
}

/** All counts, at this moment. */
export function* countsIn(series: AllSeries): Iterable<ExportedCount> {
  for (const { attributes, waiters, begun, ended, acquisitions, losses, renewals } of series.all()) {
    yield { metric: 'waiters', attributes, value: waiters }
    yield { metric: 'held', attributes, value: begun - ended }
    const counted = { acquisitions, losses, renewals }
    for (const metric of ['acquisitions', 'losses', 'renewals'] as const) {
      for (const { attributes: further, value } of counted[metric].all()) {
        yield { metric, attributes: further, value }
      }
    }
  }
}
