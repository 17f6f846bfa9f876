/** Writes with a token that were accepted although one with a larger token had been before they were sent. */
export const staleWrites = (events) => {
  const stale = []
  for (const writes of byLock(events, 'guarded')) {
    const accepted = writes.filter((write) => write.accepted)
    for (const write of accepted) {
      const token = BigInt(write.token)
      const earlier = accepted.find((each) => BigInt(each.token) > token && each.atMs < write.sentMs)
      if (earlier || BigInt(write.highestToken) > token) stale.push(write)
    }
  }
  return stale
}

/** Writes with a token that were refused although their owner has the lock. */
export const wrongRefusals = (events) =>
  events.filter((event) => event.kind === 'guarded' && !event.accepted && event.isTrusted)

/** Writes that looked at nothing, and came when somebody else had been given the lock. */
export const harmfulWrites = (events) => {
  const grants = new Map(byLock(events, 'acquired').map((list) => [list[0].lock, list]))
  return events.filter((event) => {
    if (event.kind !== 'blind') return false
    const latest = grants.get(event.lock).findLast((grant) => grant.atMs <= event.atMs)
    return latest.owner !== event.owner
  })
}

/** The events of one kind, a list for each lock, in the order of time. */
const byLock = (events, kind) => {
  const lists = new Map()
  for (const event of events) {
    if (event.kind !== kind) continue
    if (!lists.has(event.lock)) lists.set(event.lock, [])
    lists.get(event.lock).push(event)
  }
  return [...lists.values()]
}
