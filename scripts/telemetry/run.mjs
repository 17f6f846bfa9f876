import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { RedisServer } from '@holdfast/faults/harness'
import { happen } from '../torture/faults.mjs'
import { Fleet } from '../torture/fleet.mjs'
import { openHistory } from '../torture/history-file.mjs'
import { KINDS, lockNames } from '../torture/lock-names.mjs'
import { seededRandom } from '../torture/random.mjs'
import { POOL, SEATS } from './caller.mjs'
import { compare } from './compare.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)
const LOCKS = 12
const PERMITS = 3

/** Looks at each process before it is killed and when it has ended. */
class WatchedFleet extends Fleet {
  looks = []
  killed = 0

  async replace(worker) {
    await this.look(worker, false)
    this.killed += 1
    await super.replace(worker)
  }

  async finish() {
    await Promise.all(this.workers.map(({ process }) => process.call('rest')))
    for (const worker of this.workers) await this.look(worker, true)
    await super.finish()
  }

  async look({ name, process }, atRest) {
    const seen = await process.call('look')
    this.looks.push({ name, counted: seen.counted, ...compare(name, seen, atRest) })
  }
}

/** @param {any} wanted @param {AbortSignal} interrupted */
export const run = async (wanted, interrupted) => {
  const { seed, callers, leaseMs, resyncMs, processes } = wanted
  const redis = await RedisServer.start()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-telemetry-'))
  const history = openHistory(join(folder, 'faults.jsonl'), 'telemetry')
  const locks = lockNames(LOCKS, KINDS)
  const fleet = new WatchedFleet(redis, {
    ...{ folder, register: redis, locks, flows: callers, seed, history, module: WORKER },
    ...{ leaseMs, resyncMs, delayMs: 0, dropNth: 0 },
  })
  try {
    await preparePermits(redis.url)
    await fleet.start(processes)
    const random = seededRandom(seed)
    const faults = await faultsFor(
      wanted,
      { redis, fleet, locks, leaseMs, random, history, copies: {} },
      interrupted,
    )
    await fleet.finish()
    return { looks: fleet.looks, killed: fleet.killed, faults, problems: problemsOf(fleet.looks) }
  } finally {
    history.close()
    await fleet.stop()
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const preparePermits = async (url) => {
  const locks = await LockClient.connect(url)
  await locks.getSemaphore(POOL).trySetPermits(PERMITS)
  await locks.getPermitExpirableSemaphore(SEATS).trySetPermits(PERMITS)
  await locks.close()
}

const faultsFor = async ({ seconds, faults }, run, interrupted) => {
  const endsAt = performance.now() + seconds * 1_000
  let count = 0
  while (performance.now() < endsAt) {
    interrupted.throwIfAborted()
    await happen(run.random.pick(faults), run)
    count += 1
    await sleep(run.random.between(0, 300))
    // In the middle of everything: what is counted and what is exported are of one moment at any moment.
    for (const worker of run.fleet.workers) await run.fleet.look(worker, false)
  }
  return count
}

const problemsOf = (looks) => {
  const all = looks.flatMap(({ problems }) => problems)
  const calls = looks.reduce((sum, { counted }) => sum + Object.values(counted.calls).length, 0)
  return calls > 0 ? all : [...all, 'nobody has called for a lock']
}
