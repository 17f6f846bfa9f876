import type { Watch } from '@holdfast/watchdog'
import type { LeaseEnd, LockLostError } from './errors.js'

/** Whether and why an acquisition was lost, and the signal that says so. */
export class Loss {
  error: LockLostError | null = null
  private controller: AbortController | null = null
  private failed: { readonly error: unknown; readonly at: number } | null = null
  private listeners: Set<() => void> | null = null

  /** Whether anybody would hear of it, through the signal or otherwise. */
  get isObserved(): boolean {
    return this.controller !== null || (this.listeners?.size ?? 0) > 0
  }

  /** Made when it is first asked for: most holds end without anybody looking. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.error) {
        this.controller.abort(this.error)
      }
    }
    return this.controller.signal
  }

  set(error: LockLostError): void {
    this.error = error
    this.controller?.abort(error)
    for (const listener of [...(this.listeners ?? [])]) {
      listener()
    }
  }

  /** For holds of several locks: no AbortSignal of their own for each. Returns the un-listener. */
  onSet(listener: () => void): () => void {
    const listeners = (this.listeners ??= new Set())
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** A renewal had no answer. @param at monotonic ms */
  renewalFailed(error: unknown, at: number): void {
    this.failed = { error, at }
  }

  /** How trust in a lease ran out: what an error tells of it. */
  endOfLease(
    { provenAt, leaseMs }: Pick<Watch, 'provenAt' | 'leaseMs'>,
    now: number,
    renewed: boolean,
  ): { readonly lease: LeaseEnd; readonly cause?: unknown } {
    const lease = { leaseMs, confirmedMsAgo: now - provenAt, renewed }
    // One that failed before another came through is no reason.
    return this.failed && this.failed.at > provenAt ? { lease, cause: this.failed.error } : { lease }
  }

  throwIfSet(): void {
    if (this.error) {
      throw this.error
    }
  }
}
