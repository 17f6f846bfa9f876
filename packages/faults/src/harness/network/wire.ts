import { setTimeout as sleep } from 'node:timers/promises'

/** The state of the network between all clients of a proxy and its target. */
export class Wire {
  /** How long a chunk travels in one direction, in ms. */
  delayMs = 0
  #blocked: { readonly over: Promise<void>; readonly open: () => void } | undefined

  block(): void {
    if (this.#blocked !== undefined) return
    let open: () => void = () => undefined
    const over = new Promise<void>((resolve) => (open = resolve))
    this.#blocked = { over, open }
  }

  open(): void {
    const blocked = this.#blocked
    this.#blocked = undefined
    blocked?.open()
  }

  /** Resolves when what was sent at `sentMs` (by `performance.now()`) with `delayMs` to go gets through. */
  async arrival(sentMs: number, delayMs: number): Promise<void> {
    const dueMs = sentMs + delayMs
    // Timers count from when the event loop last looked at the clock, so one of them may fire a little early.
    for (let restMs = dueMs - performance.now(); restMs > 0; restMs = dueMs - performance.now()) {
      await sleep(restMs, undefined, { ref: false })
    }
    // It may be blocked again by the time the wait is over.
    while (this.#blocked !== undefined) await this.#blocked.over
  }
}
