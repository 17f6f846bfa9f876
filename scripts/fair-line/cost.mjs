import { Crew } from './crew.mjs'

// So rare that none falls into a measurement: a hand-over is measured, not the heartbeats beside it.
const RESYNC_MS = 60_000
const HAND_OVERS = 400
const FEWEST_ROUNDS = 3
const MOST_TIMES = 2.5

/**
 * What a hand-over to another client costs Redis, by the length of the line: scripts, and microseconds in scripts, by its
 * own count. The best of several rounds: whatever else runs on the machine only adds.
 *
 * @param {{ processes: number, sizes: number[] }} wanted
 * @param {{ interrupted: AbortSignal, log: (line: string) => void }} parts
 */
export const cost = async ({ processes, sizes }, { interrupted, log }) => {
  // Nothing that is handed over inside a process costs Redis anything: the longer the line, the more of that there would be.
  const settings = {
    processes,
    resyncMs: RESYNC_MS,
    leaseMs: 60_000,
    holdMs: 0,
    localPassing: false,
    interrupted,
  }
  const crew = await Crew.start(settings)
  try {
    const rows = []
    for (const waiters of sizes) {
      log(`a line of ${waiters}`)
      const rounds = []
      const count = Math.max(FEWEST_ROUNDS, Math.ceil(HAND_OVERS / waiters))
      for (let i = 0; i < count; i += 1) rounds.push(await round(crew, waiters))
      rows.push(bestOf(waiters, rounds))
    }
    await crew.close()
    return { rows, problems: problemsOf(rows) }
  } finally {
    await crew.stop()
  }
}

/** The holder stands in line again, as the last: what is counted begins and ends with a hand-over. */
const round = async (crew, waiters) => {
  const hold = await crew.lock.acquire()
  await crew.stand(waiters)
  const last = crew.lock.acquire()
  await crew.untilInLine(waiters + 1)
  await crew.resetStats()
  const startedAt = performance.now()
  await hold.release()
  const lastHold = await last
  const tookMs = performance.now() - startedAt
  const { calls, usec } = await crew.scriptStats()
  await lastHold.release()
  await crew.finish()
  await crew.forgetServed()
  const handOvers = waiters + 1
  return { scripts: calls / handOvers, luaUs: usec / handOvers, perSecond: (handOvers * 1_000) / tookMs }
}

const bestOf = (waiters, rounds) => ({
  waiters,
  scripts: Math.max(...rounds.map(({ scripts }) => scripts)),
  luaUs: Math.min(...rounds.map(({ luaUs }) => luaUs)),
  perSecond: Math.max(...rounds.map(({ perSecond }) => perSecond)),
})

const problemsOf = (rows) => {
  const cheapest = Math.min(...rows.map(({ luaUs }) => luaUs))
  return rows.flatMap(({ waiters, scripts, luaUs }) => [
    ...(scripts > 2 ? [`a hand-over took ${scripts.toFixed(2)} scripts in a line of ${waiters}`] : []),
    ...(luaUs > MOST_TIMES * cheapest
      ? [`a hand-over took ${luaUs.toFixed(0)} µs in a line of ${waiters}, ${cheapest.toFixed(0)} in another`]
      : []),
  ])
}
