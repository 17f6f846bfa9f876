import { Barging } from './barging.js'
import { ChurnMap } from './churn-map.js'
import { longestDelayMs, type Timer, type WaiterClock } from './clock.js'
import type { LineSetting } from './line-setting.js'
import { rejectionOf } from './parked-caller.js'
import { TopicSubscriptions } from './topic-subscriptions.js'
import { WaitLine } from './wait-line.js'
import type { Place, WaitingCallers, WaitOutcome, WaitRequest } from './wait-request.js'
import type { WakeSource } from './wake-source.js'

/** The clock of a waiter, its randomness and its intervals. */
export interface WaiterOptions {
  clock: WaiterClock
  /** Uniform in [0, 1), like `Math.random`. */
  random: () => number
  /** How long a lost message can go unnoticed, ms: each line tries that often. Default 1,000. */
  resyncIntervalMs?: number | undefined
  /**
   * How long waits without a deadline go on while attempts get no reply, ms. Default 10,000; Infinity: without end.
   */
  unavailableTimeoutMs?: number | undefined
  /**
   * Sets the timer for that. Given where timers of the clock fire before connections are read: after a pause of the
   * process, answers that have arrived must be read first. Default: a timer of the clock.
   */
  afterAnswers?: ((delayMs: number, fire: () => void) => Timer) | undefined
}

const NOBODY: WaitingCallers = { waiting: 0, firstStartedAt: undefined }

/** Queues callers in lines, one per queue, and lets the head of each try whenever a try may succeed. */
export class Waiter {
  /** The counted subscriptions of the lines, open to other listeners. Closed by `close`. */
  readonly topics: TopicSubscriptions
  private readonly lines = new ChurnMap<string, WaitLine>()
  private readonly barging: Barging
  private readonly setting: LineSetting
  private readonly stopListening: () => void
  private closed: { readonly reason: unknown; readonly done: Promise<void> } | undefined = undefined

  /**
   * Makes a waiter on this source; subscribes to nothing yet.
   * @throws RangeError for an interval that is not positive or longer than a timer can be
   */
  constructor(source: WakeSource, options: WaiterOptions) {
    const { clock, random, resyncIntervalMs = 1_000, unavailableTimeoutMs = 10_000 } = options
    if (!(resyncIntervalMs > 0 && resyncIntervalMs <= longestDelayMs)) {
      throw new RangeError(`resyncIntervalMs must be above 0 and below 2^31, not ${resyncIntervalMs}`)
    }
    if (!(unavailableTimeoutMs >= 0)) {
      throw new RangeError(`unavailableTimeoutMs must be 0 or more, not ${unavailableTimeoutMs}`)
    }
    this.topics = new TopicSubscriptions(source)
    this.barging = new Barging(clock)
    this.setting = {
      clock,
      random,
      topics: this.topics,
      resyncIntervalMs,
      unavailableTimeoutMs,
      afterAnswers: options.afterAnswers ?? ((delayMs, fire) => clock.setTimer(delayMs, fire)),
      onEmpty: (queue) => void this.lines.delete(queue),
    }
    this.stopListening = source.onResubscribed(() => this.wakeAll())
  }

  /** Number of callers, in lines or trying outside them. */
  get size(): number {
    let count = this.barging.size
    for (const line of this.lines.all) {
      count += line.length
    }
    return count
  }

  /**
   * Puts a caller into the line of its queue. The head tries in the same turn. The outcome rejects at once if the
   * signal is aborted, after `close`, and with a RangeError for a `timeoutMs` that is negative or NaN.
   */
  enter<T, R = WaitOutcome<T>>(request: WaitRequest<T, R>): Place<R> {
    const { queue, signal, timeoutMs = Infinity } = request
    if (this.closed) {
      return refusedPlace(request, this.closed.reason)
    }
    if (signal?.aborted) {
      return refusedPlace(request, signal.reason)
    }
    if (!(timeoutMs >= 0)) {
      return refusedPlace(request, new RangeError(`timeoutMs must be 0 or more, not ${timeoutMs}`))
    }
    // Callers of one line may expect different types; each gets only the value of its own attempt.
    const untyped = request as WaitRequest<unknown, unknown>
    const caller =
      timeoutMs === 0
        ? this.barging.enter(untyped, signal)
        : this.lineOf(queue).enter(untyped, timeoutMs, signal)
    return caller as Place<R>
  }

  /** Wakes the head of the line from inside the process, as a message does. */
  wake(queue: string): void {
    this.lines.get(queue)?.wake()
  }

  /**
   * Offers something to the head of `queue` instead of a try: see `WaitRequest.accept`. Declined while the head is
   * trying; never passed on to a caller behind it.
   * @returns whether it was accepted
   */
  offer(queue: string, offer: unknown): boolean {
    return this.lines.get(queue)?.offer(offer) ?? false
  }

  /**
   * Lets other processes come first: the line of `queue` does not try for `ms` milliseconds, even if woken. 0 ends
   * that, and the head tries at once. No effect without a line.
   */
  standBack(queue: string, ms: number): void {
    this.lines.get(queue)?.standBack(ms)
  }

  /**
   * Asks a head that has not tried yet again whether it lets others come first, and lets it try otherwise: the reason may
   * be over. No effect without a line, or after its first try.
   */
  reconsider(queue: string): void {
    this.lines.get(queue)?.reconsider()
  }

  /** Returns whether the subscription of the queue's line is confirmed. */
  isListening(queue: string): boolean {
    return this.lines.get(queue)?.isListening ?? false
  }

  /** Counts the callers of the queue that wait. */
  lineAt(queue: string): WaitingCallers {
    return this.lines.get(queue)?.waiting ?? NOBODY
  }

  /** Returns whether the queue's line has callers, trying or sleeping. */
  isWaiting(queue: string): boolean {
    return this.lines.has(queue)
  }

  /**
   * Rejects every wait with `reason` and removes all timers, listeners and subscriptions. Resolves when the source
   * has confirmed, after `resyncIntervalMs` at the latest; a source that hangs is unsubscribed when it replies.
   * Attempts in flight are not awaited: what they still obtain is released. May be called twice.
   */
  close(reason: unknown): Promise<void> {
    if (this.closed) {
      return this.closed.done
    }
    // Deferred: the source may enter or close again in the same turn.
    const done = Promise.resolve().then(() => this.closeTopics())
    this.closed = { reason, done }
    this.stopListening()
    for (const line of this.lines.all) {
      line.evict(reason)
    }
    this.barging.evict(reason)
    return done
  }

  private lineOf(queue: string): WaitLine {
    let line = this.lines.get(queue)
    if (!line) {
      line = new WaitLine(queue, this.setting)
      this.lines.set(queue, line)
    }
    return line
  }

  private wakeAll(): void {
    for (const line of this.lines.all) {
      line.lookAgain()
    }
  }

  private closeTopics(): Promise<void> {
    const { clock, resyncIntervalMs } = this.setting
    return new Promise((resolve) => {
      // A source without a connection may never reply; close must not hang with it.
      const limit = clock.setTimer(resyncIntervalMs, resolve)
      void this.topics.close().then(() => {
        limit.cancel()
        resolve()
      })
    })
  }
}

function refusedPlace<R>(request: Pick<WaitRequest<unknown, R>, 'rejected'>, reason: unknown): Place<R> {
  return { outcome: rejectionOf(request, reason), ahead: 0, leave: () => undefined }
}
