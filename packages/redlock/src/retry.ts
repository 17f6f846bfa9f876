import type { Ballot, ExecutionStats } from './ballot.js'
import { random } from './process-clock.js'

/** How often and how fast an operation is tried. */
export interface RetrySettings {
  /** Attempts after the first; -1: without end. */
  readonly retryCount: number
  /** Ms between two attempts. */
  readonly retryDelay: number
  /** Ms by which each pause between two attempts is at most longer or shorter, at random. */
  readonly retryJitter: number
}

export function jittered({ retryDelay, retryJitter }: RetrySettings): number {
  return Math.max(0, retryDelay + Math.floor((random() * 2 - 1) * retryJitter))
}

/** The attempts of one operation. */
export class AttemptLog {
  /** Only the last of endless attempts is kept: the list would grow for as long as the resource is taken. */
  readonly attempts: Promise<ExecutionStats>[] = []
  made = 0
  readonly #most: number

  constructor({ retryCount }: RetrySettings) {
    this.#most = retryCount === -1 ? Infinity : retryCount + 1
  }

  get left(): number {
    return this.#most - this.made
  }

  add(ballot: Ballot): void {
    this.made += 1
    if (this.#most === Infinity) {
      this.attempts.length = 0
    }
    this.attempts.push(ballot.closed)
  }
}
