import type { FaultBegin, HistoryEvent } from './events.js'

/** The invariants of the design that a history can show to be broken. */
export type Invariant = 'I1' | 'I2' | 'I4' | 'I5' | 'I8' | 'I9' | 'I10' | 'I11' | 'I13'

/** Which check found it. */
export type CheckName =
  | 'overlap'
  | 'register'
  | 'token-order'
  | 'overtaking'
  | 'liveness'
  | 'hand-off'
  | 'end-state'
  | 'false-not-owner'
  | 'loss'
  | 'one-result'
  | 'followed'
  | 'astray'

/** A rule that a history breaks. `formatViolation` prints it. */
export interface Violation {
  readonly check: CheckName
  readonly invariant: Invariant
  /** Absent when it concerns no single lock. */
  readonly lock?: string
  readonly message: string
  /** The fewest events that prove it, in order of time. */
  readonly events: readonly HistoryEvent[]
}

/** A violation, had no fault explained it. */
export interface Excused extends Violation {
  readonly fault: FaultBegin
}

/** Findings of the checks so far. */
export class Findings {
  readonly violations: Violation[] = []
  readonly excused: Excused[] = []

  add(violation: Violation, fault?: FaultBegin): void {
    const events = inOrder([...violation.events, ...(fault === undefined ? [] : [fault])])
    if (fault === undefined) this.violations.push({ ...violation, events })
    else this.excused.push({ ...violation, events, fault })
  }
}

const inOrder = (events: readonly HistoryEvent[]): HistoryEvent[] =>
  [...events].sort((a, b) => a.atMs - b.atMs)
