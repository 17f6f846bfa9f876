import { Barging } from './barging.js'
import { ChurnMap } from './churn-map.js'
import { longestDelayMs, type WaiterClock } from './clock.js'
import type { LineSetting } from './line-setting.js'
import { rejectionOf } from './parked-caller.js'
import { TopicSubscriptions } from './topic-subscriptions.js'
import { WaitLine } from './wait-line.js'
import type { Ticket, WaitOutcome, WaitRequest } from './wait-request.js'
import type { WakeSource } from './wake-source.js'

export interface WaiterOptions {
  clock: WaiterClock
  /** Uniform in [0, 1), like the one of `Math`. */
  random: () => number
  /** Milliseconds, default 1000. How long a lost message can go unnoticed; each line tries that often. */
  resyncIntervalMs?: number | undefined
  /** Milliseconds, default 10000; Infinity: never. When waits without a deadline end while nobody answers. */
  unavailableTimeoutMs?: number | undefined
}

/** Parks callers in lines, one per queue, and lets the head of each try whenever it may be worth it. */
export class Waiter {
  /** The counted subscriptions of the lines, open to other listeners. Closed by `close`. */
  readonly topics: TopicSubscriptions
  private readonly lines = new ChurnMap<string, WaitLine>()
  private readonly barging: Barging
  private readonly setting: LineSetting
  private readonly stopListening: () => void
  private closed: { readonly reason: unknown; readonly done: Promise<void> } | undefined = undefined

  /** @throws RangeError for an interval that is not positive or longer than a timer can be. */
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
    const onEmpty = (queue: string) => void this.lines.delete(queue)
    this.setting = { clock, random, topics: this.topics, resyncIntervalMs, unavailableTimeoutMs, onEmpty }
    this.stopListening = source.onResubscribed(() => this.wakeAll())
  }

  /** Callers inside, whether they stand in a line or try beside it. */
  get size(): number {
    let count = this.barging.size
    for (const line of this.lines.all) count += line.length
    return count
  }

  /**
   * Puts a caller into the line of its queue. The first in line tries in the same turn.
   * The outcome rejects at once when the signal is aborted, after `close`, and with a RangeError for a
   * `timeoutMs` that is negative or NaN.
   */
  enter<T, R = WaitOutcome<T>>(request: WaitRequest<T, R>): Ticket<R> {
    const { queue, signal, timeoutMs = Infinity } = request
    if (this.closed) return refusedTicket(request, this.closed.reason)
    if (signal?.aborted) return refusedTicket(request, signal.reason)
    if (!(timeoutMs >= 0))
      return refusedTicket(request, new RangeError(`timeoutMs must be 0 or more, not ${timeoutMs}`))
    // Callers of one line may expect different values; each gets only what its own attempt brought.
    const untyped = request as WaitRequest<unknown, unknown>
    const caller = timeoutMs === 0 ? this.barging.enter(untyped) : this.lineOf(queue).enter(untyped)
    return caller as Ticket<R>
  }

  /** Does what a message does, from inside the process: the head of the line tries. */
  wake(queue: string): void {
    this.lines.get(queue)?.wake()
  }

  /**
   * Hands something to the first in the line of `queue` instead of letting it try: see `WaitRequest.accept`. Not
   * while it tries, and not past it to somebody behind it.
   * @returns whether it was taken
   */
  offer(queue: string, offer: unknown): boolean {
    return this.lines.get(queue)?.offer(offer) ?? false
  }

  /**
   * Lets others, in other processes, come first: nobody in the line of `queue` tries for `ms` milliseconds, whatever
   * wakes it. 0 ends that, and the head tries at once. Without a line it does nothing.
   */
  standBack(queue: string, ms: number): void {
    this.lines.get(queue)?.standBack(ms)
  }

  /** Whether the line of `queue` has its subscription confirmed. */
  isListening(queue: string): boolean {
    return this.lines.get(queue)?.isListening ?? false
  }

  /** Whether anybody stands in the line of `queue`, trying or sleeping. */
  isWaiting(queue: string): boolean {
    return this.lines.has(queue)
  }

  /**
   * Rejects every wait with `reason` and removes all timers, listeners and subscriptions. Resolves when the
   * source has confirmed, at the latest after `resyncIntervalMs`; a source that hangs is unsubscribed when
   * it answers. Attempts in flight are not awaited: what they still bring is given back. Safe twice.
   */
  close(reason: unknown): Promise<void> {
    if (this.closed) return this.closed.done
    // The topics close a moment later: the source may enter or close again in the same turn.
    const done = Promise.resolve().then(() => this.closeTopics())
    this.closed = { reason, done }
    this.stopListening()
    for (const line of this.lines.all) line.evict(reason)
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
    for (const line of this.lines.all) line.lookAgain()
  }

  private closeTopics(): Promise<void> {
    const { clock, resyncIntervalMs } = this.setting
    return new Promise((resolve) => {
      // A source that lost its connection may never answer; close must not hang with it.
      const limit = clock.setTimer(resyncIntervalMs, resolve)
      void this.topics.close().then(() => {
        limit.cancel()
        resolve()
      })
    })
  }
}

function refusedTicket<R>(request: Pick<WaitRequest<unknown, R>, 'rejected'>, reason: unknown): Ticket<R> {
  return { outcome: rejectionOf(request, reason), ahead: 0, leave: () => undefined }
}
