/** The watchdog's clock. Injected, so that tests need no waiting and the user decides about `unref`. */
export interface WatchdogClock {
  /** Reads the monotonic clock, milliseconds. The basis of all trust. */
  now(): number
  /** Reads the wall clock, milliseconds, only to detect that the machine was suspended. */
  wallNow(): number
  /** Calls `fire` once, no sooner than `delayMs` from now if the platform can. Never calls it synchronously. */
  setTimer(delayMs: number, fire: () => void): { cancel(): void }
}
