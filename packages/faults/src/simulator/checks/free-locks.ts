import type { HistoryEvent } from '@holdfast/faults/harness'
import { callsIn } from '../../workload/calls-in.js'
import type { Span } from '../../workload/permit-uses.js'
import type { Finding } from '../finding.js'
import type { FreeSpan } from '../work/free-locks.js'
import { faultSpansIn, type FaultSpan } from './fault-spans.js'

interface Limits {
  /** How long a lock may be free while somebody waits for it. */
  readonly limitMs: number
  /** How long a fault that is over still explains that. */
  readonly healsIn: (fault: FaultSpan, lock: string) => number
}

/**
 * I4, seen from above: no lock is free for long while callers wait for it, also if it was not released: its lease has
 * ended, or its holder has died. It need not be the same caller all the time.
 */
export const checkFreeLocks = (
  events: readonly HistoryEvent[],
  free: readonly FreeSpan[],
  { limitMs, healsIn }: Limits,
): Finding[] => {
  const faults = faultSpansIn(events)
  const long = free.filter(({ fromMs, toMs }) => toMs - fromMs > limitMs)
  const timesOf = (lock: string) => {
    const excused = faults
      .filter((fault) => (fault.lock ?? lock) === lock)
      .map((fault) => ({ fromMs: fault.fromMs, toMs: fault.toMs + healsIn(fault, lock) }))
    const taken = events.flatMap((event) =>
      event.kind === 'acquired' && event.lock === lock ? [{ fromMs: event.atMs, toMs: event.atMs }] : [],
    )
    return { waited: waitsFor(lock, events), holes: [...excused, ...taken] }
  }
  const times = new Map([...new Set(long.map(({ lock }) => lock))].map((lock) => [lock, timesOf(lock)]))
  return long.flatMap(({ lock, ...span }) => {
    const { waited = [], holes = [] } = times.get(lock) ?? {}
    return without(span, holes)
      .flatMap((calm) => joined(waited.map((wait) => common(wait, calm)).filter((each) => each !== null)))
      .filter((idle) => idle.toMs - idle.fromMs > limitMs)
      .slice(0, 1)
      .map((idle) => {
        const text = `I4 free on "${lock}": for ${limitMs} ms from ${idle.fromMs.toFixed(3)} on, while callers waited`
        return { rule: 'I4 free', text, lock, untilMs: idle.fromMs + limitMs }
      })
  })
}

/** Calls that wait, each from its begin to its end or its deadline. */
const waitsFor = (lock: string, events: readonly HistoryEvent[]): Span[] =>
  callsIn(events)
    .filter(({ begin }) => begin.lock === lock)
    .map(({ begin: { atMs, deadlineMs = Infinity }, end }) => ({
      fromMs: atMs,
      toMs: Math.min(atMs + deadlineMs, end.atMs),
    }))

const common = (a: Span, b: Span): Span | null => {
  const [fromMs, toMs] = [Math.max(a.fromMs, b.fromMs), Math.min(a.toMs, b.toMs)]
  return fromMs < toMs ? { fromMs, toMs } : null
}

/** The rest of a span. */
const without = (whole: Span, holes: readonly Span[]): Span[] => {
  const left: Span[] = []
  let { fromMs } = whole
  for (const hole of [...holes].sort((a, b) => a.fromMs - b.fromMs)) {
    if (hole.toMs < fromMs) continue
    if (hole.fromMs > whole.toMs) break
    if (hole.fromMs > fromMs) left.push({ fromMs, toMs: hole.fromMs })
    fromMs = Math.max(fromMs, hole.toMs)
  }
  if (fromMs < whole.toMs) left.push({ fromMs, toMs: whole.toMs })
  return left
}

/** Spans that touch are one. */
const joined = (spans: readonly Span[]): Span[] => {
  const all: { fromMs: number; toMs: number }[] = []
  for (const { fromMs, toMs } of [...spans].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = all.at(-1)
    if (last && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs)
    else all.push({ fromMs, toMs })
  }
  return all
}
