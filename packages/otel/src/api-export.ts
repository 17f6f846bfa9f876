import {
  ValueType,
  type Attributes,
  type BatchObservableResult,
  type Histogram,
  type Meter,
  type Observable,
} from '@opentelemetry/api'
import { METRICS, TIMED_METRICS, type CountedMetric, type TimedMetric } from './metric-names.js'
import { countsIn, type AllSeries, type Recorder, type Timer } from './series.js'

/** The histogram of one metric; replaced with the meter. */
interface Instrument {
  histogram: Histogram | null
}

/** Exports through a meter: times as they are recorded, counts when the SDK asks for them. */
export class ApiExport implements Recorder {
  private readonly times: Record<TimedMetric, Instrument> = {
    wait: { histogram: null },
    hold: { histogram: null },
    handOff: { histogram: null },
    margin: { histogram: null },
  }
  private stopObserving: (() => void) | null = null

  timer(metric: TimedMetric, attributes: Attributes): Timer {
    const instrument = this.times[metric]
    return { record: (seconds) => instrument.histogram?.record(seconds, attributes) }
  }

  /** Uses this meter from now on. */
  start(meter: Meter, series: AllSeries): void {
    for (const name of TIMED_METRICS) {
      const { metric, description, unit, buckets } = METRICS[name]
      const advice = { explicitBucketBoundaries: [...buckets] }
      const options = { description, unit, valueType: ValueType.DOUBLE, advice }
      this.times[name].histogram = meter.createHistogram(metric, options)
    }
    const counts = countsOf(meter)
    const observe = (result: BatchObservableResult): void => {
      for (const { metric, value, attributes } of countsIn(series)) {
        result.observe(counts[metric], value, attributes)
      }
    }
    meter.addBatchObservableCallback(observe, Object.values(counts))
    this.stopObserving = () => meter.removeBatchObservableCallback(observe, Object.values(counts))
  }

  stop(): void {
    this.stopObserving?.()
    this.stopObserving = null
  }
}

function countsOf(meter: Meter): Record<CountedMetric, Observable> {
  const counts = (name: CountedMetric): Observable => {
    const { metric, description, unit, type } = METRICS[name]
    const options = { description, unit, valueType: ValueType.INT }
    return type === 'counter'
      ? meter.createObservableCounter(metric, options)
      : meter.createObservableUpDownCounter(metric, options)
  }
  return {
    ...{ waiters: counts('waiters'), held: counts('held'), acquisitions: counts('acquisitions') },
    ...{ losses: counts('losses'), renewals: counts('renewals') },
  }
}
