import type { Findings } from './findings.js'
import type { LockHistory } from './lock-history.js'
import { excuseOf, type Surroundings } from './surroundings.js'

/** I1 and I3: what is trusted is there. Redis takes nothing away that it has not lost, and nobody loses what was released. */
export const checkLosses = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  for (const { event, hold } of lock.takenAway) {
    findings.add(
      {
        check: 'loss',
        invariant: 'I1',
        lock: lock.name,
        message: `${hold.owner} lost it while it was trusted`,
        events: [...hold.proofOfTrust(event.atMs), event],
      },
      excuseOf(lock.name, surroundings, { fromMs: hold.startMs, toMs: event.atMs, alone: true }),
    )
  }
  for (const { event, hold } of surroundings.someReleaseEarly ? [] : lock.falseAlarms) {
    findings.add({
      check: 'loss',
      invariant: 'I1',
      lock: lock.name,
      message: `${hold.owner} was told of the loss of what it had released`,
      events: [hold.acquired, event],
    })
  }
}
