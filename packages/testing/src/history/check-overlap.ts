import type { FaultLog } from './fault-log.js'
import type { Findings, Violation } from './findings.js'
import type { Hold } from './hold.js'
import { LatestMaximum } from './latest-maximum.js'
import type { LockHistory } from './lock-history.js'

interface Surroundings {
  readonly faults: FaultLog
  readonly grantLagMs: number
}

/** I1: beliefs of different owners never overlap. One sweep; each hold is held against the longest before it. */
export const checkOverlap = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  const { faults, grantLagMs } = surroundings
  const before = new LatestMaximum<number, Hold>()
  for (const hold of lock.holds) {
    if (!hold.believed) continue
    const loss = faults.dataLossBegunBy(lock.name, hold.startMs)
    // Who acquired after the data were lost has no excuse, even while somebody from before still believes.
    const safeSinceMs = loss === undefined ? -Infinity : loss.over.atMs + grantLagMs
    const rival = before.after(safeSinceMs)
    const excusedRival = before.after(-Infinity)
    if (rival !== undefined && overlap(rival, hold)) findings.add(violation(lock.name, rival, hold))
    else if (excusedRival !== undefined && overlap(excusedRival, hold)) {
      findings.add(violation(lock.name, excusedRival, hold), loss?.fault)
    }
    before.push(hold.startMs, hold.endMs, hold)
  }
}

/** Two holds of one owner never overlap: the second would have been a re-entry. */
const overlap = (earlier: Hold, later: Hold): boolean =>
  earlier.endMs > later.startMs && later.endMs > earlier.startMs

const violation = (lock: string, earlier: Hold, later: Hold): Violation => ({
  check: 'overlap',
  invariant: 'I1',
  lock,
  message: `${later.owner} acquired it while ${earlier.owner} believed to hold it`,
  events: [...earlier.proofOfTrust(later.startMs), later.acquired],
})
