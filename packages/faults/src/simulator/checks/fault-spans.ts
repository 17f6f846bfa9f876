import type { HistoryEvent } from '@holdfast/faults/harness'
import type { Settings } from '../work/plan.js'

/** First word of the name, in a history, of what a loss of data left behind. */
export const LEFT_BEHIND = 'what'

/** How long that lasts: a lock stays taken until its lease ends, a waiter queued for two heartbeats. */
export const leftBehindForMs = ({ leaseMs, resyncMs }: Settings): number => leaseMs + 2 * resyncMs

/** A fault of a world, from its begin until it was over. */
export interface FaultSpan {
  /** A name of `FAULT_NAMES`, or `LEFT_BEHIND`. */
  readonly kind: string
  readonly lock: string | undefined
  /** The process that it struck, if it was one. */
  readonly target: string | undefined
  /** Which key vanished. */
  readonly part: string | undefined
  readonly isLoss: boolean
  readonly fromMs: number
  /** Infinity: it never was. */
  toMs: number
  /** Whether a forced release took the lock from somebody. */
  took: boolean
}

/** Events of a simulated world besides those of the torture. */
interface Told {
  readonly part?: string
  readonly took?: boolean
}

/** The name in `FAULT_NAMES` of a fault's name in a history. */
export const faultKindOf = (name: string): string => name.split(' ')[0] ?? ''

export const faultSpansIn = (events: readonly HistoryEvent[]): FaultSpan[] => {
  const spans = new Map<string, FaultSpan>()
  for (const event of events) {
    if (event.kind === 'fault') {
      const { name, lock, target, atMs } = event
      const kind = faultKindOf(name)
      const { part } = event as Told
      const isLoss = event.class === 'data-loss' || event.class === 'lock-loss'
      spans.set(name, { kind, lock, target, part, isLoss, fromMs: atMs, toMs: Infinity, took: false })
    } else if (event.kind === 'healed') {
      const span = spans.get(event.name)
      if (span) {
        span.toMs = event.atMs
        span.took = (event as Told).took === true
      }
    }
  }
  return [...spans.values()]
}
