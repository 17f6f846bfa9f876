import { onAbort } from '@holdfast/waiter'
import type { Clock } from '../system-clock.js'

/** A signal that aborts after some time, or with the caller's own. End it, or its timer and listener stay. */
export class TimeLimit {
  isUp = false
  private readonly controller = new AbortController()
  private readonly timer: { cancel(): void }
  private readonly stopListening: (() => void) | null

  /** @param limitMs from now */
  constructor(clock: Clock, limitMs: number, outer: AbortSignal | undefined) {
    this.timer = clock.setTimer(limitMs, () => {
      this.isUp = true
      this.controller.abort()
    })
    const forward = (): void => this.controller.abort(outer?.reason)
    this.stopListening = outer ? onAbort(outer, forward) : null
    if (outer?.aborted === true) {
      forward()
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  end(): void {
    this.timer.cancel()
    this.stopListening?.()
  }
}
