/** The waiter's clock: monotonic, in milliseconds. A wall clock can step, which would end waits. */
export interface WaiterClock {
  /** Milliseconds since an arbitrary point; never goes back. */
  now(): number
  /** Calls `fire` once after `delayMs` milliseconds (at most 2^31 - 1), unless cancelled before. */
  setTimer(delayMs: number, fire: () => void): Timer
  /** Runs `work` as a microtask. Default: a promise reaction. Given so that a simulator can decide the order. */
  microtask?(work: () => void): void
}

export interface Timer {
  cancel(): void
}

/** Runs `work` as a microtask. */
export function asMicrotask(clock: WaiterClock, work: () => void): void {
  if (clock.microtask) {
    clock.microtask(work)
  } else {
    void Promise.resolve().then(work)
  }
}

/** Node fires a timer with a longer delay after 1 ms. */
export const longestDelayMs = 2 ** 31 - 1
