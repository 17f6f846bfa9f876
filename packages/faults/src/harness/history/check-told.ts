import type { Findings } from './findings.js'
import type { LockHistory } from './lock-history.js'
import { excuseOf, type Surroundings } from './surroundings.js'
import { tokenValue } from './token.js'

/**
 * A run whose last command has no answer gives its result to its own callers, after a wait of a second. If that command
 * never ran, others run again: whatever fault took the answer explains two results.
 */
const LONGEST_UNANSWERED_MS = 1_500

/** I13: all who share a run have one result. Errors are none. */
export const checkResults = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  const [first, ...others] = lock.results.filter(({ value }) => value !== undefined)
  const other = others.find(({ value }) => value !== first?.value)
  if (first === undefined || other === undefined) return
  const message = `its callers have several results, ${first.value} and ${other.value}`
  const span = surroundings.faults.begunBy(lock.name, other.atMs)
  findings.add(
    { check: 'one-result', invariant: 'I13', lock: lock.name, message, events: [first, other] },
    span !== undefined && span.over.atMs >= first.atMs - LONGEST_UNANSWERED_MS ? span.fault : undefined,
  )
}

/** I11, I9: who follows is told of every owner that believed in its hold, in the order of their tokens. */
export const checkFollowed = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  if (lock.followed.length === 0) return
  const told = new Set(lock.followed.map(({ owner }) => owner))
  for (const { owner, acquired, endMs, believed } of lock.holds) {
    if (told.has(owner) || !believed) continue
    const message = `who follows was never told of ${owner}`
    findings.add(
      { check: 'followed', invariant: 'I11', lock: lock.name, message, events: [acquired] },
      excuseOf(lock.name, surroundings, { fromMs: acquired.atMs, toMs: endMs + surroundings.grantLagMs }),
    )
  }
  lock.followed.forEach((event, i) => {
    const before = lock.followed[i - 1]
    if (!before || tokenValue(event.token, event) > tokenValue(before.token, before)) return
    const message = `who follows was told of token ${event.token} after ${before.token}`
    findings.add(
      { check: 'followed', invariant: 'I9', lock: lock.name, message, events: [before, event] },
      surroundings.lastingTokens(lock.name)
        ? undefined
        : excuseOf(lock.name, surroundings, { fromMs: before.atMs, toMs: event.atMs }),
    )
  })
}

/** I1: what was handed over waits for the first who comes for it, unless somebody took it away by force. */
export const checkAstray = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  for (const event of lock.astray) {
    const message = 'it was handed over, and gone before anybody adopted it'
    findings.add(
      { check: 'astray', invariant: 'I1', lock: lock.name, message, events: [event] },
      excuseOf(lock.name, surroundings, { fromMs: event.sinceMs, toMs: event.atMs, alone: true }),
    )
  }
}
