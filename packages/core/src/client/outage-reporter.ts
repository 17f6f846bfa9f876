import type { BorrowedPermit } from './borrowed-permits.js'
import { reportUnreachable, type Trusted } from '../diagnostics/reports.js'
import type { RedisUnavailableError } from '../errors.js'
import type { EventHub } from '../events.js'
import { connectionDown, renewalsFail } from '../redis/failures.js'
import type { RedisPort } from '../redis/redis-port.js'
import type { Clock } from '../runtime/runtime.js'

// A fail-over of two seconds has ended by then, with the pause before the attempt to connect that succeeds.
const OUTAGE_MS = 2_500
// After a pause of the process, timers fire before its connections are read: the last part is counted from then.
const LAST_PART_MS = 500
// An outage without a reconnect, of one node of a cluster or of a server that hangs, is reported once in this time.
const QUIET_MS = 60_000

interface Parts {
  readonly port: Pick<RedisPort, 'state' | 'trouble' | 'advice' | 'onStateChange'>
  readonly events: EventHub
  /** Its timers do not keep the process alive. */
  readonly clock: Clock
  readonly held: { readonly all: readonly Trusted[] }
  readonly borrowedPermits: { readonly all: readonly BorrowedPermit[] }
  /** Ends overdue trust, which would be reported as trust that is left. Calls listeners. */
  readonly beforeResume: () => void
}

/**
 * Tells of a Redis that is out of reach while something is held. Without that, the first to tell is the loss of the
 * hold, half a minute later with the default lease.
 */
export class OutageReporter {
  private timer: { cancel(): void } | null = null
  private quietUntil = -Infinity
  private hasWarned = false
  private readonly stopListening: () => void

  constructor(private readonly parts: Parts) {
    this.stopListening = parts.port.onStateChange(() => this.onStateChange())
  }

  /** A renewal has failed. @param failingForMs since when those of the same hold have failed */
  renewalFailed(error: unknown, failingForMs: number): void {
    if (failingForMs >= OUTAGE_MS) {
      this.report(() => renewalsFail(failingForMs, error))
    }
  }

  close(): void {
    this.stopListening()
    this.timer?.cancel()
    this.timer = null
  }

  private onStateChange(): void {
    const { port } = this.parts
    if (port.state === 'ready') {
      this.timer?.cancel()
      this.timer = null
      this.quietUntil = -Infinity
    } else {
      this.timer ??= this.after(OUTAGE_MS - LAST_PART_MS, () => {
        this.timer = this.after(LAST_PART_MS, () => this.report(() => connectionDown(OUTAGE_MS, port)))
      })
    }
  }

  private after(delayMs: number, then: () => void): { cancel(): void } {
    return this.parts.clock.setTimer(delayMs, then)
  }

  private report(failure: () => RedisUnavailableError): void {
    const { clock, held, borrowedPermits, events, beforeResume } = this.parts
    const now = clock.now()
    if (now < this.quietUntil) {
      return
    }
    beforeResume()
    const trusted = [...held.all, ...borrowedPermits.all.filter(isTrusted)]
    if (trusted.length > 0) {
      this.quietUntil = now + QUIET_MS
      this.hasWarned = reportUnreachable(events, failure(), trusted, this.hasWarned)
    }
  }
}

function isTrusted(permit: BorrowedPermit): permit is BorrowedPermit & Trusted {
  return permit.trustedForMs !== undefined
}
