import { onAbort } from './abort-listeners.js'
import type { WaiterClock } from './clock.js'
import { Deadline } from './deadline.js'
import { runQuietly } from './run-quietly.js'
import type { Answer, Attempt, Place, WaitOutcome, WaitRequest } from './wait-request.js'

/** The owner of a caller: a line, or the set of callers that do not wait. */
export interface CallerHost {
  readonly clock: WaiterClock
  /** The caller has settled by its own deadline, signal or `leave()`. */
  departed(caller: ParkedCaller): void
  /** Undefined: no attempt has been refused yet, and none has failed. */
  outcomeAtDeadline(): WaitOutcome<never> | undefined
}

/** A caller's deadline, monotonic ms. Most callers have none. */
interface Limit {
  readonly dueAt: number
  /** Until when a caller past its deadline waits for the first refusal or failure in its line. */
  patientUntil: number
  deadline: Deadline
}

/** A timer of a process that runs is never so late, ms. */
const STOOD_STILL_MS = 20

/** The host of a caller, which can end its wait besides its line. */
interface Ends {
  readonly limit: Limit | undefined
  readonly stopListening: (() => void) | undefined
}

/**
 * One caller. It settles once, by its line, its deadline, its signal or `leave()`, whichever is first, and leaves no
 * timer or listener behind. It is its own place, so that a caller costs one object.
 */
export class ParkedCaller implements Place<unknown> {
  readonly outcome: Promise<unknown>
  previous: ParkedCaller | undefined = undefined
  next: ParkedCaller | undefined = undefined
  /** The flight of its attempt, until the reply. */
  flight: object | undefined = undefined
  private readonly resolve: (outcome: unknown) => void
  private state: 'entered' | 'parked' | 'settled' = 'entered'
  private readonly ends: Ends | undefined

  /** @param timeoutMs that of the request, and its signal: each may be costly to read */
  constructor(
    readonly request: WaitRequest<unknown, unknown>,
    private readonly host: CallerHost,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ) {
    let resolve!: (outcome: unknown) => void
    this.outcome = new Promise((given) => (resolve = given))
    this.resolve = resolve
    const hasDeadline = timeoutMs > 0 && timeoutMs < Infinity
    if (hasDeadline || signal) {
      const limit = hasDeadline ? this.limitOf(timeoutMs) : undefined
      this.ends = { limit, stopListening: signal && this.endBy(signal) }
    }
  }

  get shared(): boolean {
    return this.request.shared === true
  }

  /** For how many ms others come first. Not past its deadline: a caller that has so little time left tries at once. */
  standsBackMs(after: 'message' | 'entering'): number {
    const ms = this.request.standsBackMs?.(after) ?? 0
    return ms > 0 && this.ends?.limit && this.host.clock.now() + ms >= this.ends.limit.dueAt ? 0 : ms
  }

  /** It sleeps, or waits behind others. */
  get isParked(): boolean {
    return this.state === 'parked'
  }

  get isHere(): boolean {
    return this.state !== 'settled'
  }

  get hasDeadline(): boolean {
    return this.ends?.limit !== undefined
  }

  get ahead(): number {
    let count = 0
    for (let other = this.previous; other; other = other.previous) {
      count += 1
    }
    return count
  }

  /** Never throws: an exception of `attempt` becomes a rejection. */
  attempt(): Answer<Attempt<unknown>> {
    try {
      return this.request.attempt()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Notifies the caller, once, that it has to wait. Runs foreign code: call it last. */
  park(): void {
    if (this.state !== 'entered') {
      return
    }
    this.state = 'parked'
    runQuietly(() => this.request.onParked?.(this))
  }

  woken(): void {
    if (this.request.onWoken) {
      runQuietly(() => this.request.onWoken?.())
    }
  }

  undo(value: unknown): void {
    runQuietly(() => this.request.undo?.(value))
  }

  leave(): void {
    if (!this.isHere) {
      return
    }
    this.settle({ kind: 'left' })
    this.host.departed(this)
  }

  /** Ends the wait if its deadline has passed: after a pause of the process its timer may fire too late. */
  expireIfDue(): boolean {
    const limit = this.ends?.limit
    if (!this.isHere || !limit || this.host.clock.now() < limit.dueAt) {
      return false
    }
    this.expire()
    return !this.isHere
  }

  /** A success may run foreign code: call it last. The answer to a successful attempt is an outcome, too. */
  settle(outcome: WaitOutcome<unknown>): void {
    this.close()
    const { request } = this
    if (!request.conclude) {
      this.resolve(outcome.kind === 'done' ? { kind: 'done', value: outcome.value } : outcome)
    } else if (outcome.kind === 'done') {
      this.conclude(outcome)
    } else {
      this.resolve(laterOn(outcome).then((each) => request.conclude?.(each)))
    }
  }

  reject(reason: unknown): void {
    this.close()
    this.resolve(rejectionOf(this.request, reason))
  }

  /** Stops the deadline and the signal: only the remover settles the caller now. */
  close(): void {
    this.state = 'settled'
    this.ends?.limit?.deadline.cancel()
    this.ends?.stopListening?.()
  }

  private conclude(outcome: WaitOutcome<unknown>): void {
    let concluded: unknown
    try {
      concluded = this.request.conclude?.(outcome)
    } catch (error) {
      concluded = Promise.reject(error)
    }
    this.resolve(concluded)
  }

  private limitOf(timeoutMs: number): Limit {
    const { clock } = this.host
    const { answerMs = 0 } = this.request
    const now = clock.now()
    const dueAt = now + timeoutMs
    const deadline = new Deadline(clock, dueAt, () => this.expire())
    return { dueAt, patientUntil: now + Math.max(timeoutMs, answerMs), deadline }
  }

  private endBy(signal: AbortSignal): () => void {
    return onAbort(signal, () => {
      this.reject(signal.reason)
      this.host.departed(this)
    })
  }

  /** While the process stood still it read no answer, also one that has come: the time for that begins anew. */
  private isPatient(limit: Limit): boolean {
    const { answerMs = 0 } = this.request
    const now = this.host.clock.now()
    if (now > limit.deadline.at + STOOD_STILL_MS) {
      limit.patientUntil = now + answerMs
    }
    return now < limit.patientUntil
  }

  private expire(): void {
    const { ends, host } = this
    const limit = ends?.limit
    const outcome = host.outcomeAtDeadline()
    if (!outcome && limit && this.isPatient(limit)) {
      limit.deadline.cancel()
      limit.deadline = new Deadline(host.clock, limit.patientUntil, () => this.expire())
      return
    }
    const error = new Error('No attempt was answered before the deadline')
    this.settle(outcome ?? { kind: 'unavailable', error })
    host.departed(this)
  }
}

/** The outcome of a request whose wait is rejected. */
export function rejectionOf<R>(
  request: Pick<WaitRequest<unknown, R>, 'rejected'>,
  reason: unknown,
): Promise<R> {
  const rejection = Promise.reject<R>(reason)
  return request.rejected ? rejection.catch((error: unknown) => request.rejected?.(error) as R) : rejection
}

/**
 * Resolves only after the caller's promise has come to follow this one, so that an error's stack shows who awaits it.
 */
function laterOn<T>(value: T): Promise<T> {
  return Promise.resolve(value).then((same) => same)
}
