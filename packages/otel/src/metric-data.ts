import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api'
import { METRICS, TIMED_METRICS, type CountedMetric, type TimedMetric } from './metric-names.js'
import type { HistogramValue, OwnHistograms } from './own-histograms.js'
import { countsIn, type AllSeries } from './series.js'

// The SDK's constants, copied because the SDK is not imported here.
const CUMULATIVE = 1
const HISTOGRAM = 0
const SUM = 3

interface Point<T> {
  readonly startTime: HrTime
  readonly endTime: HrTime
  readonly attributes: Attributes
  readonly value: T
}

interface Descriptor {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly valueType: ValueType
}

/** One metric, as a MetricProducer of the SDK returns it. */
export type MetricData =
  | {
      readonly descriptor: Descriptor
      readonly aggregationTemporality: typeof CUMULATIVE
      readonly dataPointType: typeof HISTOGRAM
      readonly dataPoints: Point<HistogramValue>[]
    }
  | {
      readonly descriptor: Descriptor
      readonly aggregationTemporality: typeof CUMULATIVE
      readonly dataPointType: typeof SUM
      readonly isMonotonic: boolean
      readonly dataPoints: Point<number>[]
    }

/** Everything counted since `startTime`. A metric without data is left out. */
export function metricData(
  series: AllSeries,
  histograms: OwnHistograms,
  times: { readonly startTime: HrTime; readonly endTime: HrTime },
): MetricData[] {
  const timed = TIMED_METRICS.map((name): MetricData => ({
    descriptor: descriptorOf(name),
    aggregationTemporality: CUMULATIVE,
    dataPointType: HISTOGRAM,
    dataPoints: histograms.of(name).map(({ attributes, value }) => ({ ...times, attributes, value })),
  }))
  const counts = [...countsIn(series)]
  const names = ['waiters', 'held', 'acquisitions', 'losses', 'renewals'] as const
  const counted = names.map((name: CountedMetric): MetricData => ({
    descriptor: descriptorOf(name),
    aggregationTemporality: CUMULATIVE,
    dataPointType: SUM,
    isMonotonic: METRICS[name].type === 'counter',
    dataPoints: counts
      .filter(({ metric }) => metric === name)
      .map(({ attributes, value }) => ({ ...times, attributes, value })),
  }))
  return [...timed, ...counted].filter(({ dataPoints }) => dataPoints.length > 0)
}

function descriptorOf(name: TimedMetric | CountedMetric): Descriptor {
  const { metric, description, unit, type } = METRICS[name]
  const valueType = type === 'histogram' ? ValueType.DOUBLE : ValueType.INT
  return { name: metric, description, unit, valueType }
}
