// Breaks Holdfast in every way there is, at random from a seed, and checks what its processes saw. How to read the
// verdict: docs/reliability.md.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RedisServer } from '@holdfast/testing'
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './torture/arguments.mjs'
import { happen } from './torture/faults.mjs'
import { Fleet } from './torture/fleet.mjs'
import { openHistory, readHistories } from './torture/history-file.mjs'
import { nowMs } from './shared-clock.mjs'
import { lockNames } from './torture/lock-names.mjs'
import { seededRandom } from './torture/random.mjs'
import { leftBehind, verdict } from './torture/verdict.mjs'
import { runScript } from './script-main.mjs'

// Until the last fault has healed everywhere: reconnects, leases of processes that were killed.
const SETTLE_MS = 3_000
const PROGRESS_MS = 5_000
const log = (line) => console.error(line)
const interrupted = interruption()

const torture = async (wanted) => {
  const redis = await RedisServer.start()
  const register = await RedisServer.start()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-torture-'))
  const locks = lockNames(wanted.locks, wanted.kinds)
  const { flows, seed, leaseMs, resyncMs, delayMs, dropNth, interop } = wanted
  const file = join(folder, 'faults.jsonl')
  const history = openHistory(file, 'torture')
  const fleet = new Fleet(redis, {
    ...{ folder, register, locks, flows, seed, history },
    ...{ leaseMs, resyncMs, delayMs, dropNth },
    more: { interop },
  })
  try {
    await fleet.start(wanted.processes)
    // Until when a copy may arrive, and until when one that met no latch may do harm.
    const copies = { untilMs: 0, harmlessAtMs: 0, losses: 0 }
    const run = { redis, register, fleet, locks, leaseMs, random: seededRandom(seed), history, copies }
    await faultsFor(wanted, run)
    await fleet.finish()
    history.add('end', await leftBehind(redis, { leaseMs }))
    const events = readHistories([...fleet.files, file])
    if (wanted.history) {
      await writeFile(wanted.history, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
    }
    return verdict(events)
  } finally {
    history.close()
    await fleet.stop()
    await redis.stop()
    await register.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** One fault after another, with a moment of peace between them. */
const faultsFor = async ({ minutes, faults }, run) => {
  const endsAt = performance.now() + minutes * 60_000
  const startedAt = performance.now()
  let [count, told, last] = [0, startedAt, 'none']
  while (performance.now() < endsAt) {
    interrupted.throwIfAborted()
    if (faults.length > 0) {
      last = run.random.pick(faults)
      await happen(last, run)
      count += 1
    }
    await sleep(run.random.between(0, 500))
    if (performance.now() - told >= PROGRESS_MS) {
      told = performance.now()
      log(
        `${Math.round((told - startedAt) / 1000)} s  ${count} faults, the last one ${last}, ${await fleetProgress(run)} acquisitions`,
      )
    }
  }
  await sleep(Math.max(SETTLE_MS, run.copies.harmlessAtMs - nowMs()))
}

/** By the processes that are there now; one that was killed took its count along. */
const fleetProgress = async ({ fleet }) => {
  const counts = await Promise.all(fleet.workers.map(({ process }) => process.call('progress')))
  return counts.reduce((sum, count) => sum + count, 0)
}

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ seed, minutes, kinds, processes, flows, interop }) =>
    `seed ${seed}, ${minutes} min, ${kinds.join(', ')}, ${processes} processes with ${flows} callers each, interop ${interop}`,
  run: async (wanted) => {
    const { text, violations } = await torture(wanted)
    console.log(text)
    return violations === 0
  },
})
