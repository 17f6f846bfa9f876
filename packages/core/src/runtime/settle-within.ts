import type { Clock } from './time.js'

/** Resolves when the work has settled or the time is over, whichever is first; what came of it is not told. */
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
