import { type FaultBegin, type Healed, HistoryError } from './events.js'
import { firstIndex } from './first-index.js'
import { RunningMaximum } from './running-maximum.js'

/** A fault and when it was over. */
export interface FaultSpan {
  readonly fault: FaultBegin
  /** The `healed` event, or the fault itself when it was momentary. */
  readonly over: FaultBegin | Healed
}

/** Spans by their begin, each with the one that lasts longest so far. */
class SpanIndex {
  readonly #spans = new RunningMaximum<FaultSpan>()
  readonly #endsMs: readonly number[]

  constructor(spans: readonly FaultSpan[]) {
    this.#endsMs = spans.map(({ over }) => over.atMs).sort((a, b) => a - b)
    for (const span of [...spans].sort((a, b) => a.fault.atMs - b.fault.atMs)) {
      this.#spans.push(span.fault.atMs, span.over.atMs, span)
    }
  }

  /** The fault that was over last, of those that had begun by `ms`. */
  begunBy(ms: number): FaultSpan | undefined {
    return this.#spans.upTo(ms)
  }

  /** When, by `ms`, the last one was over. */
  lastEndBy(ms: number): number {
    const after = firstIndex(this.#endsMs.length, (index) => (this.#endsMs[index] ?? Infinity) > ms)
    return this.#endsMs[after - 1] ?? -Infinity
  }
}

type Scope = 'lock-loss' | 'data-loss' | 'any' | 'target'
const scopeKey = (scope: Scope, name: string | undefined): string => JSON.stringify([scope, name ?? null])
const later = (a: FaultSpan | undefined, b: FaultSpan | undefined): FaultSpan | undefined =>
  a === undefined || (b !== undefined && b.over.atMs > a.over.atMs) ? b : a

/** The faults of a run. Times that are asked for may come in any order. */
export class FaultLog {
  readonly #indexes = new Map<string, SpanIndex>()
  readonly #spans: readonly FaultSpan[]

  constructor(spans: readonly FaultSpan[]) {
    this.#spans = spans
    const groups = new Map<string, FaultSpan[]>()
    const put = (key: string, span: FaultSpan): void =>
      void groups
        .set(key, groups.get(key) ?? [])
        .get(key)
        ?.push(span)
    for (const span of spans) {
      const { fault } = span
      if (fault.target !== undefined) put(scopeKey('target', fault.target), span)
      if (fault.class === 'standstill') continue
      put(scopeKey('any', fault.lock), span)
      if (fault.class !== 'disturbance') put(scopeKey('lock-loss', fault.lock), span)
      if (fault.class === 'data-loss') put(scopeKey('data-loss', fault.lock), span)
    }
    for (const [key, group] of groups) this.#indexes.set(key, new SpanIndex(group))
  }

  /** The fault that was over last, of those that may have taken this lock away and had begun by `ms`. */
  lockLossBegunBy(lock: string, ms: number): FaultSpan | undefined {
    return this.#begunBy('lock-loss', lock, ms)
  }

  /** The same for those that took its tokens and its queue along. */
  dataLossBegunBy(lock: string, ms: number): FaultSpan | undefined {
    return this.#begunBy('data-loss', lock, ms)
  }

  /** The same for faults of every class. */
  begunBy(lock: string, ms: number): FaultSpan | undefined {
    return this.#begunBy('any', lock, ms)
  }

  /** A fault that struck this process somewhere between the two moments. */
  struck(process: string, sinceMs: number, untilMs: number): FaultSpan | undefined {
    const span = this.#indexes.get(scopeKey('target', process))?.begunBy(untilMs)
    return span !== undefined && span.over.atMs >= sinceMs ? span : undefined
  }

  /** All faults on this lock that lasted at some time between the two moments. Looks at each fault of the run. */
  during(lock: string, sinceMs: number, untilMs: number): FaultSpan[] {
    return this.#spans.filter(
      ({ fault, over }) =>
        fault.class !== 'standstill' &&
        (fault.lock ?? lock) === lock &&
        fault.atMs <= untilMs &&
        over.atMs >= sinceMs,
    )
  }

  /** When, by `ms`, the last fault on this lock was over. */
  lastEndBy(lock: string, ms: number): number {
    const own = this.#indexes.get(scopeKey('any', lock))?.lastEndBy(ms) ?? -Infinity
    return Math.max(own, this.#indexes.get(scopeKey('any', undefined))?.lastEndBy(ms) ?? -Infinity)
  }

  #begunBy(scope: Scope, lock: string, ms: number): FaultSpan | undefined {
    const own = this.#indexes.get(scopeKey(scope, lock))?.begunBy(ms)
    return later(own, this.#indexes.get(scopeKey(scope, undefined))?.begunBy(ms))
  }
}

/** Pairs the faults, in order of time, with what healed them. */
export const pairFaults = (events: readonly (FaultBegin | Healed)[]): FaultSpan[] => {
  const spans: FaultSpan[] = []
  const open = new Map<string, FaultBegin[]>()
  for (const event of events) {
    const key = JSON.stringify([event.name, event.lock ?? null])
    const begun = open.get(key) ?? []
    if (event.kind === 'fault') {
      open.set(key, [...begun, event])
      continue
    }
    // A misspelt name would turn a lasting fault into a momentary one, and excuses would be lost.
    if (begun.length === 0) throw new HistoryError('Nothing to heal', event)
    spans.push(...begun.map((fault) => ({ fault, over: event })))
    open.delete(key)
  }
  for (const begun of open.values()) spans.push(...begun.map((fault) => ({ fault, over: fault })))
  return spans
}
