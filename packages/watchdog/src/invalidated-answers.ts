/** How long a grant requested before a doubt may still arrive, ms: no store takes longer to reply. */
const REMEMBERED_MS = 60_000

interface Invalidation<L> {
  readonly at: number
  readonly isDoubted: (lease: L) => boolean
}

/**
 * Recent doubts: a grant requested before a doubt is as doubtful as a lease watched at that time. All of them are
 * kept, not only the last: each concerns leases of its own, and they may arrive out of order.
 */
export class InvalidatedAnswers<L> {
  private doubts: Invalidation<L>[] = []
  private latestAt = -Infinity

  add(doubt: Invalidation<L>, now: number): void {
    this.doubts = this.doubts.filter(({ at }) => at > now - REMEMBERED_MS)
    this.doubts.push(doubt)
    this.latestAt = Math.max(this.latestAt, doubt.at)
  }

  /** The time from which a request proves something about the lease, for a request that was sent at `sentAt`. */
  provenFrom(lease: L, sentAt: number): number {
    if (sentAt >= this.latestAt) {
      return -Infinity
    }
    return this.doubts.reduce(
      (from, { at, isDoubted }) => (at > from && isDoubted(lease) ? at : from),
      -Infinity,
    )
  }
}
