import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { LOCK_CHANNELS, type ObservedCall, type ObservedHold, type ObservedRenewal } from '@holdfast/core'
import { diag } from '@opentelemetry/api'
import type { Metrics } from './metrics.js'
import type { Spans } from './spans.js'

/**
 * Subscribes to the channels of core. Calls, holds and renewals have a function each, without a shared wrapper: a
 * wrapper called from everywhere, with any callback, would be megamorphic and not optimized by V8.
 */
export class Listeners {
  private isHearing = false

  constructor(
    private readonly metrics: Metrics,
    private readonly spans: Spans,
  ) {}

  start(): void {
    this.isHearing = true
    this.all.forEach(([channel, listener]) => subscribe(channel, listener))
  }

  /** Takes effect at once, even if another listener calls it in the middle of a message. */
  stop(): void {
    this.isHearing = false
    this.all.forEach(([channel, listener]) => unsubscribe(channel, listener))
  }

  private readonly onCall = (message: unknown): void => {
    const { metrics, spans } = this
    const call = message as ObservedCall
    try {
      if (!this.isHearing) {
        return
      }
      if (call.phase === 'parked') {
        metrics.onCallParked(call)
      } else {
        metrics.onCallEnded(call)
        spans.onCallEnded(call)
      }
    } catch (error) {
      complain(error)
    }
  }

  private readonly onHold = (message: unknown): void => {
    const { metrics, spans } = this
    const hold = message as ObservedHold
    try {
      if (!this.isHearing) {
        return
      }
      if (hold.phase === 'begun') {
        metrics.onHoldBegun(hold)
        spans.onHoldBegun(hold)
      } else {
        metrics.onHoldEnded(hold)
        spans.onHoldEnded(hold)
      }
    } catch (error) {
      complain(error)
    }
  }

  private readonly onRenewal = (message: unknown): void => {
    try {
      if (this.isHearing) {
        this.metrics.onRenewal(message as ObservedRenewal)
      }
    } catch (error) {
      complain(error)
    }
  }

  private readonly all = [
    [LOCK_CHANNELS.callParked, this.onCall],
    [LOCK_CHANNELS.callEnded, this.onCall],
    [LOCK_CHANNELS.holdBegun, this.onHold],
    [LOCK_CHANNELS.holdEnded, this.onHold],
    [LOCK_CHANNELS.renewal, this.onRenewal],
  ] as const
}

/** Logged, because Node would turn a rethrown error into an uncaught exception. */
function complain(error: unknown): void {
  diag.error('holdfast: an observation of a lock was dropped', error)
}
