import { AsyncResource } from 'node:async_hooks'

/** Where time comes from. Inject another one in tests. All in ms. */
export interface Clock {
  /** Monotonic. */
  now(): number
  /** The wall clock; only used to notice that the machine was suspended. */
  wallNow(): number
  setTimer(delayMs: number, fire: () => void): { cancel(): void }
}

// Timers made inside a user's async context would keep that request's stores alive, and run in its name.
const outside = new AsyncResource('holdfast')

class SystemTimer {
  private readonly timeout: NodeJS.Timeout

  constructor(delayMs: number, fire: () => void, background: boolean) {
    this.timeout = outside.runInAsyncScope(() => setTimeout(fire, delayMs))
    if (background) {
      this.timeout.unref()
    }
  }

  cancel(): void {
    clearTimeout(this.timeout)
  }
}

function clock(background: boolean): Clock {
  return {
    now: () => performance.now(),
    wallNow: () => Date.now(),
    setTimer: (delayMs, fire) => new SystemTimer(delayMs, fire, background),
  }
}

/** Its timers keep the process alive: somebody awaits what they end. */
export const systemClock: Clock = clock(false)

/** Its timers do not: a process with nothing else to do may end. */
export const backgroundClock: Clock = clock(true)

/** Runs when what is to be done now is done: once for all that happens in one turn of the event loop. */
export function afterThisTick(work: () => void): void {
  outside.runInAsyncScope(() => setImmediate(work))
}

export const systemRandom = (): number => Math.random()

/**
 * A timer that lets answers be read first which have arrived by then: after a pause of this process timers fire before
 * its connections are read, and every node would look as if it hung.
 */
export function afterAnswers(clock: Clock, delayMs: number, fire: () => void): { cancel(): void } {
  let immediate: NodeJS.Immediate | undefined
  const timer = clock.setTimer(delayMs, () => (immediate = setImmediate(fire)))
  return {
    cancel: () => {
      timer.cancel()
      clearImmediate(immediate)
    },
  }
}
