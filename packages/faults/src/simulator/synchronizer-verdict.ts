import type { HistoryEvent } from '@holdfast/faults/harness'
import { checkLatches, checkPools, checkUse, checkWaits, type PoolAtRest } from '../workload/check-permits.js'
import { usesIn, type SemaphoreEvent } from '../workload/permit-uses.js'
import { faultSpansIn } from './checks/fault-spans.js'
import { countOf, PERMITS, type Plan } from './work/plan.js'

const CALM_MS = 1_000

/**
 * Each names its invariant.
 * @param handOffMs how long permits that came back may be free while a caller waits that fits
 */
export const checkSynchronizers = (
  { plan, events, pools }: { plan: Plan; events: readonly HistoryEvent[]; pools: readonly PoolAtRest[] },
  handOffMs: number,
): readonly string[] => {
  const told = events as unknown as readonly SemaphoreEvent[]
  const uses = usesIn(told)
  // Each lasts until what was lost in it has been found.
  const faults = faultSpansIn(events)
    .filter(({ toMs }) => toMs < Infinity)
    .map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + 2 * plan.settings.resyncMs }))
  const latches = plan.locks
    .filter((lock) => lock.startsWith('latch'))
    .map((latch) => ({ latch, counts: countOf(plan, latch) }))
  return [
    ...checkUse(uses, PERMITS).violations,
    ...checkWaits(uses, faults, handOffMs),
    ...checkPools(uses, pools, { permits: PERMITS, calmWires: false }).violations,
    ...checkLatches(told, latches, faults, CALM_MS).violations,
  ]
}
