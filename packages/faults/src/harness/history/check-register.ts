import { HistoryError, type Write } from './events.js'
import type { Findings, Violation } from './findings.js'
import { firstIndex } from './first-index.js'
import type { LockHistory } from './lock-history.js'
import { tokenValue } from './token.js'

/** I1: what the register accepted. A lost lock is no excuse: the tokens are there for that very case. */
export const checkRegister = (lock: LockHistory, findings: Findings): void => {
  let greatest: { readonly token: bigint; readonly write: Write } | undefined
  for (const write of decided(lock.writes)) {
    if (!write.accepted) continue
    if (write.token === undefined) {
      checkBelief(lock, write, findings)
      continue
    }
    const token = tokenValue(write.token, write)
    if (greatest !== undefined && token < greatest.token) {
      const message = `a write with token ${token} was accepted after one with token ${greatest.token}`
      findings.add(violation(lock.name, message, [greatest.write, write]))
    } else greatest = { token, write }
  }
}

/** In the order of the register's decisions. */
const decided = (writes: readonly Write[]): readonly Write[] => {
  if (writes.every(({ order }) => order === undefined)) return writes
  for (const write of writes) {
    if (!Number.isFinite(write.order))
      throw new HistoryError('Other writes of this lock have an order', write)
  }
  return [...writes].sort((a, b) => Number(a.order) - Number(b.order))
}

const checkBelief = (lock: LockHistory, write: Write, findings: Findings): void => {
  const holds = lock.holdsOf(write.owner)
  const after = firstIndex(holds.length, (index) => (holds[index]?.startMs ?? Infinity) > write.atMs)
  const hold = holds[after - 1]
  if (hold === undefined) {
    const message = `a write of ${write.owner} was accepted, who had not acquired the lock`
    findings.add(violation(lock.name, message, [write]))
  } else if (write.atMs > hold.endMs) {
    const message = `a write of ${write.owner} was accepted after its belief had ended`
    findings.add(violation(lock.name, message, [hold.proofOfEnd(), write]))
  }
}

const violation = (lock: string, message: string, events: Violation['events']): Violation => ({
  check: 'register',
  invariant: 'I1',
  lock,
  message,
  events,
})
