import type { HistoryEvent } from '@holdfast/faults/harness'
import type { SemaphoreEvent, Span } from '../workload/permit-uses.js'
import { checkPools, checkUse, checkWaits, type PoolAtRest } from '../workload/check-permits.js'
import { countOf, PERMITS, type Plan } from './work/plan.js'
import { usesOf } from './work/synchronizer-steps.js'

/**
 * Each names its invariant.
 * @param handOffMs how long permits that came back may be free while a caller waits that fits
 */
export const checkSynchronizers = (
  { plan, events, pools }: { plan: Plan; events: readonly HistoryEvent[]; pools: readonly PoolAtRest[] },
  handOffMs: number,
): readonly string[] => {
  const uses = usesOf(events)
  const faults = faultsIn(events, 2 * plan.settings.resyncMs)
  return [
    ...checkUse(uses, PERMITS).violations,
    ...checkWaits(uses, faults, handOffMs),
    ...checkPools(uses, pools, { permits: PERMITS, calmWires: false }).violations,
    ...checkLatches(plan, events as unknown as readonly SemaphoreEvent[], faults),
  ]
}

/** Each lasts until what was lost in it has been found. */
const faultsIn = (events: readonly HistoryEvent[], afterMs: number): Span[] => {
  const begun = new Map<string, number>()
  const spans: Span[] = []
  for (const event of events) {
    if (event.kind === 'fault') begun.set(event.name, event.atMs)
    else if (event.kind === 'healed') {
      spans.push({ fromMs: begun.get(event.name) ?? event.atMs, toMs: event.atMs + afterMs })
    }
  }
  return spans
}

const CALM_MS = 1_000

/** Nobody passes before all have counted, and nobody waits for longer than a moment after. */
const checkLatches = (plan: Plan, events: readonly SemaphoreEvent[], faults: readonly Span[]): string[] =>
  plan.locks
    .filter((lock) => lock.startsWith('latch'))
    .flatMap((latch) => {
      const violations: string[] = []
      const count = countOf(plan, latch)
      let [begun, counted, openedMs] = [0, 0, Infinity]
      for (const event of events) {
        if (!('latch' in event) || event.latch !== latch) continue
        if (event.kind === 'count') begun += 1
        if (event.kind === 'counted') {
          counted += 1
          if (counted === count) openedMs = event.atMs
        }
        if (event.kind === 'passed' && begun < count) {
          violations.push(
            `I1 ${latch}: passed at ${event.atMs.toFixed(1)}, when ${begun} of ${count} had counted`,
          )
        }
        const { atMs } = event
        const isCalm = !faults.some(({ fromMs, toMs }) => fromMs <= atMs && toMs + CALM_MS >= openedMs)
        if (event.kind === 'closed' && atMs > openedMs + CALM_MS && isCalm) {
          violations.push(
            `I4 ${latch}: closed at ${atMs.toFixed(1)}, though it was open since ${openedMs.toFixed(1)}`,
          )
        }
      }
      return violations
    })
