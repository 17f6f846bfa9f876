import type { HistoryEvent } from '@holdfast/faults/harness'
import { KEPT } from './keeper.js'

/** How long a transaction that is over still explains a call: what it left undone is done again after a second. */
const REPAIR_MS = 1_500

interface Transaction {
  readonly beginMs: number
  readonly endMs: number
}

/** When each process had a transaction open. */
const transactionsIn = (events: readonly HistoryEvent[]): Map<string, Transaction[]> => {
  const all = new Map<string, Transaction[]>()
  const open = new Map<string, { process: string; beginMs: number }>()
  for (const event of events) {
    if (event.kind === 'fault' && event.target !== undefined)
      open.set(event.name, { process: event.target, beginMs: event.atMs })
    const begun = event.kind === 'healed' ? open.get(event.name) : undefined
    if (!begun) continue
    const of = all.get(begun.process) ?? []
    all.set(begun.process, [...of, { beginMs: begun.beginMs, endMs: event.atMs }])
  }
  return all
}

/**
 * An outcome is unknown only where a transaction made it so, and a hold is lost only to one that took longer than a
 * third of a lease: a renewal that was queued is sent again when the next one is due.
 */
export const checkExplained = (events: readonly HistoryEvent[], leaseMs: number): string[] => {
  const transactions = transactionsIn(events)
  const begun = new Map<string | number, number>()
  return events.flatMap((event) => {
    const { atMs, process } = event
    const of = transactions.get(process) ?? []
    const explains = (sinceMs: number, leastMs: number): boolean =>
      of.some(({ beginMs, endMs }) => beginMs <= atMs && endMs >= sinceMs && endMs - beginMs >= leastMs)
    if (event.kind === 'acquire-begin') begun.set(event.attempt, atMs)
    if (event.kind === 'failed' && !explains((begun.get(event.attempt) ?? atMs) - REPAIR_MS, 0))
      return [`I2 ${event.lock}: ${process} was told ${event.code} without a transaction`]
    if (event.kind === 'lost' && event.lock.startsWith(KEPT) && !explains(atMs - leaseMs, leaseMs / 3))
      return [
        `I1 ${event.lock}: ${process} lost it (${event.reason}) without a transaction of a third of a lease`,
      ]
    return []
  })
}
