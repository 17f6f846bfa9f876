// Stops and blocks processes that hold locks, for less and for more than their lease, while others want the locks,
// and checks what everybody believed. How to read the verdict: docs/reliability.md.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisServer } from '@holdfast/testing'
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './pauses/arguments.mjs'
import { Fleet } from './pauses/fleet.mjs'
import { verdict } from './pauses/verdict.mjs'
import { readHistories } from './torture/history-file.mjs'
import { seededRandom } from './torture/random.mjs'
import { runScript } from './script-main.mjs'

/** Lengths of a pause, in leases. */
const PARTS = [0.1, 0.5, 0.9, 1, 1.5, 2, 3]
const WAYS = ['stopped', 'blocked']
const PROGRESS_MS = 5_000
const log = (line) => console.error(line)
const interrupted = interruption()

const standStill = async (wanted) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-pauses-'))
  const server = await RedisServer.start()
  const { leaseMs, seed } = wanted
  const fleet = new Fleet(server, { folder, leaseMs, seed })
  try {
    await fleet.start(wanted.holders)
    const pauses = await pauseAll(fleet, wanted)
    await fleet.finish()
    const events = readHistories(fleet.files)
    if (wanted.history) {
      await writeFile(wanted.history, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    }
    return verdict(events, { parts: PARTS, pauses, leaseMs })
  } finally {
    await fleet.stop()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Each holder has its own order: pauses of different lengths meet. */
const pauseAll = async (fleet, { rounds, seed, holders }) => {
  const startedAt = performance.now()
  const total = rounds * holders * PARTS.length * WAYS.length
  const done = []
  let told = startedAt
  const pauseOne = async (holder, random) => {
    for (const each of shuffled(rounds, random)) {
      interrupted.throwIfAborted()
      done.push({ ...each, resumptions: await fleet.pause(holder, each) })
      if (performance.now() - told < PROGRESS_MS) continue
      told = performance.now()
      log(`${Math.round((told - startedAt) / 1_000)} s  ${done.length} of ${total} pauses`)
    }
  }
  await Promise.all(fleet.holders.map((holder, i) => pauseOne(holder, seededRandom(seed * 1_000 + i))))
  return done
}

const shuffled = (rounds, random) =>
  Array.from({ length: rounds }, () => WAYS.flatMap((way) => PARTS.map((part) => ({ way, part }))))
    .flat()
    .map((each) => ({ each, rank: random.next() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ each }) => each)

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ seed, holders, leaseMs }) => `seed ${seed}, ${holders} processes to pause, lease ${leaseMs} ms`,
  run: async (wanted) => {
    const { text, isClean } = await standStill(wanted)
    console.log(text)
    return isClean
  },
})
