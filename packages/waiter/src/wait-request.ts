/** What one attempt found out. */
export type Attempt<T> =
  /**
   * `retryAfterMs`: when the next in line may find it worth trying even without a message. `takesAll`: nobody gets
   * anything until this is given back, so whatever woke the line before is over.
   */
  | { kind: 'done'; value: T; retryAfterMs?: number; takesAll?: boolean }
  /** `retryAfterMs`: when it may be worth trying again even without a message; counts as at least 1 ms. */
  | { kind: 'refused'; retryAfterMs?: number }
  /** No answer: neither yes nor no. */
  | { kind: 'unavailable'; error: unknown }

/**
 * An answer that is to come: a promise, or something less that is asked once, and may tell in the turn in which it
 * hears.
 */
export interface Answer<T> {
  then(answered: (value: T) => void, failed: (error: unknown) => void): unknown
}

/** `T`: what a caller wants. `R`: what it makes of how its wait ends. */
export interface WaitRequest<T, R = WaitOutcome<T>> {
  /** Callers of one queue stand in one line, first come first served. */
  queue: string
  /**
   * A message on it wakes the head of the line. Absent: only `wake(queue)`, hints and resync ticks do.
   * One topic per queue; should callers of a queue differ, the line follows the topic of its head.
   */
  topic?: string | undefined
  /**
   * Default false. What is wanted can be had by several at once, as a read lock: while such a caller is at the
   * head, those behind it that share too try together with it, up to the first that does not.
   */
  shared?: boolean | undefined
  /**
   * Default true: a refused head tries again at a hint or at a resync tick. False: `wake(queue)`, a message or a
   * new connection makes it try, and whoever wakes the queue answers for it. Without an answer it tries anyway.
   */
  ticks?: boolean | undefined
  /**
   * Tries once. Never runs twice at a time for one caller, but may still run when its caller has gone.
   * A rejection ends this caller's wait with that error, and nobody else's. Bring your own time-out:
   * an attempt that never settles keeps its line waiting until its caller goes.
   */
  attempt(): Answer<Attempt<T>>
  /** Milliseconds. Absent or Infinity: for ever. 0: exactly one attempt, past the line, no subscription. */
  timeoutMs?: number | undefined
  /**
   * Milliseconds, default 0. A shorter `timeoutMs` is stretched to this while nobody in the line has been
   * answered at all: a wait of 1 ms should hear a no, not that nothing is known.
   */
  answerMs?: number | undefined
  /** Ends the wait at any moment; the outcome rejects with `signal.reason`. */
  signal?: AbortSignal | undefined
  /**
   * Called when `Waiter.offer` hands something to this caller, the first in line, while it is not trying. What it
   * returns ends its wait as a successful attempt does; undefined: it does not want it. Must not throw. Absent: it
   * wants nothing that it has not tried for.
   */
  accept?(offer: unknown): T | undefined
  /**
   * What the outcome comes to, in place of `then`: a promise less. What it throws is a rejection. A success is
   * concluded in the turn in which it comes, where the attempt was answered or the offer made, and so in the async
   * context of that; anything else, in a turn of its own. Absent: the outcome itself.
   */
  conclude?(outcome: WaitOutcome<T>): R | Promise<R>
  /** The same where the outcome would reject. Absent: it does. */
  rejected?(reason: unknown): R | Promise<R>
  /** Called once with what an attempt brought after its caller had gone. What it throws is ignored. */
  giveBack?(value: T): void
  /** Called once with its ticket, when the caller first has to sleep or to stand behind others. Throwing is ignored. */
  onParked?(ticket: Ticket<R>): void
  /**
   * Called when a message on the topic, or `wake(queue)`, reaches this caller as the head of its line; it tries next, or
   * again. Throwing is ignored.
   */
  onWoken?: (() => void) | undefined
}

export type WaitOutcome<T> =
  | { kind: 'done'; value: T }
  /** The deadline passed, and the last thing known is a refusal. */
  | { kind: 'timeout' }
  /** The deadline passed (without one: `unavailableTimeoutMs`), and nobody answers. */
  | { kind: 'unavailable'; error: unknown }
  /** `leave()` was called. */
  | { kind: 'left' }

/** A caller's place in line. */
export interface Ticket<R> {
  /**
   * How the wait ends, or what the request makes of that. Rejects with `signal.reason`, the reason of `close`, or the
   * rejection of this caller's own attempt.
   */
  readonly outcome: Promise<R>
  /** How many stand before this caller. Counts them one by one. */
  readonly ahead: number
  /** Gives the place up. Does nothing once the outcome is settled. */
  leave(): void
}
