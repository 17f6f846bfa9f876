import { batches, topUp } from './batches.js'
import type { RenewableLease } from './renewable-lease.js'
import type { Schedule } from './schedule.js'
import { spread } from './spread.js'
import type { TrackedWatch } from './tracked-watch.js'

/** Part of the interval by which a renewal may come early, to travel with one that is due or to be planned with it. */
const EARLY_PART = 10

interface RenewalPlannerOptions<L> {
  readonly batchSize: number
  /** Most renewals that are planned for one moment. */
  readonly portionSize: number
  readonly keyOf: (lease: L) => unknown
}

/**
 * Which renewals leave now, and in which chunks; and when those leave that come up together.
 *
 * Half an interval before its last moment each renewal is planned, together with those that come up with it: locks
 * that were taken in one burst would be renewed in one burst for ever. Most leases end before that and are never
 * planned. Nothing is ever renewed later than without a plan, so trust rests on the same grounds (I3).
 */
export class RenewalPlanner<L extends RenewableLease> {
  readonly #schedule: Schedule<TrackedWatch<L>>
  readonly #batchSize: number
  readonly #portionSize: number
  readonly #keyOf: (watch: TrackedWatch<L>) => unknown

  constructor(
    schedule: Schedule<TrackedWatch<L>>,
    { batchSize, portionSize, keyOf }: RenewalPlannerOptions<L>,
  ) {
    this.#schedule = schedule
    this.#batchSize = batchSize
    this.#portionSize = portionSize
    this.#keyOf = ({ lease }) => keyOf(lease)
  }

  /**
   * What is due, filled with what is due soon. Every lease decides by its own interval. In the order they were taken: what
   * a store made one after the other lies side by side in its memory.
   */
  due(now: number): TrackedWatch<L>[][] {
    const due = this.#schedule
      .until(now)
      .filter((watch) => watch.renewalDueBy(now))
      .sort((a, b) => a.ordinal - b.ordinal)
    const chunks = this.chunks(due)
    if (chunks.every((chunk) => chunk.length === this.#batchSize)) return chunks
    const soon = this.#near(due, now)
      .filter((watch) => !watch.renewalDueBy(now) && watch.renewalDueBy(now + watch.intervalMs / EARLY_PART))
      .sort((a, b) => a.renewAt - b.renewAt)
    topUp(chunks, soon, this.#batchSize, this.#keyOf)
    return chunks
  }

  /** Decides about the renewals that are half an interval away. */
  plan(now: number): void {
    const unplanned = this.#schedule.until(now).filter((watch) => watch.planDueBy(now))
    if (unplanned.length === 0) return
    const together = this.#near(unplanned, now).filter((watch) =>
      watch.planDueBy(now + watch.intervalMs / EARLY_PART),
    )
    spread(together, {
      now,
      portionSize: this.#portionSize,
      portionsInAll: Math.ceil(this.#schedule.size / this.#portionSize),
      keyOf: this.#keyOf,
    })
  }

  chunks(watches: readonly TrackedWatch<L>[]): TrackedWatch<L>[][] {
    return batches(watches, this.#batchSize, this.#keyOf)
  }

  #near(watches: readonly TrackedWatch<L>[], now: number): TrackedWatch<L>[] {
    const widestMs = watches.reduce((widest, watch) => Math.max(widest, watch.intervalMs), 0)
    return this.#schedule.until(now + widestMs / EARLY_PART)
  }
}
