import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RedisServer } from '@holdfast/testing'
import { happen } from '../torture/faults.mjs'
import { Fleet } from '../torture/fleet.mjs'
import { openHistory, readHistories } from '../torture/history-file.mjs'
import { nowMs } from '../shared-clock.mjs'
import { seededRandom } from '../torture/random.mjs'
import { poolsAtRest, seatsAtRest } from './at-rest.mjs'
import { deaths } from './deaths.mjs'
import { LatchRounds } from './latch-rounds.mjs'
import { namesFor, semaphoreNamed } from './names.mjs'
import { Truth } from './truth.mjs'
import { verdict } from './verdict.mjs'

const MODULE = new URL('./worker.mjs', import.meta.url)
const EACH = 4
// What killed processes had without an end is lost: others begin before nothing is left.
const ROUND_MS = 3_000
// Until the last fault has healed everywhere: reconnects, leases of processes that were killed.
const SETTLE_MS = 2_500

/** @param {any} wanted @param {{ interrupted: AbortSignal, log: (line: string) => void }} parts */
export const run = async (wanted, parts) => {
  const redis = await RedisServer.start()
  const register = await RedisServer.start()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-semaphores-'))
  const file = join(folder, 'faults.jsonl')
  const history = openHistory(file, 'semaphores')
  const { callers: flows, seed, leaseMs, resyncMs, permits } = wanted
  const settings = {
    ...{ module: MODULE, more: { permits }, folder, register, locks: [], flows, seed, history },
    ...{ leaseMs, resyncMs, delayMs: 0, dropNth: 0 },
  }
  const fleet = new Fleet(redis, settings)
  const truth = new Truth(register.port)
  try {
    await fleet.start(wanted.processes)
    const state = { redis, register, fleet, settings, truth, history, random: seededRandom(seed), ...parts }
    const seen = await observe(wanted, state)
    const events = readHistories([...fleet.files, file])
    if (wanted.history) {
      await writeFile(wanted.history, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    }
    return verdict(events, seen, wanted)
  } finally {
    history.close()
    await truth.close()
    await fleet.stop()
    await redis.stop()
    await register.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Rounds with faults, then a look at what is there at rest, then deaths at rest. */
const observe = async (wanted, state) => {
  const { fleet, redis } = state
  const { kinds, permits, leaseMs } = wanted
  const latches = new LatchRounds(fleet)
  const counting = kinds.includes('latch') ? latches.run() : Promise.resolve()
  // Thrown later: a process that takes the place of a killed one would outlive a run that ends here.
  const failed = counting.then(
    () => null,
    (error) => error,
  )
  const names = await rounds(wanted, state)
  latches.stop()
  const error = await failed
  if (error) throw error
  await Promise.all(fleet.workers.map(({ process }) => process.call('rest')))
  const { observer } = fleet
  const pools = await poolsAtRest(observer, state.truth, names)
  const seats = await seatsAtRest(observer, names, { permits, leaseMs })
  const counts = await latches.atRest()
  state.history.add('at-rest')
  state.settings.locks = []
  const dead = await deaths(fleet, wanted)
  await fleet.finish()
  return { pools, seats, latches: counts, deaths: dead, left: await leftIn(redis) }
}

/** @returns {Promise<string[]>} the names that were used */
const rounds = async ({ seconds, kinds, permits, faults, leaseMs }, state) => {
  const { fleet, settings, random, history, interrupted, log } = state
  const all = []
  const copies = { untilMs: 0, harmlessAtMs: 0, losses: 0 }
  const endsAt = performance.now() + seconds * 1_000
  for (let round = 0; performance.now() < endsAt; round += 1) {
    const names = namesFor(round, kinds, EACH)
    for (const name of names) await semaphoreNamed(fleet.observer, name).trySetPermits(permits)
    all.push(...names)
    // Whoever comes later has to know as well.
    settings.locks = names
    await Promise.all(fleet.workers.map(({ process }) => process.call('round', names)))
    const roundEndsAt = Math.min(endsAt, performance.now() + ROUND_MS)
    while (performance.now() < roundEndsAt) {
      interrupted.throwIfAborted()
      if (faults.length > 0)
        await happen(random.pick(faults), { ...state, locks: names, leaseMs, history, copies })
      await sleep(random.between(0, 500))
    }
    log(`${Math.round((performance.now() - endsAt) / 1_000)} s  round ${round + 1}`)
  }
  await sleep(Math.max(SETTLE_MS, copies.untilMs - nowMs()))
  return all
}

/** Counters stay, and the records of operations end by themselves. */
const leftIn = async (redis) => {
  const channels = await redis.command('PUBSUB', 'CHANNELS')
  const keys = await redis.command('KEYS', '*')
  return [
    ...channels,
    ...keys.filter((key) => !/^(semaphore:|permits:|latch:|holdfast:operations:)/.test(key)),
  ]
}
