import type { Runtime } from '@holdfast/core'

/** Timers of the board: none of them keeps the process alive. */
export interface BoardClock {
  /** Calls `work` every so many ms. @returns what ends it */
  every(ms: number, work: () => void): () => void
}

export function boardClock(runtime: Runtime): BoardClock {
  return {
    every: (ms, work) => {
      let timer = runtime.setTimer(ms, fire)
      function fire(): void {
        timer = runtime.setTimer(ms, fire)
        work()
      }
      return () => timer.cancel()
    },
  }
}
