import { afterAnswers, type Runtime } from '../runtime/runtime.js'
import { abortWith } from './abort-with.js'

/** A signal that aborts after some time, or with the caller's own. Must be ended, or its timer and listener stay. */
export class TimeLimit {
  isUp = false
  private readonly controller = new AbortController()
  private readonly timer: { cancel(): void }
  private readonly stopListening: () => void

  /** @param limitMs from now */
  constructor(runtime: Runtime, limitMs: number, outer: AbortSignal | undefined) {
    this.timer = afterAnswers(runtime, limitMs, () => {
      this.isUp = true
      this.controller.abort()
    })
    this.stopListening = abortWith(this.controller, outer ? [outer] : [])
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  end(): void {
    this.timer.cancel()
    this.stopListening()
  }
}
