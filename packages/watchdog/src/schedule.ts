import type { WatchdogClock } from './clock.js'
import { DeadlineHeap, type HeapEntry } from './deadline-heap.js'

/** Node fires a longer timer at once, so that a very long lease would be a busy loop. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** For when the timer is set, monotonic ms. */
interface Armed {
  readonly at: number
  readonly timer?: { cancel(): void }
}

const NOT_ARMED: Armed = { at: Infinity }

/**
 * The deadlines of all entries behind ONE timer, which is set as rarely as possible: only an entry due before the
 * armed time re-arms it. When the earliest entry is removed, the timer stays and fires in vain, so that tens of
 * thousands of entries per second that come and go set no timer at all.
 */
export class Schedule<E extends HeapEntry> {
  private readonly heap = new DeadlineHeap<E>()
  private armed = NOT_ARMED

  constructor(
    private readonly clock: WatchdogClock,
    private readonly onDue: () => void,
  ) {}

  get size(): number {
    return this.heap.size
  }

  /** Monotonic ms of the earliest deadline; Infinity without entries. */
  get earliest(): number {
    return this.heap.peek()?.deadline ?? Infinity
  }

  add(entry: E): void {
    this.heap.push(entry)
    this.armBy(entry.deadline)
  }

  move(entry: E, deadline: number): void {
    if (deadline === entry.deadline) {
      return
    }
    entry.deadline = deadline
    this.heap.update(entry)
    this.armBy(deadline)
  }

  remove(entry: E): void {
    this.heap.remove(entry)
  }

  /** A copy: the caller may add, move and remove entries during the iteration. */
  until(horizon: number): E[] {
    return this.heap.until(horizon)
  }

  cancelTimer(): void {
    this.armed.timer?.cancel()
    this.armed = NOT_ARMED
  }

  private armBy(at: number): void {
    if (at >= this.armed.at) {
      return
    }
    this.armed.timer?.cancel()
    const delayMs = Math.ceil(Math.max(0, at - this.clock.now()))
    const timer = this.clock.setTimer(Math.min(delayMs, LONGEST_TIMER_MS), () => this.fire())
    this.armed = { at, timer }
  }

  private fire(): void {
    // Suppresses re-arming while due entries move: each of them would set and clear a timer of its own.
    this.armed = { at: -Infinity }
    try {
      this.onDue()
    } finally {
      this.armed = NOT_ARMED
      this.armBy(this.earliest)
    }
  }
}
