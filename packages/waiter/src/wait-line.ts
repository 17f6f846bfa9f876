/*
 * One line: the callers of one queue. Only the head tries; the others cost a list entry and a promise.
 *
 *    enter() ──► [tail] ──► [ 2nd ] ──► [head] ──► done | timeout | unavailable | left | rejected
 *
 *    the head:   TRYING ◄───────────── any wake ────────────── SLEEPING
 *                  │                                              ▲
 *                  ├─ refused ──────► woken since it was sent?    │
 *                  │                  yes: TRYING   no: subscribe ┤
 *                  ├─ unavailable ──► likewise, with no subscribe ┤  its pauses grow and have jitter
 *                  └─ done ─────────► the next becomes head;      │
 *                                     woken? as after a refusal ──┘
 *
 *    a wake:   message on the topic | topic confirmed | resubscribed | wake(queue) | end of the pause
 *    a pause:  retryAfterMs of the last answer, at most resyncIntervalMs
 *
 * Races, and what holds:
 * - A message between the refusal and the subscription reaches nobody (I4). So the confirmation of the
 *   subscription counts as a wake.
 * - A message while an attempt is in flight may be about a state the attempt did not see (I4). So wakes
 *   are counted, and a refusal is only believed if none came since its attempt was sent.
 * - A head that leaves may have been the one a message was meant for. So its successor tries at once and
 *   does not wait for the attempt left in flight; what that attempt still brings is given back (I8).
 * - A success takes what was there to take. So the successor sleeps instead of collecting a refusal.
 */
import { Availability } from './availability.js'
import type { Timer } from './clock.js'
import { CallerList } from './caller-list.js'
import type { LineSetting } from './line-setting.js'
import { LineSubscription } from './line-subscription.js'
import { ParkedCaller, type Place } from './parked-caller.js'
import { pauseAfterFailure, pauseAfterRefusal } from './retry-pause.js'
import type { Attempt, WaitOutcome, WaitRequest } from './wait-request.js'

/** An attempt in flight. Its caller may be gone by the time it is answered. */
interface Flight {
  readonly caller: ParkedCaller
  readonly wakes: number
  readonly sentAt: number
}

export class WaitLine implements Place {
  private readonly callers = new CallerList()
  private readonly availability: Availability
  private flight: Flight | undefined = undefined
  private pause: Timer | undefined = undefined
  private wakes = 0
  /** Callers past their deadline wait for the first answer only. */
  private someOverdue = false
  private subscription: LineSubscription | undefined = undefined

  constructor(
    private readonly queue: string,
    private readonly setting: LineSetting,
  ) {
    this.availability = new Availability(setting.clock, setting.unavailableTimeoutMs, () => this.giveUp())
  }

  get length(): number {
    return this.callers.length
  }

  enter(request: WaitRequest<unknown>): ParkedCaller {
    const caller = new ParkedCaller(request, this, this.setting.clock)
    this.callers.append(caller)
    if (this.callers.head === caller) {
      this.tryNow()
    } else {
      if (this.availability.unavailableTooLong) this.giveUp()
      caller.park()
    }
    return caller
  }

  wake(): void {
    this.wakes += 1
    if (!this.flight) this.tryNow()
  }

  /** Ends every wait with `reason`. */
  evict(reason: unknown): void {
    this.callers.forEach((caller) => {
      caller.reject(reason)
      this.departed(caller)
    })
  }

  departed(caller: ParkedCaller): void {
    const wasHead = caller === this.callers.head
    this.callers.remove(caller)
    if (!this.callers.head) this.dissolve()
    else if (wasHead) this.tryNext()
  }

  outcomeAtDeadline(): WaitOutcome<never> | undefined {
    const outcome = this.availability.outcomeAtDeadline()
    this.someOverdue ||= !outcome
    return outcome
  }

  /**
   * Not before the current turn is over: one signal may be about to take the whole line away, and every
   * successor would send an attempt for nothing first.
   */
  private tryNext(): void {
    this.flight = undefined
    this.stopPause()
    queueMicrotask(() => {
      if (!this.flight) this.tryNow()
    })
  }

  private tryNow(): void {
    this.stopPause()
    const caller = this.callers.head
    if (!caller || caller.expireIfDue()) return
    const flight = { caller, wakes: this.wakes, sentAt: this.setting.clock.now() }
    // Before the attempt: it may abort, leave or enter in the same turn.
    this.flight = flight
    caller.attempt().then(
      (answer) => this.answered(flight, answer),
      (error: unknown) => this.failed(flight, error),
    )
  }

  private answered(flight: Flight, answer: Attempt<unknown>): void {
    this.takeNote(flight, answer)
    if (flight !== this.flight) {
      if (answer.kind === 'done') flight.caller.giveBack(answer.value)
      return
    }
    this.flight = undefined
    const woken = flight.wakes !== this.wakes
    if (answer.kind === 'done') this.succeed(flight.caller, answer.value)
    if (this.someOverdue) this.callers.forEach((caller) => void caller.expireIfDue())
    if (!this.callers.head) this.dissolve()
    else if (!woken) this.sleep(answer)
    else if (answer.kind === 'done') this.tryNext()
    else this.tryNow()
  }

  private failed(flight: Flight, error: unknown): void {
    if (flight !== this.flight) return
    flight.caller.reject(error)
    this.departed(flight.caller)
  }

  private succeed(caller: ParkedCaller, value: unknown): void {
    this.callers.remove(caller)
    caller.settle({ kind: 'done', value })
  }

  private sleep(answer: Attempt<unknown>): void {
    const { clock, random, resyncIntervalMs } = this.setting
    const pauseMs =
      answer.kind === 'unavailable'
        ? pauseAfterFailure(this.availability.failures, resyncIntervalMs, random())
        : pauseAfterRefusal(answer.retryAfterMs, resyncIntervalMs)
    // Before what follows: a source may call back, and foreign code may leave, in the same turn.
    this.pause = clock.setTimer(pauseMs, () => this.tryNow())
    const head = this.callers.head
    if (answer.kind !== 'unavailable') this.subscribe(head?.topic)
    head?.park()
  }

  private subscribe(topic: string | undefined): void {
    if (topic === undefined) return
    this.subscription ??= new LineSubscription(this.setting.topics, () => this.wake())
    this.subscription.follow(topic)
  }

  private stopPause(): void {
    this.pause?.cancel()
    this.pause = undefined
  }

  private takeNote(flight: Flight, answer: Attempt<unknown>): void {
    // A late answer to a line that is gone: an outage noted there would start a timer nobody cancels.
    if (!this.callers.head) return
    if (answer.kind === 'unavailable') this.availability.unanswered(flight.sentAt, answer.error)
    else this.availability.answered()
  }

  /** Nobody has answered for too long: ends the waits that have no deadline of their own. */
  private giveUp(): void {
    const { error } = this.availability
    this.callers.forEach((caller) => {
      if (caller.hasDeadline) return
      caller.settle({ kind: 'unavailable', error })
      this.departed(caller)
    })
  }

  private dissolve(): void {
    this.flight = undefined
    this.stopPause()
    this.availability.forgetOutage()
    this.subscription?.drop()
    this.setting.onEmpty(this.queue)
  }
}
