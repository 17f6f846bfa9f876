/*
 * One line: the callers of one queue. Only the head tries; the others cost a list entry and a promise. If the head
 * shares, adjacent callers that share too try in the same flight.
 *
 *    enter() ──► [tail] ──► [ 2nd ] ──► [head] ──► done | timeout | unavailable | left | rejected
 *
 *    the head:   TRYING ◄───────────── any wake ────────────── SLEEPING
 *                  │                                              ▲
 *                  ├─ refused ──────► woken since it was sent?    │
 *                  │                  yes: TRYING   no: subscribe ┤
 *                  ├─ unavailable ──► likewise, with no subscribe ┤  its pauses grow and have jitter
 *                  └─ done ─────────► the next becomes head;      │
 *                                     woken, and not all taken? ──┘  as after a refusal
 *
 *    passing: an answer may say how much is left. Then the first caller in line that wants no more than that tries,
 *    also past a head that wants more; and so does a caller that enters while what is left is enough for it.
 *
 *    an offer: to a head that sleeps ──► done, without a try; the next becomes head and sleeps
 *
 *    a wake:   message on the topic | topic confirmed | resubscribed | wake(queue) | end of the pause
 *    a pause:  retryAfterMs of the last answer, at most resyncIntervalMs; none for a head without ticks
 *
 * Races, and what holds:
 * - A message between the refusal and the subscription is lost (I4). So the confirmation of the
 *   subscription counts as a wake.
 * - A message during an attempt may be about a state the attempt did not see (I4). So a
 *   refusal is final only if no wake came since its attempt was sent.
 * - A head that leaves may have consumed a message meant for the line. So its successor tries at once and
 *   does not wait for the attempt in flight; whatever that attempt still obtains is released (I8).
 * - An attempt in flight may obtain what is offered, or be refused just before it. So a head that is trying
 *   gets no offers.
 * - A line that stands back may be woken meanwhile, above all by its own message. So a wake does not end it: the
 *   try that it asks for comes after the stand-back.
 * - A success takes what was available. So the successor sleeps instead of collecting a refusal. If both
 *   share, the successor tries.
 * - A success that leaves enough for the successor is a no to nobody. So the overdue wait on for its reply.
 * - Several callers may fit into what is left. So each answer lets the next one try, and the line only sleeps when
 *   what is left is too little for every caller in it. A caller that passes others and leaves before its answer tells
 *   nothing about what is left. So the head tries.
 * - A message may be this process's own, from the release before the attempt. So one that came during an attempt
 *   that took all does not count: a successor that tried because of it could not get an offer meanwhile.
 */
import { Availability } from './availability.js'
import { asMicrotask, type Timer, type WaiterClock } from './clock.js'
import { CallerList } from './caller-list.js'
import type { LineSetting } from './line-setting.js'
import { LineSubscription } from './line-subscription.js'
import { ParkedCaller, type CallerHost } from './parked-caller.js'
import { pauseAfter } from './retry-pause.js'
import type { Attempt, WaitingCallers, WaitOutcome, WaitRequest } from './wait-request.js'

/** The attempts sent together: the head's, or one of each adjacent caller that shares. */
interface Flight {
  readonly sentAt: number
  readonly shared: boolean
  /** At the end of a pause: nobody has woken the line. */
  readonly isTick: boolean
  /** Callers still present whose attempt has no reply. */
  pending: number
  /** The latest reply that was not a success, or else the latest. */
  answer: Attempt<unknown> | undefined
  /** A wake came since they were sent. */
  isWoken: boolean
}

/** Until when others come first, monotonic ms. */
interface StandBack {
  /** The client says so, of the line. */
  readonly line: number
  /** The head said so, at the latest message, or when it entered. */
  readonly head: number
}

const TRIES_AT_ONCE: StandBack = { line: 0, head: 0 }

export class WaitLine implements CallerHost {
  private readonly callers = new CallerList()
  /** See `replies`. */
  private availability: Availability | undefined = undefined
  private flight: Flight | undefined = undefined
  private pause: Timer | undefined = undefined
  private standsBack = TRIES_AT_ONCE
  /** How much the latest answer said is left; undefined: it did not say. Counts while the line sleeps. */
  private left: number | undefined = undefined
  private subscription: LineSubscription | undefined = undefined

  constructor(
    private readonly queue: string,
    private readonly setting: LineSetting,
  ) {}

  get clock(): WaiterClock {
    return this.setting.clock
  }

  get length(): number {
    return this.callers.length
  }

  get waiting(): WaitingCallers {
    return { waiting: this.callers.parkedCount, firstStartedAt: this.callers.head?.request.startedAt }
  }

  get isListening(): boolean {
    return this.subscription?.isConfirmed ?? false
  }

  enter(
    request: WaitRequest<unknown, unknown>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): ParkedCaller {
    const caller = new ParkedCaller(request, this, timeoutMs, signal)
    this.callers.append(caller)
    if (this.callers.head === caller) {
      this.letHeadStandBack(caller, 'entering')
      this.tryNow()
      if (!this.flight) {
        caller.park()
      }
    } else {
      if (this.availability?.unavailableTooLong) {
        this.giveUp()
      }
      if (!this.flight && caller.isHere && fits(caller, this.left)) {
        this.launch(caller)
      } else {
        caller.park()
      }
    }
    return caller
  }

  /** A try may succeed. */
  wake(): void {
    this.callers.head?.woken()
    this.lookAgain()
  }

  /** Messages may have been missed: nobody stands back (I4). */
  lookAgain(): void {
    if (this.standsBack.head > 0) {
      this.standsBack = { ...this.standsBack, head: 0 }
    }
    this.tryAgain()
  }

  /** See `Waiter.reconsider`. */
  reconsider(): void {
    const { head } = this.callers
    if (!head || this.flight || this.standsBack.head === 0 || this.subscription) {
      return
    }
    this.letHeadStandBack(head, 'entering')
    this.tryNow()
  }

  private announced(): void {
    const { head } = this.callers
    head?.woken()
    if (head) {
      this.letHeadStandBack(head, 'message')
    }
    this.tryAgain()
  }

  private letHeadStandBack(caller: ParkedCaller, after: 'message' | 'entering'): void {
    const ms = caller.standsBackMs(after)
    const head = ms > 0 ? this.clock.now() + ms : 0
    if (head !== this.standsBack.head) {
      this.standsBack = { ...this.standsBack, head }
    }
  }

  private tryAgain(): void {
    if (this.flight) {
      this.flight.isWoken = true
    } else {
      this.tryNow()
    }
  }

  /** Offers something to the head. @returns whether the head accepted it */
  offer(offer: unknown): boolean {
    const { head } = this.callers
    if (!head || this.flight || head.expireIfDue()) {
      return false
    }
    const value = head.request.accept?.(offer)
    if (value === undefined) {
      return false
    }
    this.callers.takeOut(head)
    if (this.length === 0) {
      this.dissolve()
    }
    head.settle({ kind: 'done', value })
    return true
  }

  /** Suspends all tries for `ms`; 0: ends that. */
  standBack(ms: number): void {
    this.standsBack = { ...this.standsBack, line: this.clock.now() + ms }
    if (ms === 0 && !this.flight) {
      this.tryNow()
    }
  }

  /** Rejects every wait with `reason`. */
  evict(reason: unknown): void {
    this.callers.forEach((caller) => {
      caller.reject(reason)
      this.departed(caller)
    })
  }

  departed(caller: ParkedCaller): void {
    const wasHead = caller === this.callers.head
    this.callers.remove(caller)
    const { flight } = this
    if (flight && caller.flight === flight) {
      flight.pending -= 1
    }
    caller.flight = undefined
    if (!this.callers.head) {
      this.dissolve()
    } else if (flight && flight.pending > 0) {
      return
    } else if (wasHead) {
      this.tryNext()
    } else if (flight && !flight.answer) {
      this.tryNext()
    } else if (flight) {
      this.conclude(flight)
    }
  }

  outcomeAtDeadline(): WaitOutcome<never> | undefined {
    return this.replies.outcomeAtDeadline()
  }

  /**
   * Deferred to the end of the turn: one signal may be about to abort the whole line, and each successor would first
   * send a useless attempt.
   */
  private tryNext(): void {
    this.flight = undefined
    this.stopPause()
    asMicrotask(this.clock, () => {
      if (!this.flight) {
        this.tryNow()
      }
    })
  }

  /** @param isTick a pause is ending */
  private tryNow(isTick = false): void {
    this.stopPause()
    const head = this.callers.head
    if (!head || head.expireIfDue() || this.isStandingBack()) {
      return
    }
    this.launch(head, isTick, this.callers)
  }

  /** @param front if `first` shares, all at the front of these that share try; null: it tries alone */
  private launch(first: ParkedCaller, isTick = false, front: CallerList | null = null): void {
    this.stopPause()
    const { shared } = first
    const sentAt = this.clock.now()
    const flight: Flight = { sentAt, shared, isTick, isWoken: false, pending: 0, answer: undefined }
    // Before the attempts: each may abort, leave or enter in the same turn.
    this.flight = flight
    if (shared && front) {
      front.sharedFront().forEach((caller) => this.send(caller, flight))
    } else {
      this.send(first, flight)
    }
  }

  private isStandingBack(): boolean {
    const { line, head } = this.standsBack
    const until = Math.max(line, head)
    if (until === 0) {
      return false
    }
    const leftMs = until - this.clock.now()
    if (leftMs > 0) {
      this.pauseFor(leftMs)
    }
    return leftMs > 0
  }

  private send(caller: ParkedCaller, flight: Flight): void {
    if (this.flight !== flight || !caller.isHere) {
      return
    }
    flight.pending += 1
    caller.flight = flight
    caller.attempt().then(
      (answer) => this.answered(caller, flight, answer),
      (error: unknown) => this.failed(caller, flight, error),
    )
  }

  private answered(caller: ParkedCaller, flight: Flight, answer: Attempt<unknown>): void {
    // Before the note: what a success says is for who is left.
    if (answer.kind === 'done' && caller.flight === flight) {
      this.callers.takeOut(caller)
    }
    this.takeNote(flight, answer)
    if (caller.flight !== flight) {
      if (answer.kind === 'done') {
        caller.undo(answer.value)
      }
      return
    }
    caller.flight = undefined
    flight.pending -= 1
    // Among successes, a refusal says more about what is left for the next caller.
    if (answer.kind !== 'done' || !flight.answer) {
      flight.answer = answer
    }
    if (flight.pending === 0) {
      this.conclude(flight)
    }
    // Last: its code may enter again, or end the waits of others.
    if (answer.kind === 'done') {
      caller.settle(answer)
    } else if (caller !== this.callers.head) {
      caller.park()
    }
  }

  private conclude({ answer = { kind: 'refused' }, isWoken, shared, isTick }: Flight): void {
    this.flight = undefined
    const isDone = answer.kind === 'done'
    // A message should have told: it was lost, or none come any more.
    if (isTick && isDone && this.subscription) {
      this.setting.topics.check()
    }
    const isOver = isDone && answer.takesAll === true
    if (this.availability?.someOverdue) {
      this.callers.forEach((caller) => void caller.expireIfDue())
    }
    const { head } = this.callers
    // The thing that a sharing caller has obtained is available to the next that shares.
    const nextMaySucceed = (isWoken && !isOver) || (isDone && shared && head?.shared === true)
    this.left = answer.kind === 'unavailable' ? undefined : answer.left
    if (!head) {
      this.dissolve()
    } else if (nextMaySucceed && isDone) {
      this.tryNext()
    } else if (nextMaySucceed) {
      this.tryNow()
    } else if (!this.tryWhoFits()) {
      this.sleep(answer)
    }
  }

  /** Lets the first caller try that wants no more than what is left. @returns whether there is one */
  private tryWhoFits(): boolean {
    const { left } = this
    // The usual case, a line whose callers want one each: no search.
    if (left === undefined || left <= 0) {
      return false
    }
    const caller = this.callers.find((each) => fits(each, left) && !each.expireIfDue())
    if (caller) {
      this.launch(caller)
    }
    return caller !== undefined
  }

  private failed(caller: ParkedCaller, flight: Flight, error: unknown): void {
    if (caller.flight !== flight) {
      return
    }
    caller.reject(error)
    this.departed(caller)
  }

  private sleep(answer: Attempt<unknown>): void {
    const head = this.callers.head
    // First: a source may call back, and foreign code may leave, in the same turn.
    if (answer.kind === 'unavailable' || (head && head.request.ticks !== false)) {
      this.pauseFor(pauseAfter(answer, this.availability?.outage?.failures ?? 0, this.setting))
    }
    if (answer.kind !== 'unavailable') {
      this.subscribe(head?.request.topic)
    }
    head?.park()
  }

  private subscribe(topic: string | undefined): void {
    if (topic === undefined) {
      return
    }
    this.subscription ??= new LineSubscription(this.setting.topics, {
      onMessage: () => this.announced(),
      onConfirmed: () => this.lookAgain(),
    })
    this.subscription.follow(topic)
  }

  private pauseFor(ms: number): void {
    this.pause = this.clock.setTimer(ms, () => this.tryNow(true))
  }

  private stopPause(): void {
    this.pause?.cancel()
    this.pause = undefined
  }

  private takeNote(flight: Flight, answer: Attempt<unknown>): void {
    const { head } = this.callers
    // A late reply for a dissolved line: an outage recorded here would start a timer that is never cancelled.
    if (!head) {
      return
    }
    if (answer.kind === 'unavailable') {
      this.replies.unanswered(flight.sentAt, answer.error)
    } else {
      const isForNextToo =
        answer.kind === 'done' && ((flight.shared && head.shared) || fits(head, answer.left))
      this.replies.answered(!isForNextToo)
    }
  }

  /** Made for the first reply after which a caller is left: most lines are one caller that succeeds at once. */
  private get replies(): Availability {
    return (this.availability ??= new Availability(this.setting, () => this.giveUp()))
  }

  /** No attempt has got a reply for too long: ends the waits without a deadline. */
  private giveUp(): void {
    this.callers.forEach((caller) => {
      if (caller.hasDeadline) {
        return
      }
      caller.settle({ kind: 'unavailable', error: this.availability?.outage?.error })
      this.departed(caller)
    })
  }

  private dissolve(): void {
    this.flight = undefined
    this.stopPause()
    this.availability?.forgetOutage()
    this.subscription?.drop()
    this.setting.onEmpty(this.queue)
  }
}

function fits({ request: { wants } }: ParkedCaller, left: number | undefined): boolean {
  return wants !== undefined && left !== undefined && wants <= left
}
