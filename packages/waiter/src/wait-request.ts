/** The result of one attempt. */
export type Attempt<T> =
  /**
   * `retryAfterMs`: when the next caller may try even without a message. `takesAll`: nothing is available until this
   * is released, so wakes that came before are void. `left`: how much is still available; the first caller in line
   * whose `wants` is no more than that tries next.
   */
  | { kind: 'done'; value: T; retryAfterMs?: number; takesAll?: boolean; left?: number }
  /**
   * `retryAfterMs`: when to try again even without a message; at least 1 ms. `left`: how much is available, which is less
   * than this caller wants; as above.
   */
  | { kind: 'refused'; retryAfterMs?: number; left?: number }
  /** No reply: neither a success nor a refusal. */
  | { kind: 'unavailable'; error: unknown }

/**
 * A reply to come: a promise, or a lighter object with one consumer, which it may call in the turn in which the reply
 * arrives.
 */
export interface Answer<T> {
  /** Takes the callbacks for the reply: one consumer, once. */
  then(answered: (value: T) => void, failed: (error: unknown) => void): unknown
}

/** `T`: the value obtained. `R`: the result that `conclude` makes of the wait's outcome. */
export interface WaitRequest<T, R = WaitOutcome<T>> {
  /** Callers of one queue form one line, first come first served. */
  queue: string
  /**
   * A message on it wakes the head of the line. Without it, only `wake(queue)`, hints and resync ticks do. One topic
   * per queue; if the callers of a queue differ, the line follows the topic of its head.
   */
  topic?: string | undefined
  /**
   * Default false. Whether several callers may succeed at once, as with a read lock: while such a caller is the head,
   * adjacent callers that share too try together with it.
   */
  shared?: boolean | undefined
  /**
   * Default true: a refused head tries again after its hint or a resync tick. False: only after `wake(queue)`, a
   * message or a reconnect; the code that wakes the queue is responsible for progress. Attempts without a reply are
   * retried in any case.
   */
  ticks?: boolean | undefined
  /**
   * How much this caller wants, where callers of one queue want different amounts of the same thing. It is compared with
   * the `left` of answers: a caller passes those in front of it that want more than is left. Absent: callers try one
   * after the other, whatever is left.
   */
  wants?: number | undefined
  /**
   * Tries once. Never runs twice at a time for one caller, but may still be running when its caller has gone. A
   * rejection ends only this caller's wait, with that error. Must have a time-out of its own: an attempt that never
   * settles blocks its line until its caller leaves.
   */
  attempt(): Answer<Attempt<T>>
  /**
   * How long to wait, ms. Default: without a limit. 0: exactly one attempt, past the line, without a subscription.
   */
  timeoutMs?: number | undefined
  /**
   * Extends a shorter `timeoutMs` to this, ms, while no attempt in the line has been refused or has failed: a wait of
   * 1 ms should end with a refusal, not without an answer. After a pause of the process it begins anew. Default 0.
   */
  answerMs?: number | undefined
  /** When the caller came, on the waiter's clock, for `Waiter.lineAt`. */
  startedAt?: number | undefined
  /** Ends the wait at any moment; the outcome rejects with `signal.reason`. */
  signal?: AbortSignal | undefined
  /**
   * Called when `Waiter.offer` offers something to this caller while it is the head and not trying. Its result ends
   * the wait like a successful attempt; undefined declines. Must not throw. Default: declines all offers.
   */
  accept?(offer: unknown): T | undefined
  /**
   * Makes the result from the outcome, like `then` without another promise; exceptions become rejections. Called for
   * a success in the turn and async context in which it arrives (the reply or the offer), for any other outcome in a
   * turn of its own. Default: the outcome itself.
   */
  conclude?(outcome: WaitOutcome<T>): R | Promise<R>
  /**
   * Called with the reason of an outcome that would reject: makes the result of it, as `conclude` does. Default: it
   * rejects.
   */
  rejected?(reason: unknown): R | Promise<R>
  /**
   * Called before the head of a line tries because of a message on the topic, or because it has just entered: for how
   * many ms others come first. 0 lets it try at once, and so does a deadline before that. A confirmed subscription and
   * `wake(queue)` end the time. Default 0. Must not throw.
   */
  standsBackMs?(after: 'message' | 'entering'): number
  /** Called once with a success that arrived after its caller had gone. Exceptions are ignored. */
  undo?(value: T): void
  /** Called once, with the place, when the caller first has to sleep or queue. Exceptions are ignored. */
  onParked?(place: Place<R>): void
  /**
   * Called when a message on the topic, or `wake(queue)`, reaches this caller as the head of its line; a try follows.
   * Exceptions are ignored.
   */
  onWoken?: (() => void) | undefined
}

/** How a wait ended. */
export type WaitOutcome<T> =
  | { kind: 'done'; value: T }
  /** The deadline passed, and the last reply was a refusal. */
  | { kind: 'timeout' }
  /** The deadline passed (without one: `unavailableTimeoutMs`) without a reply to the caller or a refusal. */
  | { kind: 'unavailable'; error: unknown }
  /** `leave()` was called. */
  | { kind: 'left' }

/** The callers of one queue that wait. */
export interface WaitingCallers {
  /** One that has just entered, and may get at once what it wants, does not count. */
  readonly waiting: number
  /** `startedAt` of the first in line, if it gave that. */
  readonly firstStartedAt: number | undefined
}

/** A caller's place in a line. */
export interface Place<R> {
  /**
   * The outcome of the wait, or the result that `conclude` makes of it. Rejects with `signal.reason`, the reason of
   * `close`, or the rejection of this caller's own attempt.
   */
  readonly outcome: Promise<R>
  /** Number of callers ahead of this one. O(n). */
  readonly ahead: number
  /** Leaves the line. No effect once the outcome is settled. */
  leave(): void
}
