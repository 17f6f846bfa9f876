import { seededRandom } from '../torture/random.mjs'
import { Crew } from './crew.mjs'

const HOLD_MS = 5
// What a gap may have on top: answers under way, and a process that is busy when it is told.
const SLACK_MS = 300

/**
 * A tenth of the processes is killed and a tenth of the callers leaves, at random moments while the line moves. The
 * rest is served in order, and nobody waits longer than two heartbeats for the dead.
 *
 * @param {{ waiters: number, small: number, resyncMs: number, seed: number }} wanted
 * @param {AbortSignal} interrupted
 */
export const deaths = async ({ waiters, small, resyncMs, seed }, interrupted) => {
  // A holder that is killed leaves a lease; it ends when its place in line would have.
  const leaseMs = 2 * resyncMs
  const crew = await Crew.start({ processes: small, resyncMs, leaseMs, holdMs: HOLD_MS, interrupted })
  try {
    const hold = await crew.lock.acquire()
    // So that whoever dies has waiters near the head of the line.
    await crew.standMixed(waiters)
    const line = await crew.line()
    await hold.release()
    const killed = await takeAway(crew, plan({ waiters, small, random: seededRandom(seed) }))
    const workers = await crew.finish()
    const served = await crew.served()
    const left = await crew.close()
    const standing = await crew.line()
    return verdict({ line, served, killed, workers, left, standing, allowedMs: 2 * resyncMs })
  } finally {
    await crew.stop()
  }
}

/** What happens when so many have been served: all in the first half, while those concerned still stand there. */
const plan = ({ waiters, small, random }) => {
  const kills = Array.from({ length: Math.max(1, Math.round(small / 10)) }, () => ({ what: 'kill' }))
  const aborts = Array.from({ length: Math.round(waiters / 10) }, () => ({ what: 'abort' }))
  return [...kills, ...aborts]
    .map((each) => ({ ...each, after: random.whole(Math.ceil(waiters / 2)), random }))
    .sort((a, b) => a.after - b.after)
}

/** @returns the client ids of those that were killed */
const takeAway = async (crew, events) => {
  const killed = []
  const perProcess = new Map()
  // The line goes on meanwhile.
  const underWay = []
  for (const { what, after, random } of events) {
    await crew.untilServed(after)
    const worker = random.pick(crew.workers)
    if (what === 'kill') {
      killed.push(worker.clientId)
      underWay.push(crew.kill(worker))
    } else {
      // From the end: they came last, and most of them still wait.
      const index = (perProcess.get(worker) ?? 0) + 1
      perProcess.set(worker, index)
      underWay.push(worker.process.call('abort', -index))
    }
  }
  // What was asked of a process that was killed before it answered is no failure.
  await Promise.allSettled(underWay)
  return killed
}

const verdict = ({ line, served, killed, workers, left, standing, allowedMs }) => {
  const places = new Map(line.map((owner, i) => [owner, i]))
  const clientOf = (owner) => owner.slice(0, owner.lastIndexOf(':'))
  const missing = line.filter((owner) => !served.some((each) => each.owner === owner))
  const missingOf = (clientId) => missing.filter((owner) => clientOf(owner) === clientId).length
  const longestGapMs = Math.max(...served.slice(1).map(({ atMs }, i) => atMs - served[i].atMs)) - HOLD_MS
  const stallMs = Math.max(...workers.map((worker) => worker.stallMs))
  const overtaken = served.findIndex(
    ({ owner }, i) => i > 0 && places.get(owner) < places.get(served[i - 1].owner),
  )
  const problems = [
    ...(overtaken >= 0 ? [`${served[overtaken].owner} was served after one that came later`] : []),
    ...workers.flatMap(({ clientId, ends }) => problemsOf(ends, missingOf(clientId))),
    ...(longestGapMs > allowedMs + SLACK_MS + stallMs
      ? [`nobody had the lock for ${Math.round(longestGapMs)} ms`]
      : []),
    ...standing
      .filter((owner) => !killed.includes(clientOf(owner)))
      .map((owner) => `${owner} is in line, and lives`),
    // Nobody alive stood behind the last of the dead, and passed them over.
    ...left.filter(({ ttlMs }) => ttlMs === -1).map(({ key }) => `${key} is left for ever`),
  ]
  const died = killed.reduce((sum, clientId) => sum + missingOf(clientId), 0)
  return { died, left: missing.length - died, longestGapMs, allowedMs, stallMs, problems }
}

/** Of one process that lived: who was not served had been taken away. */
const problemsOf = ({ served = 0, aborted = 0, ...failed }, missing) => [
  ...(missing !== aborted ? [`${missing} of a process were not served, ${aborted} of them had left`] : []),
  ...Object.entries(failed).map(
    ([end, count]) => `${count} callers ended with ${end}, ${served} were served`,
  ),
]
