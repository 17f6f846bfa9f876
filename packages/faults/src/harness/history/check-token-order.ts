import type { Findings, Violation } from './findings.js'
import type { Hold } from './hold.js'
import { LatestMaximum } from './latest-maximum.js'
import type { LockHistory } from './lock-history.js'
import type { Surroundings } from './surroundings.js'
import { tokenValue } from './token.js'

interface Grant {
  readonly hold: Hold
  readonly token: bigint
}

/** I9: a grant that was complete before another was asked for has the smaller token. Re-entries are no grants. */
export const checkTokenOrder = (lock: LockHistory, surroundings: Surroundings, findings: Findings): void => {
  const { faults, grantLagMs, lastingTokens } = surroundings
  const isLasting = lastingTokens(lock.name)
  const grants = grantsOf(lock)
  const complete = new LatestMaximum<bigint, Grant>()
  let next = 0
  for (const grant of [...grants].sort((a, b) => a.hold.begin.atMs - b.hold.begin.atMs)) {
    let done = grants[next]
    while (done !== undefined && done.hold.startMs < grant.hold.begin.atMs) {
      complete.push(done.hold.startMs, done.token, done)
      next += 1
      done = grants[next]
    }
    const loss = isLasting ? undefined : faults.dataLossBegunBy(lock.name, grant.hold.startMs)
    const safeSinceMs = loss === undefined ? -Infinity : loss.over.atMs + grantLagMs
    const rival = complete.after(safeSinceMs)
    const excusedRival = complete.after(-Infinity)
    if (rival !== undefined && rival.token >= grant.token) findings.add(violation(lock.name, rival, grant))
    else if (excusedRival !== undefined && excusedRival.token >= grant.token) {
      findings.add(violation(lock.name, excusedRival, grant), loss?.fault)
    }
  }
}

const grantsOf = (lock: LockHistory): Grant[] =>
  lock.holds.flatMap((hold) => {
    const { token } = hold.acquired
    return token === undefined ? [] : [{ hold, token: tokenValue(token, hold.acquired) }]
  })

const violation = (lock: string, earlier: Grant, later: Grant): Violation => ({
  check: 'token-order',
  invariant: 'I9',
  lock,
  message: `token ${later.token} of ${later.hold.owner} does not exceed the earlier ${earlier.token} of ${earlier.hold.owner}`,
  events: [earlier.hold.acquired, later.hold.begin, later.hold.acquired],
})
