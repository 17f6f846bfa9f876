/**
 * The moment at which most readers were inside, and of how many processes they were.
 *
 * @param {{ kind: string, mode?: string, process: string, attempt?: string, owner?: string }[]} events in order of time
 */
export const mostReaders = (events) => {
  const [reads, inside] = [new Set(), new Map()]
  let most = { readers: 0, processes: 0 }
  for (const { kind, mode, process, attempt, owner } of events) {
    if (kind === 'acquire-begin' && mode === 'shared') reads.add(attempt)
    else if (kind === 'acquired' && reads.has(attempt)) inside.set(owner, process)
    else if (kind === 'release-begin') inside.delete(owner)
    if (inside.size > most.readers) most = { readers: inside.size, processes: new Set(inside.values()).size }
  }
  return most
}
