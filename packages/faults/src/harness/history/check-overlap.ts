import type { Findings, Violation } from './findings.js'
import type { Hold } from './hold.js'
import { LatestMaximum } from './latest-maximum.js'
import type { LockHistory } from './lock-history.js'
import type { Surroundings } from './surroundings.js'

/**
 * I1: beliefs of different owners never overlap, unless both are shared. One sweep; each hold is held against the
 * one before it that bars its way longest.
 */
export const checkOverlap = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  const { faults, grantLagMs } = surroundings
  const holders = new LatestMaximum<number, Hold>()
  const writers = new LatestMaximum<number, Hold>()
  for (const hold of lock.holds) {
    if (!hold.believed) continue
    const before = hold.mode === 'shared' ? writers : holders
    const loss = faults.lockLossBegunBy(lock.name, hold.startMs)
    // Who acquired after the data were lost has no excuse, even while somebody from before still believes.
    const safeSinceMs = loss === undefined ? -Infinity : loss.over.atMs + grantLagMs
    const rival = before.after(safeSinceMs)
    const excusedRival = before.after(-Infinity)
    if (rival !== undefined && overlap(rival, hold)) findings.add(violation(lock.name, rival, hold))
    else if (excusedRival !== undefined && overlap(excusedRival, hold)) {
      findings.add(violation(lock.name, excusedRival, hold), loss?.fault)
    }
    holders.push(hold.startMs, hold.endMs, hold)
    if (hold.mode === 'exclusive') writers.push(hold.startMs, hold.exclusiveEndMs, hold)
  }
}

/** Holds of one owner overlap only where it was let in exclusively while it shared: others are re-entries. */
const overlap = (earlier: Hold, later: Hold): boolean => {
  const barredUntilMs = later.mode === 'shared' ? earlier.exclusiveEndMs : earlier.endMs
  return barredUntilMs > later.startMs && later.endMs > earlier.startMs
}

const violation = (lock: string, earlier: Hold, later: Hold): Violation => ({
  check: 'overlap',
  invariant: 'I1',
  lock,
  message: `${later.owner} acquired it${how(later)} while ${earlier.owner} believed to hold it${how(earlier)}`,
  events: [...earlier.proofOfTrust(later.startMs), later.acquired],
})

const how = ({ mode }: Hold): string => (mode === 'shared' ? ' shared' : '')
