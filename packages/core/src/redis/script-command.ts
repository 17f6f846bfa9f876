import type { LockError } from '../errors.js'
import type { InFlight } from './command-deadlines.js'
import { unanswered } from './failures.js'
import type { ScriptCall } from './script-call.js'

/** One run of a script on its way, until it is answered or given up. */
export class ScriptCommand<T = unknown> implements InFlight {
  settled = false
  dueAt = 0
  readonly answer: Promise<T>
  private resolve!: (value: T) => void
  private reject!: (error: unknown) => void

  constructor(
    readonly call: ScriptCall<T>,
    private readonly timeoutMs: number,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  answered(reply: unknown): void {
    this.settled = true
    try {
      this.resolve(this.call.parse(reply))
    } catch (error) {
      this.reject(error)
    }
  }

  failed(error: LockError): void {
    this.settled = true
    this.reject(error)
  }

  expire(): void {
    this.failed(unanswered(this.timeoutMs, this.call))
  }
}
