import type { Attempt, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import type { BareCall } from './bare-calls.js'
import type { Acquisition } from './acquisition.js'
import type { LevelRequest } from './levels.js'
import type { Place, Turn } from './context.js'
import { LockError, LockTimeoutError, RedisUnavailableError } from './errors.js'
import type { Hold } from './hold.js'
import type { LockProtocol } from './locks/lock-protocol.js'
import { isWorthRetrying } from './redis/until-known.js'
import type { Refusals } from './refusals.js'
import type { Clock } from './system-clock.js'

// A wait shorter than a slow round trip should still end with a yes or a no.
const ANSWER_MS = 250

export interface AcquireRequest extends LevelRequest {
  /** How long to wait, ms; undefined: for ever; 0: one attempt. */
  readonly waitMs: number | undefined
  readonly signal: AbortSignal | undefined
  /** Where the call stands; null outside any context, where every call is an owner of its own. */
  readonly place: Place | null
  /** Redisson's face outside any context. */
  readonly bareCall?: BareCall | null
}

export interface Held {
  readonly kind: 'held'
  readonly hold: Hold
  readonly acquisition: Acquisition
  /** To be ended with the hold: the siblings' turn to re-enter. */
  readonly turn: Turn | null
}

/** Somebody else has it. */
export interface Busy {
  readonly kind: 'busy'
  readonly error: () => LockTimeoutError
}

/** Nothing yet: `look-again` at what encloses the call, or the lease was over before anybody could use it. */
export type NotYet = 'look-again' | 'stillborn'

/** One call for a lock, whatever it takes to answer it: its limits, counted from its beginning. */
export class AcquireCall {
  private readonly startedAt: number

  constructor(
    readonly protocol: LockProtocol,
    readonly request: AcquireRequest,
    private readonly clock: Clock,
    private readonly refusals: Refusals,
  ) {
    this.startedAt = clock.now()
  }

  /** The limits of a wait, written into its request. */
  limit<T>(wait: WaitRequest<T>): WaitRequest<T> {
    const { waitMs, signal } = this.request
    if (waitMs !== undefined) {
      // 0 stays 0, exactly one attempt; a wait that has begun does not become one.
      wait.timeoutMs = waitMs && Math.max(1, waitMs - (this.clock.now() - this.startedAt))
      wait.answerMs = ANSWER_MS
    }
    if (signal) {
      wait.signal = signal
    }
    return wait
  }

  /** The wait ended without a yes: somebody else has it, or nobody can tell. */
  giveUp(outcome: WaitOutcome<unknown>): Busy {
    if (outcome.kind === 'unavailable') {
      throw this.unanswered(outcome.error)
    }
    const { key, lockName } = this.protocol
    const holder = this.refusals.holderOf(key)
    const waitedMs = this.clock.now() - this.startedAt
    return { kind: 'busy', error: () => new LockTimeoutError({ lockName, waitedMs, holder }) }
  }

  private unanswered(error: unknown): unknown {
    if (error instanceof LockError) {
      return error
    }
    const { lockName } = this.protocol
    const message = `Redis did not answer within the wait of ${this.request.waitMs ?? Infinity} ms.`
    return new RedisUnavailableError(message, { outcome: 'unknown', transient: true, lockName, cause: error })
  }
}

/** An attempt that failed: no answer yet, or an error of its caller's. */
export function unavailableOrThrow(error: unknown): Attempt<never> {
  if (isWorthRetrying(error)) {
    return { kind: 'unavailable', error }
  }
  throw error
}
