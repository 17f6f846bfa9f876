import type { WaiterClock } from './clock.js'
import { Deadline } from './deadline.js'
import { runQuietly } from './run-quietly.js'
import type { Attempt, Ticket, WaitOutcome, WaitRequest } from './wait-request.js'

/** Where a caller stands. */
export interface Place {
  /** The caller has settled by its own deadline, abort or `leave()`. */
  departed(caller: ParkedCaller): void
  outcomeAtDeadline(): WaitOutcome<never>
}

/**
 * One caller: settles once, by whichever comes first of its place, its deadline, its signal and `leave()`,
 * and leaves no timer and no listener behind. It is its own ticket, so that a caller costs one object.
 */
export class ParkedCaller implements Ticket<unknown> {
  readonly outcome: Promise<WaitOutcome<unknown>>
  previous: ParkedCaller | undefined = undefined
  next: ParkedCaller | undefined = undefined
  private resolve!: (outcome: WaitOutcome<unknown>) => void
  private fail!: (reason: unknown) => void
  private settled = false
  private parked = false
  private readonly deadline: Deadline | undefined
  private readonly onAbort: (() => void) | undefined

  constructor(
    private readonly request: WaitRequest<unknown>,
    private readonly place: Place,
    clock: WaiterClock,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.fail = reject
    })
    const { timeoutMs = Infinity, signal } = request
    if (timeoutMs > 0 && timeoutMs < Infinity) {
      this.deadline = new Deadline(clock, clock.now() + timeoutMs, () => this.expire())
    }
    if (signal) {
      this.onAbort = () => {
        this.reject(signal.reason)
        place.departed(this)
      }
      signal.addEventListener('abort', this.onAbort)
    }
  }

  get topic(): string | undefined {
    return this.request.topic
  }

  get hasDeadline(): boolean {
    return this.deadline !== undefined
  }

  get ahead(): number {
    let count = 0
    for (let other = this.previous; other; other = other.previous) count += 1
    return count
  }

  /** Never throws: what `attempt` throws is a rejection like any other. */
  attempt(): Promise<Attempt<unknown>> {
    try {
      return this.request.attempt()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Tells the caller, once, that it has to wait. Runs foreign code: call it last. */
  park(): void {
    if (this.parked || this.settled) return
    this.parked = true
    runQuietly(() => this.request.onParked?.())
  }

  giveBack(value: unknown): void {
    runQuietly(() => this.request.giveBack?.(value))
  }

  leave(): void {
    if (this.settled) return
    this.settle({ kind: 'left' })
    this.place.departed(this)
  }

  /** Ends the wait if the deadline has passed: after a pause of the process its timer may come too late. */
  expireIfDue(): boolean {
    if (!this.deadline?.passed) return false
    this.expire()
    return true
  }

  settle(outcome: WaitOutcome<unknown>): void {
    this.cleanUp()
    this.resolve(outcome)
  }

  reject(reason: unknown): void {
    this.cleanUp()
    this.fail(reason)
  }

  private expire(): void {
    this.settle(this.place.outcomeAtDeadline())
    this.place.departed(this)
  }

  private cleanUp(): void {
    this.settled = true
    this.deadline?.cancel()
    if (this.onAbort) this.request.signal?.removeEventListener('abort', this.onAbort)
  }
}
