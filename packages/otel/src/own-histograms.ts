import type { Attributes } from '@opentelemetry/api'
import { METRICS, type TimedMetric } from './metric-names.js'
import type { Recorder, Timer } from './series.js'

/** The SDK's form of a histogram. */
export interface HistogramValue {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] }
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
}

/** A histogram of our own: a record costs a few additions, while the SDK serializes the attributes for each. */
class OwnHistogram implements Timer {
  private readonly boundaries: number[]
  private readonly counts: number[]
  private count = 0
  private sum = 0
  private min = Infinity
  private max = -Infinity

  constructor(
    metric: TimedMetric,
    readonly attributes: Attributes,
  ) {
    this.boundaries = [...METRICS[metric].buckets]
    this.counts = new Array<number>(this.boundaries.length + 1).fill(0)
  }

  record(seconds: number): void {
    const { boundaries, counts } = this
    let bucket = 0
    while (bucket < boundaries.length && seconds > (boundaries[bucket] as number)) {
      bucket += 1
    }
    counts[bucket] = (counts[bucket] as number) + 1
    this.count += 1
    this.sum += seconds
    if (seconds < this.min) {
      this.min = seconds
    }
    if (seconds > this.max) {
      this.max = seconds
    }
  }

  /** A copy: an exporter's value must not change. */
  get value(): HistogramValue {
    const { boundaries, counts, count, sum, min, max } = this
    return { buckets: { boundaries, counts: [...counts] }, count, sum, min, max }
  }
}

/** Histograms fetched by an exporter. */
export class OwnHistograms implements Recorder {
  private readonly byMetric: Record<TimedMetric, OwnHistogram[]> = {
    wait: [],
    hold: [],
    handOff: [],
    margin: [],
  }

  timer(metric: TimedMetric, attributes: Attributes): Timer {
    const histogram = new OwnHistogram(metric, attributes)
    this.byMetric[metric].push(histogram)
    return histogram
  }

  of(metric: TimedMetric): readonly { readonly attributes: Attributes; readonly value: HistogramValue }[] {
    return this.byMetric[metric]
  }
}
