import type { WatchdogClock } from './clock.js'
import { DeadlineHeap, type HeapEntry } from './deadline-heap.js'

/** Node fires a longer timer at once, so that a very long lease would be a busy loop. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * The deadlines of all entries behind ONE timer, which is set as rarely as possible: only an entry due before the
 * armed time re-arms it. When the earliest entry is removed, the timer stays and fires in vain, so that tens of
 * thousands of entries per second that come and go set no timer at all.
 */
export class Schedule<E extends HeapEntry> {
  private readonly clock: WatchdogClock
  private readonly onDue: () => void
  private readonly heap = new DeadlineHeap<E>()
  private timer: { cancel(): void } | undefined
  private armedFor = Infinity

  constructor(clock: WatchdogClock, onDue: () => void) {
    this.clock = clock
    this.onDue = onDue
  }

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
    this.timer?.cancel()
    this.timer = undefined
    this.armedFor = Infinity
  }

  private armBy(deadline: number): void {
    if (deadline >= this.armedFor) {
      return
    }
    this.timer?.cancel()
    this.armedFor = deadline
    const delayMs = Math.ceil(Math.max(0, deadline - this.clock.now()))
    this.timer = this.clock.setTimer(Math.min(delayMs, LONGEST_TIMER_MS), () => this.fire())
  }

  private fire(): void {
    this.timer = undefined
    // Suppresses re-arming while due entries move: each of them would set and clear a timer of its own.
    this.armedFor = -Infinity
    try {
      this.onDue()
    } finally {
      this.armedFor = Infinity
      this.armBy(this.earliest)
    }
  }
}
