import { trustedUntil } from '@holdfast/watchdog'
import { isWellTrusted } from '../entry/well-trusted.js'
import type { LivenessWindow } from '../scripts/fair-lock.js'

interface KnownWindow {
  /** Redis time, ms. */
  readonly until: number
  /** The latest time at which the request that began the window can have been sent, monotonic ms. */
  readonly sentAt: number
}

// Each window is at least a sixteenth longer than the one before it, and useless once it is over.
const MOST_KEPT = 16

/**
 * The windows in which Redis counts this client as alive for one queue, as its replies reported them. A grant lasts
 * until the end of such a window. So a waiter whose message says "granted until U" has a lower bound by its own clock: the
 * latest known window that ends no later than U. The bound holds however late the message is, and whether or not the
 * reply to a later request is still on its way.
 */
export class LivenessWindows {
  private readonly known: KnownWindow[] = []

  /** @param aliveForMs the length of each window */
  constructor(private readonly aliveForMs: number) {}

  /** @param askedAt when the request was sent whose reply reported the window, monotonic ms */
  add({ until, leftMs }: Pick<LivenessWindow, 'until' | 'leftMs'>, askedAt: number): void {
    const { known, aliveForMs } = this
    const latest = known.at(-1)
    if (latest && until < latest.until - aliveForMs) {
      // Redis's clock was set back: earlier windows are meaningless.
      known.length = 0
    } else if (latest?.until === until) {
      return
    }
    known.push({ until, sentAt: askedAt + leftMs - aliveForMs })
    if (known.length > MOST_KEPT) {
      known.shift()
    }
  }

  /** The lease of a grant that ends at `until`; undefined: not known well enough, ask Redis. */
  windowUntil(until: number, now: number): { readonly sentAt: number; readonly ttlMs: number } | undefined {
    const { aliveForMs: ttlMs } = this
    const sentAt = this.known.findLast((life) => life.until <= until)?.sentAt
    return sentAt !== undefined && isWellTrusted(trustedUntil(sentAt, ttlMs) - now, ttlMs)
      ? { sentAt, ttlMs }
      : undefined
  }
}
