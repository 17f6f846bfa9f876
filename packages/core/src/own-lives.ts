import { trustedUntil } from '@holdfast/watchdog'
import type { PushedGrant } from './contention.js'
import { isWellTrusted } from './lease-of-hold.js'

interface Life {
  /** Ms of Redis. */
  readonly until: number
  /** When the request was sent that began it, monotonic ms. */
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
export class OwnLives {
  private readonly known: Life[] = []

  /** @param aliveForMs how long each of them lasts */
  constructor(private readonly aliveForMs: number) {}

  /** @param until 0: no life was prolonged */
  add(until: number, sentAt: number): void {
    const { known, aliveForMs } = this
    if (until === 0) {
      return
    }
    const latest = known.at(-1)
    if (latest && until < latest.until - aliveForMs) {
      // Redis's clock was set back: what it said before means nothing now.
      known.length = 0
    }
    known.push({ until, sentAt })
    if (known.length > MOST_KEPT) {
      known.shift()
    }
  }

  /** What is known of a lock that a waiter was given until then; undefined: too little, ask Redis. */
  grantUntil(until: number, now: number): PushedGrant | undefined {
    const { aliveForMs: ttlMs } = this
    const sentAt = this.known.findLast((life) => life.until <= until)?.sentAt
    return sentAt !== undefined && isWellTrusted(trustedUntil(sentAt, ttlMs) - now, ttlMs)
      ? { kind: 'granted', sentAt, ttlMs }
      : undefined
  }
}
