import type { Clock } from './runtime.js'

/** Resolves when the work has settled or the time is over, whichever is first; the outcome is not passed on. */
export function settleWithin(work: Promise<unknown>, limitMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      timer.cancel()
      resolve()
    }
    const timer = clock.setTimer(limitMs, finish)
    work.then(finish, finish)
  })
}
