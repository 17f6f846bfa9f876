import type { Attributes } from '@opentelemetry/api'
import { METRICS, type TimedMetric } from './metric-names.js'
import type { Recorder } from './metrics.js'

/** As the SDK has it. */
export interface HistogramValue {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] }
  count: number
  sum: number
  min: number
  max: number
}

/** Histograms of our own: attributes are made once for each series, and a record is a few additions. */
export class OwnHistograms implements Recorder {
  private readonly byMetric = {
    wait: new Map<Attributes, HistogramValue>(),
    hold: new Map<Attributes, HistogramValue>(),
    handOff: new Map<Attributes, HistogramValue>(),
    margin: new Map<Attributes, HistogramValue>(),
  }

  record(metric: TimedMetric, seconds: number, attributes: Attributes): void {
    const ofMetric = this.byMetric[metric]
    let value = ofMetric.get(attributes)
    if (!value) {
      const boundaries = [...METRICS[metric].buckets]
      const counts = new Array<number>(boundaries.length + 1).fill(0)
      value = { buckets: { boundaries, counts }, count: 0, sum: 0, min: Infinity, max: -Infinity }
      ofMetric.set(attributes, value)
    }
    const { boundaries, counts } = value.buckets
    let bucket = 0
    while (bucket < boundaries.length && seconds > (boundaries[bucket] as number)) {
      bucket += 1
    }
    counts[bucket] = (counts[bucket] as number) + 1
    value.count += 1
    value.sum += seconds
    value.min = Math.min(value.min, seconds)
    value.max = Math.max(value.max, seconds)
  }

  of(metric: TimedMetric): Iterable<readonly [Attributes, HistogramValue]> {
    return this.byMetric[metric]
  }
}
