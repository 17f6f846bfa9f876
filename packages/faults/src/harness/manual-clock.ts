interface Timer {
  readonly dueMs: number
  readonly fire: () => void
}

// Taken at load, so that a test that fakes Node's timers cannot stop the flush.
const nextTurn = setImmediate

// One turn runs every promise reaction that is pending; code that itself yields a turn needs more than one.
const TURNS_PER_FLUSH = 3

/** A clock that only moves when a test says so. All times and delays are in milliseconds. */
export class ManualClock {
  #nowMs: number
  #wallMs: number
  readonly #timers = new Set<Timer>()

  /** @param startMs what `now()` and `wallNow()` say at first, in ms */
  constructor(startMs = 1_000) {
    this.#nowMs = startMs
    this.#wallMs = startMs
  }

  // The readings are bound, because a clock's methods are handed around as plain functions.

  /** Monotonic time in ms. */
  readonly now = (): number => this.#nowMs

  /** Wall time in ms; differs from `now()` by what `stepWall` added. */
  readonly wallNow = (): number => this.#wallMs

  /** Calls `fire` once `delayMs` have passed, inside an `advance`. A delay below 0 counts as 0. */
  readonly setTimer = (delayMs: number, fire: () => void): { cancel(): void } => {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, delayMs), fire }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  /** How many timers are set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size
  }

  /**
   * Moves both clocks by `ms`. Timers fire at their due time, in order of due time and then of setting;
   * what each sets in motion is finished before the next one, and timers that it sets may fire as well.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    await this.settle()
    for (let timer = this.#nextDue(endMs); timer !== undefined; timer = this.#nextDue(endMs)) {
      this.#moveTo(timer.dueMs)
      this.#timers.delete(timer)
      timer.fire()
      await this.settle()
    }
    this.#moveTo(endMs)
    await this.settle()
  }

  /** Lets pending promise reactions and `setImmediate` callbacks run; no time passes. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS_PER_FLUSH; turn += 1) {
      await new Promise<void>((resolve) => void nextTurn(resolve))
    }
  }

  /** Moves both clocks by `ms` at once, as while code runs or the process is paused: no timer fires. */
  pass(ms: number): void {
    this.#moveTo(this.#nowMs + ms)
  }

  /** Moves the wall clock alone by `ms`, which may be negative: an NTP step, or a machine that slept. */
  stepWall(ms: number): void {
    this.#wallMs += ms
  }

  #nextDue(endMs: number): Timer | undefined {
    let next: Timer | undefined
    // A set keeps the order of insertion, so `<` lets the timer that was set first win a tie.
    for (const timer of this.#timers) {
      if (timer.dueMs <= endMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer
    }
    return next
  }

  #moveTo(ms: number): void {
    // Two overlapping advances must not turn time back.
    const step = Math.max(0, ms - this.#nowMs)
    this.#nowMs += step
    this.#wallMs += step
  }
}
