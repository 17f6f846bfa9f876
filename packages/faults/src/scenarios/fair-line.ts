// The line of a fair lock, with callers of several processes in it: served in the order in which they came, whichever of
// them die or leave, at a cost that does not grow with the line. docs/fair-lock.md has the figures.
import { count, ms, someNumbers } from '../run/options.js'
import type { Worker } from '../run/fleet.js'
import { seededRandom, type SeededRandom } from '../run/random.js'
import { defineScenario, type Run } from '../run/scenario.js'
import { table } from '../run/table.js'
import { callersOfLine } from './fair-line/callers.js'
import { Line, type Finished } from './fair-line/line.js'

const HOLD_MS = 5
// What a gap may have on top: answers under way, and a process that is busy when it is told.
const SLACK_MS = 300
// So rare that none falls into a measurement: a hand-over is measured, not the heartbeats beside it.
const RARE_RESYNC_MS = 60_000
const HAND_OVERS = 400
const FEWEST_ROUNDS = 3
const MOST_TIMES = 2.5
const MOST = 100_000

const options = {
  waiters: count(500, 'callers in line', { most: MOST }),
  processes: count(4, 'processes they come from', { most: MOST }),
  small: count(20, 'processes where a tenth of them is killed', { least: 2, most: MOST }),
  resync: ms(1_000, 'heartbeat of each process', { least: 1 }),
  sizes: someNumbers([10, 100, 1_000], 'lengths of the lines whose cost is measured'),
}

type FairRun = Run<typeof options>

export const fairLine = defineScenario({
  name: 'fair-line',
  summary: 'The line of a fair lock: in order, whichever callers die or leave, at a constant cost.',
  options,
  smoke: '--waiters 60 --processes 4 --small 5 --resync 250 --sizes 10,60',
  long: '',

  async run(run) {
    const { waiters, processes, small, sizes } = run.options
    run.progress(`${waiters} waiters from ${processes} processes`)
    const inOrder = await order(run)
    run.progress(`${waiters} waiters from ${small} processes, a fifth of them dies or leaves`)
    const withDeaths = await deaths(run)
    const costs = await cost(run, sizes)
    const figures = { order: inOrder, deaths: withDeaths, cost: costs }
    return {
      figures,
      report: reportOf(figures),
      violations: Object.values(figures).flatMap(({ problems }) => problems),
    }
  },

  worker: callersOfLine,
})

/** Every process lives: all callers are served, in the order in which Redis put them in line. */
const order = async (run: FairRun): Promise<Order> => {
  const { waiters, processes, resync: resyncMs } = run.options
  const line = await Line.start(run, { processes, resyncMs, leaseMs: 10_000, holdMs: 0 })
  const hold = await line.lock.acquire()
  await line.stand(waiters)
  const places = await line.waiting()
  const startedAt = performance.now()
  await hold.release()
  const workers = await line.finish()
  const tookMs = performance.now() - startedAt
  const served = (await line.served()).map(({ owner }) => owner)
  const left = await line.close()
  const wrong = served.findIndex((owner, i) => owner !== places[i])
  const failed = workers.flatMap(({ ends }) => Object.entries(ends).filter(([end]) => end !== 'served'))
  const problems = [
    ...(wrong >= 0
      ? [`I10 place ${wrong + 1} of the line was ${places[wrong]}, served was ${served[wrong]}`]
      : []),
    ...(served.length !== places.length
      ? [`I10 ${places.length} stood in line, ${served.length} were served`]
      : []),
    ...failed.map(([end, callers]) => `${callers} callers ended with ${end}`),
    ...left.map(({ key }) => `I8 ${key} is left`),
  ]
  return { waiters, processes, tookMs, problems }
}

interface Order {
  readonly waiters: number
  readonly processes: number
  readonly tookMs: number
  readonly problems: string[]
}

/**
 * A tenth of the processes is killed and a tenth of the callers leaves, at random moments while the line moves. The
 * rest is served in order, and waits for the dead no longer than two heartbeats.
 */
const deaths = async (run: FairRun): Promise<Deaths> => {
  const { waiters, small, resync: resyncMs } = run.options
  // A holder that is killed leaves a lease; it ends when its place in line would have.
  const line = await Line.start(run, { processes: small, resyncMs, leaseMs: 2 * resyncMs, holdMs: HOLD_MS })
  const hold = await line.lock.acquire()
  // So that every process that dies has waiters near the head of the line.
  await line.standMixed(waiters)
  const places = await line.waiting()
  await hold.release()
  const killed = await takeAway(line, seededRandom(run.seed), { waiters, small })
  const workers = await line.finish()
  const served = await line.served()
  const standing = await line.waiting()
  const left = await line.close()
  return judgeDeaths({ places, served, killed, workers, left, standing, allowedMs: 2 * resyncMs })
}

/** All in the first half, while those concerned still stand there. @returns the client ids of those that were killed */
const takeAway = async (
  line: Line,
  random: SeededRandom,
  { waiters, small }: { waiters: number; small: number },
): Promise<string[]> => {
  const kills = Array.from({ length: Math.max(1, Math.round(small / 10)) }, () => 'kill')
  const aborts = Array.from({ length: Math.round(waiters / 10) }, () => 'abort')
  const events = [...kills, ...aborts]
    .map((what) => ({ what, after: random.whole(Math.ceil(waiters / 2)) }))
    .sort((a, b) => a.after - b.after)
  const killed: string[] = []
  const perProcess = new Map<Worker, number>()
  // The line goes on meanwhile.
  const underWay: Promise<unknown>[] = []
  for (const { what, after } of events) {
    await line.untilServed(after)
    const worker = random.pick(line.fleet.workers)
    if (what === 'kill') {
      killed.push(line.clientIdOf(worker))
      underWay.push(line.fleet.kill(worker))
    } else {
      // From the end: they came last, and most of them still wait.
      const index = (perProcess.get(worker) ?? 0) + 1
      perProcess.set(worker, index)
      underWay.push(worker.process.call('abort', -index))
    }
  }
  // A request to a process that was killed before it answered is no failure.
  await Promise.allSettled(underWay)
  return killed
}

interface Deaths {
  readonly died: number
  readonly left: number
  readonly longestGapMs: number
  readonly allowedMs: number
  readonly stallMs: number
  readonly problems: string[]
}

const judgeDeaths = (seen: {
  readonly places: readonly string[]
  readonly served: readonly { owner: string; atMs: number }[]
  readonly killed: readonly string[]
  readonly workers: readonly Finished[]
  readonly left: readonly { key: string; ttlMs: number }[]
  readonly standing: readonly string[]
  readonly allowedMs: number
}): Deaths => {
  const { served, killed, workers, allowedMs } = seen
  const places = new Map(seen.places.map((owner, i) => [owner, i]))
  const placeOf = (owner: string | undefined): number => places.get(owner ?? '') ?? -1
  const clientOf = (owner: string): string => owner.slice(0, owner.lastIndexOf(':'))
  const missing = seen.places.filter((owner) => !served.some((each) => each.owner === owner))
  const missingOf = (clientId: string): number =>
    missing.filter((owner) => clientOf(owner) === clientId).length
  const gaps = served.slice(1).map(({ atMs }, i) => atMs - (served[i]?.atMs ?? atMs))
  const longestGapMs = Math.max(...gaps) - HOLD_MS
  const stallMs = Math.max(...workers.map((worker) => worker.stallMs))
  const overtaken = served.find(({ owner }, i) => i > 0 && placeOf(owner) < placeOf(served[i - 1]?.owner))
  const died = killed.reduce((sum, clientId) => sum + missingOf(clientId), 0)
  const problems = [
    ...(overtaken ? [`I10 ${overtaken.owner} was served after one that came later`] : []),
    ...workers.flatMap(({ clientId, ends }) => problemsOf(ends, missingOf(clientId))),
    ...(longestGapMs > allowedMs + SLACK_MS + stallMs
      ? [`I4 the lock had no holder for ${Math.round(longestGapMs)} ms`]
      : []),
    ...seen.standing
      .filter((owner) => !killed.includes(clientOf(owner)))
      .map((owner) => `I8 ${owner} is in line, and lives`),
    // A key with an end may stay: no living waiter stood behind the last of the dead, and passed them over.
    ...seen.left.filter(({ ttlMs }) => ttlMs === -1).map(({ key }) => `I8 ${key} is left for ever`),
  ]
  return { died, left: missing.length - died, longestGapMs, allowedMs, stallMs, problems }
}

/** Of one process that lived: callers that were not served had been taken away. */
const problemsOf = (
  { served = 0, aborted = 0, ...failed }: Readonly<Record<string, number>>,
  missing: number,
): string[] => [
  ...(missing === aborted
    ? []
    : [`I10 ${missing} of a process were not served, ${aborted} of them had left`]),
  ...Object.entries(failed).map(
    ([end, callers]) => `${callers} callers ended with ${end}, ${served} were served`,
  ),
]

interface CostRow {
  readonly waiters: number
  readonly scripts: number
  readonly luaUs: number
  readonly perSecond: number
}

/**
 * What a hand-over to another client costs Redis, by the length of the line: scripts, and microseconds in scripts, by its
 * own count. The best of several rounds: other work of the machine only adds.
 */
const cost = async (
  run: FairRun,
  sizes: readonly number[],
): Promise<{ rows: CostRow[]; problems: string[] }> => {
  // A hand-over inside a process costs Redis nothing: the longer the line, the more of them there would be.
  const line = await Line.start(run, {
    processes: run.options.processes,
    ...{ resyncMs: RARE_RESYNC_MS, leaseMs: 60_000, holdMs: 0, localPassing: false },
  })
  const rows: CostRow[] = []
  for (const waiters of sizes) {
    run.progress(`a line of ${waiters}`)
    const rounds = []
    const times = Math.max(FEWEST_ROUNDS, Math.ceil(HAND_OVERS / waiters))
    for (let i = 0; i < times; i += 1) rounds.push(await round(line, waiters))
    rows.push({
      waiters,
      scripts: Math.max(...rounds.map(({ scripts }) => scripts)),
      luaUs: Math.min(...rounds.map(({ luaUs }) => luaUs)),
      perSecond: Math.max(...rounds.map(({ perSecond }) => perSecond)),
    })
  }
  await line.close()
  const cheapest = Math.min(...rows.map(({ luaUs }) => luaUs))
  const problems = rows.flatMap(({ waiters, scripts, luaUs }) => [
    ...(scripts > 2 ? [`a hand-over took ${scripts.toFixed(2)} scripts in a line of ${waiters}`] : []),
    ...(luaUs > MOST_TIMES * cheapest
      ? [`a hand-over took ${luaUs.toFixed(0)} µs in a line of ${waiters}, ${cheapest.toFixed(0)} in another`]
      : []),
  ])
  return { rows, problems }
}

/** The holder stands in line again, as the last: what is counted begins and ends with a hand-over. */
const round = async (line: Line, waiters: number): Promise<Omit<CostRow, 'waiters'>> => {
  const hold = await line.lock.acquire()
  await line.stand(waiters)
  const last = line.lock.acquire()
  await line.untilInLine(waiters + 1)
  await line.resetStats()
  const startedAt = performance.now()
  await hold.release()
  const lastHold = await last
  const tookMs = performance.now() - startedAt
  const { calls, usec } = await line.scriptStats()
  await lastHold.release()
  await line.finish()
  await line.forgetServed()
  const handOvers = waiters + 1
  return { scripts: calls / handOvers, luaUs: usec / handOvers, perSecond: (handOvers * 1_000) / tookMs }
}

const reportOf = (found: { order: Order; deaths: Deaths; cost: { rows: CostRow[] } }): string[] => [
  `order: ${found.order.waiters} callers of ${found.order.processes} processes, served in ${Math.round(found.order.tookMs)} ms`,
  `deaths: ${found.deaths.died} waiters died, ${found.deaths.left} left; longest time without a holder ${Math.round(found.deaths.longestGapMs)} ms, ` +
    `two heartbeats are ${found.deaths.allowedMs} ms (a process stood still for ${Math.round(found.deaths.stallMs)} ms)`,
  'cost of a hand-over:',
  '',
  ...table([
    ['waiters', 'scripts', 'Lua µs', 'hand-overs/s'],
    ...found.cost.rows.map(({ waiters, scripts, luaUs, perSecond }) => [
      String(waiters),
      scripts.toFixed(2),
      luaUs.toFixed(0),
      perSecond.toFixed(0),
    ]),
  ]),
]
