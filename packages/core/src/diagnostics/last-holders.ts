import { lockHolder, type LockHolder } from '../lock-holder.js'
import type { HoldNote } from '../scripts/lock.js'
import type { Clock } from '../runtime/time.js'

/** What an answer of Redis tells of who has the lock. */
export interface SeenHolder {
  /** '' where nobody has it. */
  readonly holder: string
  readonly holds: number
  readonly ttlMs: number
  readonly owners?: number | undefined
  readonly note?: HoldNote | undefined
}

interface LastRefusal {
  readonly seen: SeenHolder
  /** Since when this client has seen the same holder. */
  readonly since: number
  /** Since when it has the lock, on this client's clock, where that is known. */
  readonly heldSince: number | undefined
  readonly traceparent: string | undefined
}

/** Who refused this client's callers, by lock: only the head of a line asks Redis, its answer serves them all. */
export class LastSeenHolders {
  private readonly byKey = new Map<string, LastRefusal>()

  /** @param longestLeaseMs the longest lease that this client has asked for so far */
  constructor(
    private readonly clock: Clock,
    private longestLeaseMs: number,
  ) {}

  /** Nobody here wonders at a lease that it takes itself. */
  noteLease(leaseMs: number): void {
    this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs)
  }

  note(key: string, seen: SeenHolder): void {
    if (seen.holder === '') {
      return
    }
    const now = this.clock.now()
    const { holder, note } = seen
    const latest = this.byKey.get(key)
    // Not every answer has the note: what an earlier one told of the same hold is as true.
    const before = latest?.seen.holder === holder ? latest : undefined
    this.byKey.set(key, {
      seen,
      since: before?.since ?? now,
      heldSince: note ? now - note.heldForMs : before?.heldSince,
      traceparent: note?.traceparent ?? before?.traceparent,
    })
  }

  /** The lock went to another owner without anybody being refused. */
  passed(key: string, holder: string, traceparent: string | undefined): void {
    const before = this.byKey.get(key)
    if (before) {
      const now = this.clock.now()
      const seen = { holder, holds: 1, ttlMs: before.seen.ttlMs }
      this.byKey.set(key, { seen, since: now, heldSince: now, traceparent })
    }
  }

  holderOf(key: string): LockHolder | undefined {
    const refusal = this.byKey.get(key)
    if (!refusal) {
      return undefined
    }
    const now = this.clock.now()
    const { seen, since, heldSince, traceparent } = refusal
    const { holder: owner, holds, ttlMs: leaseLeftMs, owners = 1 } = seen
    const heldForMs = heldSince === undefined ? undefined : now - heldSince
    const { longestLeaseMs } = this
    const facts = { owner, holds, leaseLeftMs, longestLeaseMs, heldForAtLeastMs: now - since }
    return lockHolder({ ...facts, heldForMs, traceparent, others: owners - 1 })
  }

  /** Whether anybody here was refused it, and waits. */
  isKnown(key: string): boolean {
    return this.byKey.has(key)
  }

  forget(key: string): void {
    this.byKey.delete(key)
  }
}
