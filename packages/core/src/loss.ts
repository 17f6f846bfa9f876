import type { LockLostError } from './errors.js'

/** Whether and why an acquisition was lost, and the signal that says so. */
export class Loss {
  error: LockLostError | null = null
  private controller: AbortController | null = null

  /** Whether anybody would hear of it through the signal. */
  get isObserved(): boolean {
    return this.controller !== null
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
  }

  throwIfSet(): void {
    if (this.error) {
      throw this.error
    }
  }
}
