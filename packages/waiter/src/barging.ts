import type { WaiterClock } from './clock.js'
import { ParkedCaller, type CallerHost } from './parked-caller.js'
import type { Attempt, WaitOutcome, WaitRequest } from './wait-request.js'

/** Callers that do not wait: one attempt each, outside all lines. */
export class Barging implements CallerHost {
  private readonly callers = new Set<ParkedCaller>()

  constructor(readonly clock: WaiterClock) {}

  get size(): number {
    return this.callers.size
  }

  enter(request: WaitRequest<unknown, unknown>, signal: AbortSignal | undefined): ParkedCaller {
    const caller = new ParkedCaller(request, this, 0, signal)
    this.callers.add(caller)
    caller.attempt().then(
      (answer) => this.answered(caller, answer),
      (error: unknown) => {
        if (this.callers.delete(caller)) {
          caller.reject(error)
        }
      },
    )
    return caller
  }

  departed(caller: ParkedCaller): void {
    this.callers.delete(caller)
  }

  /** Never called: the deadline of these callers is the reply to their attempt. */
  outcomeAtDeadline(): WaitOutcome<never> {
    return { kind: 'timeout' }
  }

  evict(reason: unknown): void {
    for (const caller of this.callers) {
      caller.reject(reason)
    }
    this.callers.clear()
  }

  private answered(caller: ParkedCaller, answer: Attempt<unknown>): void {
    const stillHere = this.callers.delete(caller)
    if (!stillHere) {
      if (answer.kind === 'done') {
        caller.undo(answer.value)
      }
    } else if (answer.kind === 'done') {
      caller.settle(answer)
    } else if (answer.kind === 'refused') {
      caller.settle({ kind: 'timeout' })
    } else {
      caller.settle({ kind: 'unavailable', error: answer.error })
    }
  }
}
