/**
 * I4: no wait goes on while its lock is free. Says where a lock was given back, somebody was waiting for it and went
 * on waiting for `limitMs`, and nobody took it, while no fault was there to explain it.
 *
 * @param {object[]} events in the order of time
 * @param {{ limitMs: number, calmMs: number }} limits `calmMs`: how long a fault still explains what comes after it
 * @returns {{ released: object, begin: object }[]}
 */
export const missedHandOffs = (events, { limitMs, calmMs }) => {
  const faults = faultsOf(events)
  const isCalm = (fromMs, toMs) =>
    !faults.some((fault) => fault.fromMs <= toMs && fault.toMs + calmMs >= fromMs)
  const endOf = endsOf(events)
  const missed = []
  // By lock: who waits, and the release after which nobody has taken it yet.
  const waiting = new Map()
  const free = new Map()
  for (const event of events) {
    const { kind, lock, atMs } = event
    if (kind === 'acquire-begin' && event.deadlineMs > 0) {
      if (!waiting.has(lock)) waiting.set(lock, new Set())
      waiting.get(lock).add(event)
    } else if (kind === 'released' && event.outcome === 'released') {
      const begins = [...(waiting.get(lock) ?? [])].filter((begin) => endOf(begin) > atMs)
      waiting.set(lock, new Set(begins))
      free.set(lock, { released: event, begins })
    } else if (kind === 'acquired') {
      const before = free.get(lock)
      free.delete(lock)
      if (before) missed.push(...missedUntil(before, atMs))
    }
  }
  for (const before of free.values()) missed.push(...missedUntil(before, Infinity))
  return missed

  function missedUntil({ released, begins }, takenAtMs) {
    const untilMs = released.atMs + limitMs
    if (takenAtMs <= untilMs || !isCalm(released.atMs, untilMs)) return []
    const begin = begins.find((each) => endOf(each) > untilMs && each.atMs + each.deadlineMs > untilMs)
    return begin ? [{ released, begin }] : []
  }
}

/** When the wait that began with an event was over. */
const endsOf = (events) => {
  const ends = new Map()
  const killed = new Map()
  for (const { kind, attempt, process, atMs } of events) {
    if (kind === 'killed') killed.set(process, atMs)
    else if (attempt !== undefined && kind !== 'acquire-begin') ends.set(attempt, atMs)
  }
  return ({ attempt, process }) => ends.get(attempt) ?? killed.get(process) ?? Infinity
}

const faultsOf = (events) => {
  const faults = []
  for (const { kind, name, atMs } of events) {
    if (kind === 'fault') faults.push({ name, fromMs: atMs, toMs: Infinity })
    const begun = kind === 'healed' && faults.findLast((fault) => fault.name === name)
    if (begun) begun.toMs = atMs
  }
  return faults
}
