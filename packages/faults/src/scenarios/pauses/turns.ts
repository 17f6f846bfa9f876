import { clearTimeout, setTimeout } from 'node:timers'
import type { Runtime } from '@holdfast/core'
import type { Redis } from 'ioredis'
import { nowMs } from '../../run/shared-clock.js'

/**
 * Says when the library was last called by the event loop. A process may be stopped between that and the user's code
 * which it resumes, and then nobody could have looked in between: what counts is that the library looked when it was
 * called after the pause.
 */
export class Turns {
  /** On the clock of the history; what the loop calls next begins no earlier. */
  latestAt = 0

  #begin(): void {
    this.latestAt = nowMs()
  }

  /** Bytes from Redis. To be called when the connection is ready. */
  watchConnection({ stream }: Redis): void {
    stream.prependListener('data', () => this.#begin())
  }

  /** Before anything else listens to the signal. */
  watchSignal(signal: AbortSignal): AbortSignal {
    signal.addEventListener('abort', () => this.#begin())
    return signal
  }

  /** The system's time; every timer is a turn. */
  get clock(): Pick<Runtime, 'now' | 'wallNow' | 'setTimer'> {
    return {
      now: () => performance.now(),
      wallNow: () => Date.now(),
      setTimer: (delayMs, fire) => {
        const timer = setTimeout(() => {
          this.#begin()
          fire()
        }, delayMs)
        return { cancel: () => clearTimeout(timer) }
      },
    }
  }
}
