import type { ObservedCall, ObservedHold, ObservedRenewal } from '@holdfast/core'
import { ATTRIBUTES, errorTypeOf } from './attributes.js'
import type { AllSeries, Count, Series } from './series.js'

/** Counts are kept here, and read when they are exported. */
export class Metrics {
  /** Calls that were seen to start waiting, and still wait. */
  private readonly waiting = new Map<ObservedCall, Series>()
  /** The serial of the first hold that was seen to begin, 0 before it: older holds began before the subscription. */
  private firstHold = 0

  constructor(private readonly series: AllSeries) {}

  /** The ends of current waits and holds will not be seen. */
  stop(): void {
    for (const series of this.waiting.values()) {
      series.waiters -= 1
    }
    this.waiting.clear()
    for (const series of this.series.all()) {
      series.begun = 0
      series.ended = 0
    }
  }

  onCallParked(call: ObservedCall): void {
    const series = this.series.of(call.lockName, call.kind)
    this.waiting.set(call, series)
    series.waiters += 1
  }

  onCallEnded(call: ObservedCall): void {
    const series = this.series.of(call.lockName, call.kind)
    const count = acquisitionsOf(series, call)
    count.value += 1
    if (call.hasWaited) {
      if (this.waiting.delete(call)) {
        series.waiters -= 1
      }
      count.wait.record((call.waitedMs ?? 0) / 1000)
    }
    if (call.handOffMs !== undefined) {
      series.handOff.record(call.handOffMs / 1000)
    }
  }

  onHoldBegun({ lockName, kind, serial }: ObservedHold): void {
    this.series.of(lockName, kind).begun += 1
    if (this.firstHold === 0) {
      this.firstHold = serial
    }
  }

  onHoldEnded({ lockName, kind, serial, outcome, reason = 'gone', heldMs = 0 }: ObservedHold): void {
    const series = this.series.of(lockName, kind)
    if (this.firstHold !== 0 && serial >= this.firstHold) {
      series.ended += 1
    }
    if (outcome === 'lost') {
      const { losses } = series
      const count = losses.find(reason) ?? losses.make(reason, { [ATTRIBUTES.reason]: reason })
      count.value += 1
    }
    series.hold.record(heldMs / 1000)
  }

  onRenewal({ lockName, kind, outcome, marginMs }: ObservedRenewal): void {
    const series = this.series.of(lockName, kind)
    const { renewals } = series
    const count = renewals.find(outcome) ?? renewals.make(outcome, { [ATTRIBUTES.outcome]: outcome })
    count.value += 1
    series.margin.record(marginMs / 1000)
  }
}

function acquisitionsOf({ acquisitions }: Series, { outcome = 'error', path, error }: ObservedCall): Count {
  if (outcome === 'error') {
    const type = errorTypeOf(error)
    const key = `error ${type}`
    const attributes = { [ATTRIBUTES.outcome]: outcome, [ATTRIBUTES.errorType]: type }
    return acquisitions.find(key) ?? acquisitions.make(key, attributes)
  }
  const key = path ?? outcome
  return acquisitions.find(key) ?? acquisitions.make(key, attributesOf(outcome, path))
}

function attributesOf(outcome: string, path: string | undefined): Record<string, string> {
  return { [ATTRIBUTES.outcome]: outcome, ...(path === undefined ? {} : { [ATTRIBUTES.path]: path }) }
}
