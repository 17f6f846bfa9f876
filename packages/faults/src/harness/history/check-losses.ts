import type { FaultLog } from './fault-log.js'
import type { Findings } from './findings.js'
import type { LockHistory } from './lock-history.js'

interface Surroundings {
  readonly faults: FaultLog
  readonly grantLagMs: number
  readonly someReleaseEarly: boolean
}

/** I1 and I3: what is trusted is there. Redis takes nothing away that it has not lost, and nobody loses what was released. */
export const checkLosses = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  const { faults, grantLagMs, someReleaseEarly } = surroundings
  for (const { event, hold } of lock.takenAway) {
    const loss = faults.lockLossBegunBy(lock.name, event.atMs)
    findings.add(
      {
        check: 'loss',
        invariant: 'I1',
        lock: lock.name,
        message: `${hold.owner} lost it while it was trusted`,
        events: [...hold.proofOfTrust(event.atMs), event],
      },
      loss !== undefined && loss.over.atMs >= hold.startMs - grantLagMs ? loss.fault : undefined,
    )
  }
  for (const { event, hold } of someReleaseEarly ? [] : lock.falseAlarms) {
    findings.add({
      check: 'loss',
      invariant: 'I1',
      lock: lock.name,
      message: `${hold.owner} was told of the loss of what it had released`,
      events: [hold.acquired, event],
    })
  }
}
