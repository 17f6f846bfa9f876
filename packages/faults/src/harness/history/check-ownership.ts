import type { Findings } from './findings.js'
import type { Disowned, LockHistory } from './lock-history.js'
import { excuseOf, type Surroundings } from './surroundings.js'

/** I2: nobody is told "not the owner" of a lock that it has, trusts, and was not told to have lost. */
export const checkOwnership = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  for (const disowned of lock.disowned) {
    const { event, hold } = disowned
    const who = event.owner ?? event.process
    findings.add(
      {
        check: 'false-not-owner',
        invariant: 'I2',
        lock: lock.name,
        message: `${who} was told that it is not the owner, and no loss came before`,
        events: [...proof(disowned), event],
      },
      excuseOf(lock.name, surroundings, {
        fromMs: hold?.startMs ?? -Infinity,
        toMs: event.atMs,
        alone: true,
      }),
    )
  }
}

const proof = ({ event, attempt, hold }: Disowned) => {
  if (hold !== undefined) return hold.proofOfTrust(event.atMs)
  return attempt === undefined ? [] : [attempt.begin]
}
