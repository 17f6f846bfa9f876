import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, type Lock } from '@holdfast/core'
import type { History } from '../../run/history-file.js'
import { Attempt, release, type Held } from '../../workload/attempt.js'

const WAIT_MS = 2_500

export const KEPT = 'kept:'

/** Holds a lock that nobody else wants, for as long as it lasts, and takes it again when it was lost. */
export class Keeper {
  readonly #lock: Lock
  readonly #history: History
  readonly #over = new AbortController()
  readonly #running: Promise<void>

  constructor(lock: Lock, history: History) {
    this.#lock = lock
    this.#history = history
    this.#running = this.#run()
    // Told by `finish`.
    this.#running.catch(() => undefined)
  }

  finish(): Promise<void> {
    this.#over.abort()
    return this.#running
  }

  async #run(): Promise<void> {
    const { name } = this.#lock
    for (let i = 0; !this.#over.signal.aborted; i += 1) {
      const attempt = new Attempt(this.#history, { lock: name, attempt: `${name}#${i}`, deadlineMs: WAIT_MS })
      try {
        await this.#keep(attempt.acquired(await this.#lock.acquire({ waitMs: WAIT_MS })))
      } catch (error) {
        attempt.endedBy(error)
        await sleep(WAIT_MS / 10)
      }
    }
  }

  async #keep(held: Held): Promise<void> {
    const { signal } = held.hold
    const both = AbortSignal.any([signal, this.#over.signal])
    if (!both.aborted) await once(both, 'abort')
    try {
      await release(this.#history, held)
    } catch (error) {
      if (!(error instanceof LockError)) throw error
    }
  }
}
