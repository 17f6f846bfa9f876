/** Time as a watchdog sees it. Injected, so that tests need no waiting and the owner decides about `unref`. */
export interface WatchdogClock {
  /** Monotonic milliseconds. All trust is reckoned with it. */
  now(): number
  /** Wall clock milliseconds, read for one purpose: to notice that the machine was suspended. */
  wallNow(): number
  /** Calls `fire` once, no sooner than `delayMs` from now if the platform can. Never calls it synchronously. */
  setTimer(delayMs: number, fire: () => void): { cancel(): void }
}
