import { sum, type Counts } from './tally.js'

interface Sample {
  readonly metric: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The lines that Prometheus reads: metric, labels, value. */
const samplesIn = (text: string): Sample[] =>
  [...text.matchAll(/^(\w+)\{(.*)\} (\S+)(?: \d+)?$/gm)].map(([, metric = '', labels = '', value]) => ({
    metric,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', each = '']) => [name, each]),
    ),
    value: Number(value),
  }))

/** Whether another caller of its client passed it the lock, or Redis granted it, no caller is told. */
const pathToCallers = (path: string | undefined): string | undefined =>
  path === 'passed' || path === 'granted' ? 'remote' : path

const callOf = ({ labels }: Sample): string =>
  [
    labels.holdfast_lock_kind,
    labels.holdfast_lock_outcome,
    pathToCallers(labels.holdfast_lock_path),
    labels.error_type,
  ]
    .filter(Boolean)
    .join(' ')

/** The metrics of one process, in the words of its tally. */
export interface Exported {
  readonly calls: Counts
  readonly losses: Counts
  readonly renewals: number
  readonly margins: number
  readonly held: number
  readonly waiters: number
}

export const exported = (text: string): Exported => {
  const samples = samplesIn(text)
  const sumBy = (metric: string, keyOf: (sample: Sample) => string | undefined): Counts => {
    const sums: Counts = {}
    for (const sample of samples.filter((each) => each.metric === `holdfast_lock_${metric}`)) {
      const key = keyOf(sample) ?? ''
      sums[key] = (sums[key] ?? 0) + sample.value
    }
    return sums
  }
  const total = (metric: string): number => sum(sumBy(metric, () => ''))
  return {
    calls: sumBy('acquisitions_total', callOf),
    losses: sumBy('losses_total', ({ labels }) => labels.holdfast_lock_loss_reason),
    renewals: total('renewals_total'),
    margins: total('renewal_margin_count'),
    held: total('held'),
    waiters: total('waiters'),
  }
}

/** The counts of callers of one process at one moment. */
export interface Counted {
  readonly calls: Counts
  readonly losses: Counts
}

/**
 * Where the metrics of one process are not what its callers counted.
 *
 * @param atRest every caller has ended
 */
export const differences = (counted: Counted, metrics: Exported, atRest: boolean): string[] => [
  ...unequal('calls', counted.calls, metrics.calls),
  ...unequal('losses', counted.losses, metrics.losses),
  ...(metrics.margins === metrics.renewals
    ? []
    : [`${metrics.margins} margins of ${metrics.renewals} renewals`]),
  ...(atRest && metrics.held !== 0 ? [`${metrics.held} held at rest`] : []),
  ...(atRest && metrics.waiters !== 0 ? [`${metrics.waiters} waiters at rest`] : []),
]

const unequal = (what: string, counted: Counts, metric: Counts): string[] =>
  [...new Set([...Object.keys(counted), ...Object.keys(metric)])]
    .filter((key) => (counted[key] ?? 0) !== (metric[key] ?? 0))
    .map((key) => `${what}: ${key}: ${counted[key] ?? 0} counted, ${metric[key] ?? 0} exported`)
