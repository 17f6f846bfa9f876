import { lockHolder, type LockHolder } from '../lock-holder.js'
import type { HoldNote } from '../scripts/note.js'
import type { Clock } from '../runtime/runtime.js'

/** The holder as a reply describes it. */
export interface HolderInReply {
  /** '' when the lock is free. */
  readonly holder: string
  readonly holds: number
  readonly ttlMs: number
  readonly owners?: number | undefined
  readonly note?: HoldNote | undefined
  /** It is the text of another library's string. */
  readonly isForeign?: true | undefined
}

interface LastRefusal {
  readonly seen: HolderInReply
  /** Since when this client has seen the same holder. */
  readonly since: number
  /** Since when the holder has held the lock, by this client's clock, if known. */
  readonly heldSince: number | undefined
  readonly traceparent: string | undefined
}

/**
 * The holder seen last, per lock, when this client was refused: only the head of a queue asks Redis, and its reply
 * serves all callers behind it.
 */
export class LastSeenHolders {
  /** The seam looks into it, so that nothing here runs for a lock that nobody waits for. */
  readonly byKey = new Map<string, LastRefusal>()

  /**
   * @param clientId the client that is refused
   * @param longestLeaseMs the longest lease that this client has asked for so far
   */
  constructor(
    private readonly clientId: string,
    private readonly clock: Clock,
    private longestLeaseMs: number,
  ) {}

  /** A lease as long as one that this client has asked for itself is not reported as suspiciously long. */
  noteLease(leaseMs: number): void {
    this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs)
  }

  note(key: string, seen: HolderInReply): void {
    if (seen.holder === '' && !seen.isForeign) {
      return
    }
    const now = this.clock.now()
    const { holder, note } = seen
    const latest = this.byKey.get(key)
    // Not every reply includes the note: an earlier one about the same hold is still valid.
    const isSame = latest?.seen.holder === holder && latest.seen.isForeign === seen.isForeign
    const before = isSame ? latest : undefined
    this.byKey.set(key, {
      seen,
      since: before?.since ?? now,
      heldSince: note ? now - note.heldForMs : before?.heldSince,
      traceparent: note?.traceparent ?? before?.traceparent,
    })
  }

  /** The lock changed owners by being passed on, without a refusal. */
  wentTo(key: string, holder: string, traceparent: string | undefined): void {
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
    const { holder: owner, holds, ttlMs: leaseLeftMs, owners = 1, isForeign } = seen
    const heldForMs = heldSince === undefined ? undefined : now - heldSince
    const { clientId, longestLeaseMs } = this
    const facts = { clientId, owner, holds, leaseLeftMs, longestLeaseMs, heldForAtLeastMs: now - since }
    return lockHolder({ ...facts, heldForMs, traceparent, others: owners - 1, isForeign })
  }

  /** How long this client has seen the same holder, ms; 0: it has not seen it. */
  seenForMs(key: string): number {
    const refusal = this.byKey.get(key)
    return refusal ? this.clock.now() - refusal.since : 0
  }

  forget(key: string): void {
    this.byKey.delete(key)
  }
}
