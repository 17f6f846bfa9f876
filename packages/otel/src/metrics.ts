import type { ObservedCall, ObservedHold, ObservedRenewal } from '@holdfast/core'
import type { Attributes } from '@opentelemetry/api'
import { ATTRIBUTES, errorTypeOf } from './attributes.js'
import type { TimedMetric } from './metric-names.js'
import type { AllSeries, Count, Series } from './series.js'

/** Where times go. `attributes`: the same object for the same attributes. */
export interface Recorder {
  record(metric: TimedMetric, seconds: number, attributes: Attributes): void
}

/** Whatever only counts is counted here and read when it is exported. */
export class Metrics {
  /** What was seen to begin: only that is counted when it ends. */
  private readonly open = new Map<ObservedCall | ObservedHold, Series>()

  constructor(
    private readonly series: AllSeries,
    private readonly times: Recorder,
  ) {}

  /** What is open is not seen to end. */
  stop(): void {
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
      this.times.record('wait', (call.waitedMs ?? 0) / 1000, count.attributes)
    }
    if (call.handOffMs !== undefined) {
      this.times.record('handOff', call.handOffMs / 1000, series.attributes)
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
    this.times.record('hold', (hold.heldMs ?? 0) / 1000, series.attributes)
  }

  onRenewal({ lockName, kind, outcome, marginMs }: ObservedRenewal): void {
    const series = this.series.of(lockName, kind)
    series.renewals.of(outcome, () => ({ [ATTRIBUTES.outcome]: outcome })).value += 1
    this.times.record('margin', marginMs / 1000, series.attributes)
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
  return series.acquisitions.of(path ?? outcome, () => ({
    [ATTRIBUTES.outcome]: outcome,
    ...(path === undefined ? {} : { [ATTRIBUTES.path]: path }),
  }))
}
