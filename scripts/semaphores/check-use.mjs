import { byName, usedUntilMs } from './read-uses.mjs'

/**
 * Never more in use than there are permits, on the clock that all processes of a machine share.
 *
 * @param {import('./read-uses.mjs').Read[]} uses
 * @param {number} permits of each semaphore
 * @returns {{ most: number, problems: string[] }}
 */
export const checkUse = (uses, permits) => {
  let most = 0
  const problems = []
  for (const [name, ofName] of byName(uses)) {
    let inUse = 0
    for (const { use, change, atMs } of changesOf(ofName)) {
      inUse += change
      most = Math.max(most, inUse)
      if (inUse > permits && change > 0) {
        problems.push(`I1 ${name}: ${inUse} of ${permits} permits in use at ${atMs.toFixed(1)}, with ${use}`)
      }
    }
  }
  return { most, problems }
}

const changesOf = (uses) =>
  uses
    .filter((use) => use.takenMs !== undefined && usedUntilMs(use) > use.takenMs)
    .flatMap((use) => [
      { use: use.use, atMs: use.takenMs, change: use.permits },
      { use: use.use, atMs: usedUntilMs(use), change: -use.permits },
    ])
    // What ends at the moment at which something begins is over.
    .toSorted((a, b) => a.atMs - b.atMs || a.change - b.change)
