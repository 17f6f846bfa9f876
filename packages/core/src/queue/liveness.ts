import { trustedUntil } from '@holdfast/watchdog'
import { isWellTrusted } from '../entry/lease.js'
import type { LivenessWindow } from '../scripts/fair-lock.js'

interface KnownWindow {
  /** Ms of Redis. */
  readonly until: number
  /** When a request would have been sent that began it, as late as that, monotonic ms. */
  readonly sentAt: number
}

// Each is a sixteenth longer than the one before it, or more, and worth nothing when it is over.
const MOST_KEPT = 16

/**
 * For how long Redis takes this client for alive, in one line, as its answers told. What is given to a waiter lasts as
 * long as such a life. So whoever hears that it was given something until U knows, by its own clock, how long that
 * lasts at least: as long as the latest life it knows of that ends no later than U. The message may be as late as it
 * likes, and it does not matter whether the answer to a later request is still on its way.
 */
export class LivenessWindows {
  private readonly known: KnownWindow[] = []

  /** @param aliveForMs how long each of them lasts */
  constructor(private readonly aliveForMs: number) {}

  /** @param askedAt when the request was sent whose answer told of it: what was left then was left later, monotonic ms */
  add({ until, leftMs }: Pick<LivenessWindow, 'until' | 'leftMs'>, askedAt: number): void {
    const { known, aliveForMs } = this
    const latest = known.at(-1)
    if (latest && until < latest.until - aliveForMs) {
      // Redis's clock was set back: what it said before means nothing now.
      known.length = 0
    } else if (latest?.until === until) {
      return
    }
    known.push({ until, sentAt: askedAt + leftMs - aliveForMs })
    if (known.length > MOST_KEPT) {
      known.shift()
    }
  }

  /** What is known of a lock that a waiter was given until then; undefined: too little, ask Redis. */
  windowUntil(until: number, now: number): { readonly sentAt: number; readonly ttlMs: number } | undefined {
    const { aliveForMs: ttlMs } = this
    const sentAt = this.known.findLast((life) => life.until <= until)?.sentAt
    return sentAt !== undefined && isWellTrusted(trustedUntil(sentAt, ttlMs) - now, ttlMs)
      ? { sentAt, ttlMs }
      : undefined
  }
}
