import { longestDelayMs, type Timer, type WaiterClock } from './clock.js'

/** Calls back once `at` has passed on the clock, regardless of how long or imprecise the timers are. */
export class Deadline {
  private timer: Timer

  constructor(
    private readonly clock: WaiterClock,
    readonly at: number,
    private readonly onPassed: () => void,
  ) {
    this.timer = this.arm()
  }

  get passed(): boolean {
    return this.clock.now() >= this.at
  }

  cancel(): void {
    this.timer.cancel()
  }

  private arm(): Timer {
    const remainingMs = Math.max(this.at - this.clock.now(), 1)
    return this.clock.setTimer(Math.min(remainingMs, longestDelayMs), () => {
      // A long wait needs several timers, and a real timer may fire a fraction of a millisecond early.
      if (this.passed) {
        this.onPassed()
      } else {
        this.timer = this.arm()
      }
    })
  }
}
