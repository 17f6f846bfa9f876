/**
 * I1 and I3: a hold that is trusted is there. Says where a process was told that its lock is gone although it had
 * reason to trust it and Redis had lost nothing since it was taken.
 *
 * @param {object[]} events in the order of time
 * @param {{ grantLagMs: number }} limits how long before its answer a lock may have been granted, as in checkHistory
 * @returns {{ acquired: object, lost: object }[]}
 */
export const unexplainedLosses = (events, { grantLagMs }) => {
  const dataLosses = events.filter((event) => event.kind === 'fault' && event.class === 'data-loss')
  const holds = new Map()
  const unexplained = []
  for (const event of events) {
    const { kind, owner, lock, atMs } = event
    if (kind === 'acquired') holds.set(owner, { acquired: event, trustedUntilMs: event.trustedUntilMs })
    const hold = holds.get(owner)
    if (kind === 'trusted' && hold) hold.trustedUntilMs = Math.max(hold.trustedUntilMs, event.untilMs)
    if (kind !== 'lost' || event.reason !== 'gone' || !hold || atMs >= hold.trustedUntilMs) continue
    const { acquired } = hold
    // It may have been granted before its answer came, and forgotten by Redis in between.
    const sinceMs = acquired.atMs - grantLagMs
    const isExplained = dataLosses.some(
      (fault) => fault.atMs >= sinceMs && fault.atMs <= atMs && (fault.lock ?? lock) === lock,
    )
    if (!isExplained) unexplained.push({ acquired, lost: event })
  }
  return unexplained
}
