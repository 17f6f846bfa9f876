/** For so long a grant that was asked for before a doubt may still come: no store takes that long to answer. */
const REMEMBERED_MS = 60_000

interface Invalidation<L> {
  readonly at: number
  readonly isDoubted: (lease: L) => boolean
}

/**
 * What was doubted lately, and when: a grant that was asked for before is as doubtful as what was watched then. Not the
 * last doubt alone: each is about leases of its own, and they are not heard in the order in which they arose.
 */
export class InvalidatedAnswers<L> {
  #doubts: Invalidation<L>[] = []
  #latestAt = -Infinity

  add(doubt: Invalidation<L>, now: number): void {
    this.#doubts = this.#doubts.filter(({ at }) => at > now - REMEMBERED_MS)
    this.#doubts.push(doubt)
    this.#latestAt = Math.max(this.#latestAt, doubt.at)
  }

  /** From when on a request proves something about the lease, as far as one that was sent at `sentAt` is concerned. */
  provenFrom(lease: L, sentAt: number): number {
    if (sentAt >= this.#latestAt) return -Infinity
    return this.#doubts.reduce(
      (from, { at, isDoubted }) => (at > from && isDoubted(lease) ? at : from),
      -Infinity,
    )
  }
}
