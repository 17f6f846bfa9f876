import {
  ValueType,
  type Attributes,
  type BatchObservableResult,
  type Histogram,
  type Meter,
  type Observable,
} from '@opentelemetry/api'
import { METRICS, type CountedMetric, type TimedMetric } from './metric-names.js'
import type { Recorder } from './metrics.js'
import { countsIn, type AllSeries } from './series.js'

/** Exports through a meter: times as they come, counts when the SDK asks for them. */
export class ApiExport implements Recorder {
  private readonly times: Record<TimedMetric, Histogram>
  private readonly counts: Record<CountedMetric, Observable>
  private readonly observe = (result: BatchObservableResult): void => this.read(result)

  constructor(
    private readonly meter: Meter,
    private readonly series: AllSeries,
  ) {
    const times = (name: TimedMetric): Histogram => {
      const { metric, description, unit, buckets } = METRICS[name]
      const advice = { explicitBucketBoundaries: [...buckets] }
      return meter.createHistogram(metric, { description, unit, valueType: ValueType.DOUBLE, advice })
    }
    const counts = (name: CountedMetric): Observable => {
      const { metric, description, unit, type } = METRICS[name]
      const options = { description, unit, valueType: ValueType.INT }
      return type === 'counter'
        ? meter.createObservableCounter(metric, options)
        : meter.createObservableUpDownCounter(metric, options)
    }
    this.times = {
      wait: times('wait'),
      hold: times('hold'),
      handOff: times('handOff'),
      margin: times('margin'),
    }
    this.counts = {
      ...{ waiters: counts('waiters'), held: counts('held'), acquisitions: counts('acquisitions') },
      ...{ losses: counts('losses'), renewals: counts('renewals') },
    }
    meter.addBatchObservableCallback(this.observe, Object.values(this.counts))
  }

  record(metric: TimedMetric, seconds: number, attributes: Attributes): void {
    this.times[metric].record(seconds, attributes)
  }

  stop(): void {
    this.meter.removeBatchObservableCallback(this.observe, Object.values(this.counts))
  }

  private read(result: BatchObservableResult): void {
    for (const { metric, value, attributes } of countsIn(this.series)) {
      result.observe(this.counts[metric], value, attributes)
    }
  }
}
