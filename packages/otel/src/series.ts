import type { LockKind } from '@holdfast/core'
import { diag, type Attributes } from '@opentelemetry/api'
import { ATTRIBUTES } from './attributes.js'
import type { CountedMetric } from './metric-names.js'
import type { ResolvedOptions } from './options.js'

// What one name resolves to is kept for so many names, because making a template costs more than the rest of a record.
const MOST_CACHED = 1_000
const OTHER = 'other'

/** A count with the attributes it is exported with. */
export interface Count {
  readonly attributes: Attributes
  value: number
}

/** Counts of one metric that differ in further attributes. */
export class Counts {
  private readonly byKey = new Map<string, Count>()

  constructor(private readonly common: Attributes) {}

  /** @param key what tells these attributes from others */
  of(key: string, attributes: () => Attributes): Count {
    let count = this.byKey.get(key)
    if (!count) {
      count = { attributes: { ...this.common, ...attributes() }, value: 0 }
      this.byKey.set(key, count)
    }
    return count
  }

  all(): Iterable<Count> {
    return this.byKey.values()
  }
}

/** What is known of the locks of one kind whose names have one template. */
export class Series {
  held = 0
  waiters = 0
  readonly acquisitions: Counts
  readonly losses: Counts
  readonly renewals: Counts

  constructor(readonly attributes: Attributes) {
    this.acquisitions = new Counts(attributes)
    this.losses = new Counts(attributes)
    this.renewals = new Counts(attributes)
  }
}

/** All series: as many as `maxLockNames` allows, whatever names there are. */
export class AllSeries {
  private readonly cached = new Map<LockKind, Map<string, Series>>()
  private readonly byName = new Map<string, Map<LockKind, Series>>()

  constructor(private readonly options: Pick<ResolvedOptions, 'nameOf' | 'maxLockNames'>) {}

  of(lockName: string, kind: LockKind): Series {
    let ofKind = this.cached.get(kind)
    if (!ofKind) {
      ofKind = new Map()
      this.cached.set(kind, ofKind)
    }
    let series = ofKind.get(lockName)
    if (!series) {
      if (ofKind.size >= MOST_CACHED) {
        ofKind.clear()
      }
      series = this.find(this.templateOf(lockName), kind)
      ofKind.set(lockName, series)
    }
    return series
  }

  *all(): Iterable<Series> {
    for (const ofName of this.byName.values()) {
      yield* ofName.values()
    }
  }

  private find(template: string | undefined, kind: LockKind): Series {
    const name = this.admitted(template)
    const ofName = this.byName.get(name ?? '') ?? new Map<LockKind, Series>()
    this.byName.set(name ?? '', ofName)
    let series = ofName.get(kind)
    if (!series) {
      series = new Series({
        ...(name === undefined ? {} : { [ATTRIBUTES.name]: name }),
        [ATTRIBUTES.kind]: kind,
      })
      ofName.set(kind, series)
    }
    return series
  }

  private admitted(template: string | undefined): string | undefined {
    if (template === undefined || this.byName.has(template)) {
      return template
    }
    // One place is for the others.
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
      diag.error('holdfast: the function for names of locks threw', error)
      return OTHER
    }
  }
}

/** What there is to export of one metric and one set of attributes. */
export interface ExportedCount extends Count {
  readonly metric: CountedMetric
}

/** Everything that is counted, as it is now. */
export function* countsIn(series: AllSeries): Iterable<ExportedCount> {
  for (const { attributes, waiters, held, acquisitions, losses, renewals } of series.all()) {
    yield { metric: 'waiters', attributes, value: waiters }
    yield { metric: 'held', attributes, value: held }
    const counted = { acquisitions, losses, renewals }
    for (const metric of ['acquisitions', 'losses', 'renewals'] as const) {
      for (const count of counted[metric].all()) {
        yield { metric, ...count }
      }
    }
  }
}
