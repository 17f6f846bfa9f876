import type { Lock } from './lock.js'
import { heldBy } from './held.js'
import { after, wallNow } from './process-clock.js'
import { asError } from './taken.js'

/** Aborts when the lock is lost; `error` says why, as `reason` does. */
export type RedlockAbortSignal = AbortSignal & { error?: Error }

/** The view that a routine has of its lock. */
export interface RedlockUsingContext {
  /** The lock as it was last extended. */
  lock: Lock
  /** How often it was extended. */
  extensions: number
}

/** The routine that `using` runs while the lock is held. */
export type Routine<T> = (signal: RedlockAbortSignal, context: RedlockUsingContext) => Promise<T>

/** All in ms. */
export interface ExtensionTerms {
  readonly duration: number
  /** Remaining time at which the lock is extended. */
  readonly threshold: number
}

// An extension that failed is tried again after this part of the time that is left.
const AGAIN_AFTER = 0.2

/** Runs a routine while a lock is kept, and releases the lock afterwards. */
export async function runUsing<T>(lock: Lock, terms: ExtensionTerms, routine: Routine<T>): Promise<T> {
  const keeper = new LockExtender(lock, terms)
  try {
    return await routine(keeper.signal, keeper.context)
  } finally {
    await keeper.stop()
    await keeper.context.lock.release()
  }
}

/** Extends a lock again and again, and aborts a signal when it is lost. */
class LockExtender {
  readonly context: RedlockUsingContext
  readonly #terms: ExtensionTerms
  readonly #controller = new AbortController()
  readonly #stopListening: () => void
  #cancelTimer: () => void = () => undefined
  #endPause: () => void = () => undefined
  #extension: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(lock: Lock, terms: ExtensionTerms) {
    this.context = { lock, extensions: 0 }
    this.#terms = terms
    this.#stopListening = heldBy(lock)?.onLost((error) => this.#abort(error)) ?? (() => undefined)
    this.#extendLater()
  }

  get signal(): RedlockAbortSignal {
    return this.#controller.signal
  }

  /** Resolves when no extension is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    this.#endPause()
    this.#stopListening()
    await this.#extension
  }

  get #leftMs(): number {
    return this.context.lock.expiration - wallNow()
  }

  #extendLater(): void {
    // A threshold close to the duration would make each extension be followed by the next.
    const delayMs = Math.max(this.#leftMs - this.#terms.threshold, this.#leftMs / 4)
    this.#cancelTimer = after(delayMs, () => {
      this.#extension = this.#extend()
    })
  }

  async #extend(): Promise<void> {
    while (!this.#isStopped && !this.signal.aborted) {
      try {
        this.context.lock = await this.context.lock.extend(this.#terms.duration)
        this.context.extensions += 1
        this.#extendLater()
        return
      } catch (error) {
        const left = this.#leftMs
        if (left <= 0) {
          this.#abort(asError(error))
          return
        }
        await this.#pause(left * AGAIN_AFTER)
      }
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = resolve
      this.#cancelTimer = after(delayMs, resolve)
    })
  }

  #abort(error: Error): void {
    this.#cancelTimer()
    this.#endPause()
    this.signal.error = error
    this.#controller.abort(error)
  }
}
