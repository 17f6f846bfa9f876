import type { History } from '../run/history-file.js'
import { nowMs } from '../run/shared-clock.js'

const EVERY_MS = 25
// Less than the slack within which two arrivals have no order.
const STANDSTILL_MS = 100

/**
 * Notes in the history when this process stood still, because the machine had no processor for it: a grant that it does
 * not confirm in time goes to the next waiter, and a call that it has noted leaves late. Neither breaks the order of a line.
 */
export class StandstillWatch {
  #lastMs = nowMs()
  readonly #timer: NodeJS.Timeout

  constructor(
    private readonly history: History,
    private readonly processName: string,
  ) {
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const [sinceMs, atMs] = [this.#lastMs, nowMs()]
    this.#lastMs = atMs
    if (atMs - sinceMs < EVERY_MS + STANDSTILL_MS) return
    const name = `${this.processName} stood still`
    this.history.add('fault', { atMs: sinceMs, name, class: 'standstill', target: this.processName })
    this.history.add('healed', { atMs, name })
  }
}
