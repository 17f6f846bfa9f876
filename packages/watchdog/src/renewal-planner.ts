import { batches, topUp } from './batches.js'
import type { RenewableLease } from './renewable-lease.js'
import type { Schedule } from './schedule.js'
import { spread } from './spread.js'
import type { TrackedWatch } from './tracked-watch.js'

/**
 * A renewal may be early by this fraction of the interval, to share a call with one that is due, or to be planned
 * with it.
 */
const EARLY_PART = 10

interface RenewalPlannerOptions<L> {
  readonly batchSize: number
  /** Maximum number of renewals planned for one moment. */
  readonly portionSize: number
  readonly keyOf: (lease: L) => unknown
}

/**
 * Decides which renewals are sent now, in which chunks, and spreads those that come due together.
 *
 * Each renewal is planned half an interval before its last moment, together with those due around the same time:
 * otherwise locks acquired in one burst would be renewed in one burst for ever. Most leases end before that and are
 * never planned. No renewal is ever later than without a plan, so trust is unaffected (I3).
 */
export class RenewalPlanner<L extends RenewableLease> {
  private readonly schedule: Schedule<TrackedWatch<L>>
  private readonly batchSize: number
  private readonly portionSize: number
  private readonly keyOf: (watch: TrackedWatch<L>) => unknown

  constructor(
    schedule: Schedule<TrackedWatch<L>>,
    { batchSize, portionSize, keyOf }: RenewalPlannerOptions<L>,
  ) {
    this.schedule = schedule
    this.batchSize = batchSize
    this.portionSize = portionSize
    this.keyOf = ({ lease }) => keyOf(lease)
  }

  /**
   * The renewals that are due, with their chunks filled up with those due soon; each lease decides by its own
   * interval. In order of acquisition: a store that created leases one after the other has them side by side in
   * memory.
   */
  due(now: number): TrackedWatch<L>[][] {
    const due = this.schedule
      .until(now)
      .filter((watch) => watch.renewalDueBy(now))
      .sort((a, b) => a.ordinal - b.ordinal)
    const chunks = this.chunks(due)
    if (chunks.every((chunk) => chunk.length === this.batchSize)) {
      return chunks
    }
    const soon = this.near(due, now)
      .filter((watch) => !watch.renewalDueBy(now) && watch.renewalDueBy(now + watch.intervalMs / EARLY_PART))
      .sort((a, b) => a.renewAt - b.renewAt)
    topUp(chunks, soon, this.batchSize, this.keyOf)
    return chunks
  }

  /** Plans the renewals that are half an interval away. */
  plan(now: number): void {
    const unplanned = this.schedule.until(now).filter((watch) => watch.planDueBy(now))
    if (unplanned.length === 0) {
      return
    }
    const together = this.near(unplanned, now).filter((watch) =>
      watch.planDueBy(now + watch.intervalMs / EARLY_PART),
    )
    spread(together, {
      now,
      portionSize: this.portionSize,
      portionsInAll: Math.ceil(this.schedule.size / this.portionSize),
      keyOf: this.keyOf,
    })
  }

  chunks(watches: readonly TrackedWatch<L>[]): TrackedWatch<L>[][] {
    return batches(watches, this.batchSize, this.keyOf)
  }

  private near(watches: readonly TrackedWatch<L>[], now: number): TrackedWatch<L>[] {
    const widestMs = watches.reduce((widest, watch) => Math.max(widest, watch.intervalMs), 0)
    return this.schedule.until(now + widestMs / EARLY_PART)
  }
}
