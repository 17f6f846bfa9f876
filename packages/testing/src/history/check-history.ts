import { checkEndState } from './check-end-state.js'
import { checkLiveness, type LivenessOptions } from './check-liveness.js'
import { checkOverlap } from './check-overlap.js'
import { checkOvertaking, type FifoOptions } from './check-overtaking.js'
import { checkOwnership } from './check-ownership.js'
import { checkRegister } from './check-register.js'
import { checkTokenOrder } from './check-token-order.js'
import type { HistoryEvent } from './events.js'
import { type Excused, Findings, type Violation } from './findings.js'
import { type History, readHistory } from './read-history.js'

export interface HistoryOptions {
  /** Off when absent. */
  readonly fifo?: FifoOptions
  /** Without it only calls that never end are reported, not late ones. */
  readonly liveness?: LivenessOptions
  /**
   * How long before its `acquired` event a lock may have been granted in Redis (0). A loss of data in that time
   * excuses as well. Raise it when replies are delayed; each ms also hides real overlaps right after a loss.
   */
  readonly grantLagMs?: number
}

export interface HistoryFigures {
  /** Including re-entries. */
  readonly acquisitions: number
  readonly losses: number
  readonly faults: number
  /** From the begin of a call to its success. */
  readonly longestWaitMs: number
  /** From the last end of a fault to the success of a call that was already waiting then. */
  readonly longestWaitAfterHealMs: number
}

export interface HistoryReport {
  readonly violations: readonly Violation[]
  /** What a loss of data, or a fault on the waiter itself, explains. */
  readonly excused: readonly Excused[]
  readonly figures: HistoryFigures
}

/**
 * Checks what the processes of a run recorded, in any order, against the invariants of the design.
 * Takes O(n log n), as long as few faults strike during one call.
 * @throws HistoryError when the events contradict each other, RangeError when an option is no duration
 */
export const checkHistory = (
  events: readonly HistoryEvent[],
  options: HistoryOptions = {},
): HistoryReport => {
  const { fifo, liveness, grantLagMs = 0 } = options
  const numbers = { ...fifo, ...liveness, grantLagMs }
  // NaN compares false with everything, so that a check with it would pass whatever happened.
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value === 'number' && !(value >= 0)) throw new RangeError(`${name} must be a number from 0 on`)
  }
  const history = readHistory(events)
  const surroundings = { faults: history.faults, grantLagMs }
  const findings = new Findings()
  for (const lock of history.locks) {
    checkOverlap(lock, surroundings, findings)
    checkRegister(lock, findings)
    checkTokenOrder(lock, surroundings, findings)
    if (fifo !== undefined && (fifo.locks?.(lock.name) ?? true)) {
      checkOvertaking(lock, history.faults, fifo, findings)
    }
    checkLiveness(lock, history.faults, liveness, findings)
    checkOwnership(lock, surroundings, findings)
  }
  checkEndState(history.ends, findings)
  return { violations: findings.violations, excused: findings.excused, figures: figuresOf(history) }
}

const figuresOf = ({ locks, faults, counts }: History): HistoryFigures => {
  let longestWaitMs = 0
  let longestWaitAfterHealMs = 0
  for (const { attempts } of locks) {
    for (const { begin, end } of attempts) {
      if (end?.kind !== 'acquired') continue
      longestWaitMs = Math.max(longestWaitMs, end.atMs - begin.atMs)
      const healedMs = faults.lastEndBy(begin.lock, end.atMs)
      if (healedMs >= begin.atMs) {
        longestWaitAfterHealMs = Math.max(longestWaitAfterHealMs, end.atMs - healedMs)
      }
    }
  }
  return { ...counts, longestWaitMs, longestWaitAfterHealMs }
}
