import { checkEndState } from './check-end-state.js'
import { checkHandOff, type HandOffOptions } from './check-hand-off.js'
import { checkLiveness, type LivenessOptions } from './check-liveness.js'
import { checkLosses } from './check-losses.js'
import { checkOverlap } from './check-overlap.js'
import { checkOvertaking, type FifoOptions } from './check-overtaking.js'
import { checkOwnership } from './check-ownership.js'
import { checkRegister } from './check-register.js'
import { checkAstray, checkFollowed, checkResults } from './check-told.js'
import { checkTokenOrder } from './check-token-order.js'
import type { HistoryEvent } from './events.js'
import { type Excused, Findings, type Violation } from './findings.js'
import { type History, readHistory } from './read-history.js'

/** Rules that `checkHistory` checks beyond those that always hold. Durations are in ms. */
export interface HistoryOptions {
  /** Order of service, for fair locks. Off when absent. */
  readonly fifo?: FifoOptions
  /** Without it only calls that never end are reported, not late ones. */
  readonly liveness?: LivenessOptions
  /** Locks that stay free while somebody waits. Off when absent. */
  readonly handOff?: HandOffOptions
  /**
   * Locks whose tokens grow even when Redis loses its data, because they are taken from its clock: nothing excuses
   * a token out of order there. None when absent.
   */
  readonly lastingTokens?: (lock: string) => boolean
  /**
   * How long before its `acquired` event a lock may have been granted in Redis (0). A loss of data in that time
   * excuses as well. Raise it when replies are delayed; each ms also hides real overlaps right after a loss.
   */
  readonly grantLagMs?: number
  /** Whoever does not wait for its releases hears of a loss after them: that is no violation (false). */
  readonly someReleaseEarly?: boolean
}

/** Counts of what happened in a run. */
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

/** The result of `checkHistory`. */
export interface HistoryReport {
  readonly violations: readonly Violation[]
  /** The violations that a fault explains: mostly a loss of data, or for those who wait any fault at the time. */
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
  const { fifo, liveness, handOff, grantLagMs = 0 } = options
  const { lastingTokens = () => false, someReleaseEarly = false } = options
  const numbers = { ...fifo, ...liveness, ...handOff, grantLagMs }
  // NaN compares false with everything, so that a check with it would pass whatever happened.
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value === 'number' && !(value >= 0)) throw new RangeError(`${name} must be a number from 0 on`)
  }
  const history = readHistory(events)
  const surroundings = { faults: history.faults, grantLagMs, lastingTokens, someReleaseEarly }
  const findings = new Findings()
  for (const lock of history.locks) {
    checkOverlap(lock, surroundings, findings)
    checkRegister(lock, findings)
    checkTokenOrder(lock, surroundings, findings)
    if (fifo !== undefined && (fifo.locks?.(lock.name) ?? true)) {
      checkOvertaking(lock, history.faults, fifo, findings)
    }
    checkLiveness(lock, history.faults, liveness, findings)
    if (handOff !== undefined && (handOff.locks?.(lock.name) ?? true)) {
      checkHandOff(lock, history.faults, handOff, findings)
    }
    checkOwnership(lock, surroundings, findings)
    checkLosses(lock, surroundings, findings)
    checkResults(lock, surroundings, findings)
    checkFollowed(lock, surroundings, findings)
    checkAstray(lock, surroundings, findings)
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
