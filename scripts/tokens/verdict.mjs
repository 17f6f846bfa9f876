import { checkHistory, formatViolation } from '@holdfast/testing'
import { LIMIT_MS } from './settings.mjs'

const LIMITS = {
  liveness: { deadlineMs: LIMIT_MS, graceMs: 0 },
  // An answer is held up by a restart of Redis.
  grantLagMs: 5_000,
  // Nothing excuses a token that does not grow: whether one may is for the series to say.
  lastingTokens: () => true,
}
const MOST_SHOWN = 3

/**
 * @param {object[]} events
 * @param {{ grows: boolean }} expected whether tokens have to grow, or cannot
 */
export const verdict = (events, { grows }) => {
  const { violations, figures } = checkHistory(events, LIMITS)
  const outOfOrder = violations.filter(({ check }) => check === 'token-order')
  const others = violations.filter(({ check }) => check !== 'token-order')
  const holds = sureHolds(events)
  const backwards = backwardsIn(holds)
  const refused = holds.filter(({ accepted }) => !accepted).length
  const isBroken = outOfOrder.length > 0 || backwards.length > 0
  const count = (name) => events.filter((event) => event.kind === 'fault' && event.name === name).length
  return {
    ...{ acquisitions: figures.acquisitions, losses: holds.lost, latest: holds.at(-1)?.token },
    ...{ restarts: count('restart') + count('crash'), flushes: count('flush') },
    ...{ backwards: backwards.length, refused },
    problems: [
      ...others.slice(0, MOST_SHOWN).map(formatViolation),
      ...(grows ? [...backwards, ...outOfOrder.map(formatViolation)].slice(0, MOST_SHOWN) : []),
      ...(grows && refused > 0 ? [`${refused} writes of holders that had the lock were refused`] : []),
      ...(!grows && !(isBroken && refused > 0) ? ['no token was lost: this proves nothing'] : []),
    ],
  }
}

/**
 * Those who had the lock from their acquire to their release, in the order in which they had it: each wrote in
 * between, and the register counted. Who lost the lock may have written when somebody else had it.
 */
const sureHolds = (events) => {
  const writes = new Map(events.filter(({ kind }) => kind === 'write').map((write) => [write.owner, write]))
  const released = events.filter(({ kind }) => kind === 'released')
  const sure = released.filter(({ outcome }) => outcome === 'released').map(({ owner }) => writes.get(owner))
  const inOrder = sure.toSorted((a, b) => a.order - b.order)
  return Object.assign(inOrder, { lost: released.length - sure.length })
}

/** Each token that is not larger than all before it. */
const backwardsIn = (holds) => {
  let highest = 0n
  return holds.flatMap(({ token, owner }) => {
    const isLarger = BigInt(token) > highest
    if (isLarger) highest = BigInt(token)
    return isLarger ? [] : [`I9 token ${token} of ${owner} came after ${highest}`]
  })
}
