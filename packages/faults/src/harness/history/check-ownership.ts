import type { FaultLog } from './fault-log.js'
import type { Findings } from './findings.js'
import type { Disowned, LockHistory } from './lock-history.js'

interface Surroundings {
  readonly faults: FaultLog
  readonly grantLagMs: number
}

/** I2: nobody is told "not the owner" of a lock that it has, trusts, and was not told to have lost. */
export const checkOwnership = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  const { faults, grantLagMs } = surroundings
  for (const disowned of lock.disowned) {
    const { event, hold } = disowned
    const loss = faults.lockLossBegunBy(lock.name, event.atMs)
    const heldSinceMs = hold === undefined ? -Infinity : hold.startMs - grantLagMs
    const who = event.owner ?? event.process
    findings.add(
      {
        check: 'false-not-owner',
        invariant: 'I2',
        lock: lock.name,
        message: `${who} was told that it is not the owner, and no loss came before`,
        events: [...proof(disowned), event],
      },
      loss !== undefined && loss.over.atMs >= heldSinceMs ? loss.fault : undefined,
    )
  }
}

const proof = ({ event, attempt, hold }: Disowned) => {
  if (hold !== undefined) return hold.proofOfTrust(event.atMs)
  return attempt === undefined ? [] : [attempt.begin]
}
