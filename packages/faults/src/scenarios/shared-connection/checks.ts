import type { HistoryEvent } from '@holdfast/faults/harness'
import { KEPT } from './keeper.js'

/** How long a transaction that is over still explains a call: what it left undone is done again after a second. */
const REPAIR_MS = 1_500

/** One attempt that is not answered for so long has a slow machine. */
const LATE_MS = 200

type AcquireBegin = Extract<HistoryEvent, { kind: 'acquire-begin' }>

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
 * A call ends early without an answer only where a transaction made it so; a late one had a slow machine. A hold is lost
 * to a transaction that took longer than a third of a lease, or to several: a renewal that was queued is sent again when
 * the next one is due, and may be queued again then.
 */
export const checkExplained = (events: readonly HistoryEvent[], leaseMs: number): string[] => {
  const transactions = transactionsIn(events)
  const begun = new Map<string | number, AcquireBegin>()
  return events.flatMap((event) => {
    const { atMs, process } = event
    const since = (ms: number): Transaction[] =>
      (transactions.get(process) ?? []).filter(({ beginMs, endMs }) => beginMs <= atMs && endMs >= ms)
    if (event.kind === 'acquire-begin') begun.set(event.attempt, event)
    const begin = event.kind === 'failed' ? begun.get(event.attempt) : undefined
    if (event.kind === 'failed' && begin) {
      // QUEUED is answered at once; what waited to its end had no answer in time.
      const isLate = atMs - begin.atMs >= Math.max(begin.deadlineMs ?? 0, LATE_MS)
      if (!isLate && since(begin.atMs - REPAIR_MS).length === 0)
        return [`I2 ${event.lock}: ${process} was told ${event.code} without a transaction`]
    }
    if (event.kind === 'lost' && event.lock.startsWith(KEPT)) {
      const [first, ...others] = since(atMs - leaseMs)
      const isExplained = first && (others.length > 0 || first.endMs - first.beginMs >= leaseMs / 3)
      if (!isExplained)
        return [
          `I1 ${event.lock}: ${process} lost it (${event.reason}) without a transaction of a third of a lease`,
        ]
    }
    return []
  })
}
