import { LockError, type Permit } from '@holdfast/core'
import { nowMs } from '../run/shared-clock.js'
import type { SemaphoreEvent, SemaphoreHistory } from './permit-uses.js'

export interface TakeCall {
  readonly name: string
  readonly use: string
  readonly permits: number
  readonly waitMs: number
}

/** One call for permits, its outcome, and their use, in the history. */
export class Take {
  readonly #history: Pick<SemaphoreHistory, 'add'>
  readonly #now: () => number
  readonly #use: string
  #isTaken = false

  constructor(history: Pick<SemaphoreHistory, 'add'>, call: TakeCall, now = nowMs) {
    this.#history = history
    this.#now = now
    this.#use = call.use
    history.add('take', { ...call })
  }

  /** @param untilMs until when they may be used, if not for ever */
  taken(untilMs?: number): void {
    this.#isTaken = true
    this.#add('taken', { untilMs })
  }

  /** A permit that tells when it is lost. */
  watch(permit: Permit): void {
    this.taken(this.#now() + permit.trustedForMs)
    permit.signal.addEventListener('abort', () => this.#add('lost'))
  }

  /** @returns whether it may still be used */
  trust(permit: Permit, mostMs = Infinity): boolean {
    // First: a process that is stopped between the two says too little, not too much.
    const atMs = this.#now()
    const { trustedForMs } = permit
    if (trustedForMs <= 0) return false
    this.#add('trusted', { atMs, untilMs: atMs + Math.min(trustedForMs, mostMs) })
    return true
  }

  refused(): void {
    this.#add('refused')
  }

  /** Their use is over. Releases them; without an answer that goes on in the background. */
  async release(give: () => Promise<unknown>): Promise<void> {
    this.#add('give')
    try {
      this.#add('given', { outcome: String(await give()) })
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      this.#add('given', { outcome: error.code })
    }
  }

  /** @throws what no call for permits may end with */
  endedBy(error: unknown): void {
    const isTimeout = error instanceof Error && error.name === 'TimeoutError'
    if (!(error instanceof LockError) && !isTimeout) throw error
    // An error after they were taken is no outcome of the attempt to take them.
    if (this.#isTaken) return
    const isRefused = error instanceof LockError && error.code === 'LOCK_TIMEOUT'
    if (isRefused) this.refused()
    else this.#add('failed')
  }

  #add(kind: SemaphoreEvent['kind'], more: Readonly<Record<string, unknown>> = {}): void {
    this.#history.add(kind, { use: this.#use, ...more })
  }
}
