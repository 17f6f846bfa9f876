/** Tokens are strings on the wire, because they may exceed 2^53. */
export type Token = string | number

/** Shared holds go together: the readers of a read-write lock. */
export type Mode = 'shared' | 'exclusive'

interface Recorded {
  /** Monotonic time in ms on a clock that all processes of the run share. */
  readonly atMs: number
  /** Whose event it is. */
  readonly process: string
}

interface OnLock extends Recorded {
  readonly lock: string
}

interface OfAttempt extends OnLock {
  /** Names one call. Unique among the calls of its process that have not ended. */
  readonly attempt: string | number
}

interface OfOwner extends OnLock {
  readonly owner: string
}

export interface AcquireBegin extends OfAttempt {
  readonly kind: 'acquire-begin'
  /** How long this call may wait (0: one try), when that is not the `deadlineMs` of the options. */
  readonly deadlineMs?: number | undefined
  /**
   * How it wants the lock (exclusive). An owner may take shared what it has exclusively, and keep it so; the other
   * way round is reported as an overlap with itself, because no read-write lock of Redisson's kind can do it.
   */
  readonly mode?: Mode | undefined
  /** Length of a lease that nobody renews, ms. */
  readonly leaseMs?: number | undefined
}

export interface Acquired extends OfAttempt {
  readonly kind: 'acquired'
  readonly owner: string
  readonly trustedUntilMs: number
  readonly token?: Token | undefined
}

export interface Refused extends OfAttempt {
  readonly kind: 'refused'
}

export interface Aborted extends OfAttempt {
  readonly kind: 'aborted'
}

export interface Failed extends OfAttempt {
  readonly kind: 'failed'
  readonly code: string
  /** The owner that the call was made for, when the caller knows it. */
  readonly owner?: string | undefined
}

/** Trust was renewed. */
export interface Trusted extends OfOwner {
  readonly kind: 'trusted'
  readonly untilMs: number
}

/** The moment the signal of the hold aborted. */
export interface Lost extends OfOwner {
  readonly kind: 'lost'
  /** `gone` and `forced`: Redis has it no longer, which the checker wants explained by a loss of data. */
  readonly reason: string
}

export interface ReleaseBegin extends OfOwner {
  readonly kind: 'release-begin'
  /** Which of its levels an owner releases that has some of both modes (exclusive). */
  readonly mode?: Mode | undefined
}

export interface Released extends OfOwner {
  readonly kind: 'released'
  readonly outcome: 'released' | 'still-held' | 'lost' | 'already-released' | 'error'
  /** Code of the error, when the release ended in one. */
  readonly code?: string | undefined
}

/** A write to the register that the lock guards, at the moment the register decided. */
export interface Write extends OfOwner {
  readonly kind: 'write'
  readonly token?: Token | undefined
  readonly accepted: boolean
  /**
   * The register's own count of its decisions on this lock, for writers that record a write only when they hear of
   * it: answers cross on their way. With it `atMs` is any moment at or after the decision. For all writes of a lock
   * or for none.
   */
  readonly order?: number | undefined
}

/** The result of a call that shares the run of others: the result of that run, or the code of an error. */
export interface Result extends OnLock {
  readonly kind: 'result'
  readonly value?: string | undefined
  readonly code?: string | undefined
}

/** Who only follows was told that this owner has, or had, the lock. */
export interface Followed extends OfOwner {
  readonly kind: 'followed'
  readonly token: Token
}

/** A hold that its owner had handed over at `sinceMs` was gone before the first who came for it. */
export interface Astray extends OnLock {
  readonly kind: 'astray'
  readonly sinceMs: number
}

/**
 * A fault begins; it lasts until the `healed` of the same name and lock, and is momentary without one.
 * Two classes take locks away behind their owner's back: `data-loss` with all that Redis knows of them (a restart
 * without data, a fail-over), `lock-loss` alone (a forced release, a clock of the server that jumps
 * ahead), so that tokens grow and queues stay. A `standstill` is what a process finds of itself on a busy machine: it
 * excuses only that its own waiters lost their place in a queue. Everything else is a `disturbance` and excuses no overlap.
 */
export interface FaultBegin extends Recorded {
  readonly kind: 'fault'
  readonly name: string
  readonly class: 'data-loss' | 'lock-loss' | 'disturbance' | 'standstill'
  /** The one lock it concerns; all of them when absent. */
  readonly lock?: string | undefined
  /** The one process that it stops or cuts off: its waiters may lose their place in a queue. */
  readonly target?: string | undefined
}

export interface Healed extends Recorded {
  readonly kind: 'healed'
  readonly name: string
  readonly lock?: string | undefined
}

/** The process is dead, recorded when its exit was seen: its calls and its beliefs end here. */
export interface Killed extends Recorded {
  readonly kind: 'killed'
}

/** The remains when the process had closed everything. */
export interface End extends Recorded {
  readonly kind: 'end'
  readonly keys: readonly string[]
  readonly channels: readonly string[]
  readonly timers: number
}

export type AttemptEnd = Acquired | Refused | Aborted | Failed
/** An event that one process saw, or that was done to it. Each has the time, the process and the `kind`. */
export type HistoryEvent =
  | AcquireBegin
  | AttemptEnd
  | Trusted
  | Lost
  | ReleaseBegin
  | Released
  | Write
  | Result
  | Followed
  | Astray
  | FaultBegin
  | Healed
  | Killed
  | End

export const modeOf = ({ mode = 'exclusive' }: AcquireBegin): Mode => mode

/** The history contradicts itself: a mistake of the one who recorded it, not of the lock. */
export class HistoryError extends Error {
  readonly event: HistoryEvent

  constructor(message: string, event: HistoryEvent, options?: ErrorOptions) {
    super(`${message}: ${JSON.stringify(event)}`, options)
    this.name = 'HistoryError'
    this.event = event
  }
}
