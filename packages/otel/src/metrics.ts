import type { ObservedCall, ObservedHold, ObservedRenewal } from '@holdfast/core'
import {
  ValueType,
  type Attributes,
  type BatchObservableResult,
  type Histogram,
  type Meter,
  type Observable,
} from '@opentelemetry/api'
import { ATTRIBUTES, errorTypeOf } from './attributes.js'
import { METRICS, type CountedMetric, type TimedMetric } from './metric-names.js'
import type { AllSeries, Count, Counts, Series } from './series.js'

/**
 * Times are recorded as they come. Whatever is counted is kept here and read when it is exported: a record in an SDK
 * costs more than the lock's own work around it.
 */
export class Metrics {
  private readonly times: Record<TimedMetric, Histogram>
  private readonly counts: Record<CountedMetric, Observable>
  /** What was seen to begin: only that is counted when it ends. */
  private readonly open = new Map<ObservedCall | ObservedHold, Series>()
  private readonly observe = (result: BatchObservableResult): void => this.read(result)

  constructor(
    private readonly meter: Meter,
    private readonly series: AllSeries,
  ) {
    const times = (name: TimedMetric): Histogram => {
      const { metric, description, unit, buckets } = METRICS[name]
      return meter.createHistogram(metric, {
        ...{ description, unit, valueType: ValueType.DOUBLE },
        advice: { explicitBucketBoundaries: [...buckets] },
      })
    }
    this.times = {
      wait: times('wait'),
      hold: times('hold'),
      handOff: times('handOff'),
      margin: times('margin'),
    }
    const counts = (name: CountedMetric): Observable => {
      const { metric, description, unit, type } = METRICS[name]
      const options = { description, unit, valueType: ValueType.INT }
      return type === 'counter'
        ? meter.createObservableCounter(metric, options)
        : meter.createObservableUpDownCounter(metric, options)
    }
    this.counts = {
      ...{ waiters: counts('waiters'), held: counts('held'), acquisitions: counts('acquisitions') },
      ...{ losses: counts('losses'), renewals: counts('renewals') },
    }
  }

  start(): void {
    this.meter.addBatchObservableCallback(this.observe, Object.values(this.counts))
  }

  /** What is open is not seen to end. */
  stop(): void {
    this.meter.removeBatchObservableCallback(this.observe, Object.values(this.counts))
    for (const [seen, series] of this.open) {
      series[seen.phase === 'parked' ? 'waiters' : 'held'] -= 1
    }
    this.open.clear()
  }

  onCall(call: ObservedCall): void {
    if (call.phase === 'begun') {
      return
    }
    const series = this.series.of(call.lockName, call.kind)
    if (call.phase === 'parked') {
      this.open.set(call, series)
      series.waiters += 1
      return
    }
    if (call.hasWaited && this.open.delete(call)) {
      series.waiters -= 1
    }
    const count = acquisitionsOf(series, call)
    count.value += 1
    if (call.hasWaited) {
      this.times.wait.record((call.waitedMs ?? 0) / 1000, count.attributes)
    }
    if (call.handOffMs !== undefined) {
      this.times.handOff.record(call.handOffMs / 1000, series.attributes)
    }
  }

  onHold(hold: ObservedHold): void {
    const series = this.series.of(hold.lockName, hold.kind)
    if (hold.phase === 'begun') {
      this.open.set(hold, series)
      series.held += 1
      return
    }
    if (this.open.delete(hold)) {
      series.held -= 1
    }
    if (hold.outcome === 'lost') {
      const reason = hold.reason ?? 'gone'
      series.losses.of(reason, () => ({ [ATTRIBUTES.reason]: reason })).value += 1
    }
    this.times.hold.record((hold.heldMs ?? 0) / 1000, series.attributes)
  }

  onRenewal({ lockName, kind, outcome, marginMs }: ObservedRenewal): void {
    const series = this.series.of(lockName, kind)
    series.renewals.of(outcome, () => ({ [ATTRIBUTES.outcome]: outcome })).value += 1
    this.times.margin.record(marginMs / 1000, series.attributes)
  }

  private read(result: BatchObservableResult): void {
    for (const series of this.series.all()) {
      result.observe(this.counts.waiters, series.waiters, series.attributes)
      result.observe(this.counts.held, series.held, series.attributes)
      for (const metric of ['acquisitions', 'losses', 'renewals'] as const) {
        observeAll(result, this.counts[metric], series[metric])
      }
    }
  }
}

function observeAll(result: BatchObservableResult, metric: Observable, counts: Counts): void {
  for (const { value, attributes } of counts.all()) {
    result.observe(metric, value, attributes)
  }
}

function acquisitionsOf(series: Series, { outcome = 'error', path, error }: ObservedCall): Count {
  if (outcome === 'error') {
    const type = errorTypeOf(error)
    return series.acquisitions.of(`error ${type}`, () => ({
      [ATTRIBUTES.outcome]: outcome,
      [ATTRIBUTES.errorType]: type,
    }))
  }
  return series.acquisitions.of(path ?? outcome, (): Attributes => ({
    [ATTRIBUTES.outcome]: outcome,
    ...(path === undefined ? {} : { [ATTRIBUTES.path]: path }),
  }))
}
