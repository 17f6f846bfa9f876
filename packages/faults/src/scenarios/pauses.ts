// Stops and blocks processes that hold locks, for less and for more than their lease, while others want the locks,
// and checks what each believed. How to read the verdict: docs/reliability.md.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import type { Worker } from '../run/fleet.js'
import { readHistories } from '../run/history-file.js'
import { count, ms } from '../run/options.js'
import { seededRandom, type SeededRandom } from '../run/random.js'
import { defineScenario, type Roles, type Run } from '../run/scenario.js'
import type { Pause, PauseEvent } from './pauses/events.js'
import { Holder, Rival } from './pauses/holder.js'
import { locksOf, TAKEN } from './pauses/holds.js'
import { Participant, type ParticipantSettings } from './pauses/participant.js'
import { verdictOf } from './pauses/verdict.js'

/** Lengths of a pause, in leases. */
const PARTS = [0.1, 0.5, 0.9, 1, 1.5, 2, 3]
const WAYS = ['stopped', 'blocked'] as const
const RIVALS = 2
const PROGRESS_MS = 5_000

const OPTIONS = {
  rounds: count(3, 'how often each holder is paused in every way and length'),
  holders: count(4, 'processes that are paused'),
  // Below it the time a signal takes to arrive would be a large part of the shortest pause.
  lease: ms(1_000, 'how long a lock lasts without renewal', { least: 300 }),
}

export const pauses = defineScenario({
  name: 'pauses',
  summary: 'Holders that are stopped or blocked for 0.1 to 3 leases, and what they write blindly.',
  options: OPTIONS,
  smoke: '--rounds 1 --holders 2 --lease 500',
  long: '',
  heading: ({ holders, lease }) => `${holders} processes to pause, lease ${lease} ms`,

  async run(run) {
    const { options, fleet, seed } = run
    const leaseMs = options.lease
    const redis = await run.redis()
    const observer = await LockClient.connect(redis.url, { clientName: 'observer', bareCalls: 'allow' })
    run.after(() => observer.close({ graceMs: 0 }))
    await observer.getLock(TAKEN).acquire()
    const holders = Array.from({ length: options.holders }, (_, i) => `holder-${i}`)
    const common = (): object => ({
      leaseMs,
      directPort: redis.port,
      // Over during the longer pauses, so that this timer of the library resumes a caller too.
      commandTimeoutMs: leaseMs / 2,
      seed: seed * 100 + fleet.files.length + 1,
    })
    for (let i = 0; i < RIVALS; i += 1)
      await fleet.launch({ ...common(), port: redis.port, rivalFor: holders.flatMap(locksOf) })
    const paused: Worker[] = []
    for (const holder of holders) {
      // Calls have to be under way when the pause begins, and their answers must come during it.
      const isolate = ({ proxy }: Worker): void => proxy?.delay(Math.min(25, leaseMs / 40))
      paused.push(await fleet.launch({ ...common(), holder }, { through: redis, isolate }))
    }
    const done = await pauseAll(run, paused)
    await fleet.callAll('finish')
    return verdictOf(readHistories<PauseEvent>(fleet.files), { parts: PARTS, pauses: done, leaseMs })
  },

  worker(): Roles {
    let participant: Participant
    let holder: Holder | undefined
    let rival: Rival | undefined
    return {
      async begin(wanted: Begin) {
        const { seed, leaseMs } = wanted
        participant = new Participant(wanted)
        await participant.connected()
        if (wanted.holder !== undefined)
          holder = new Holder(participant, { holder: wanted.holder, leaseMs, seed })
        if (wanted.rivalFor) rival = new Rival(participant, { locks: wanted.rivalFor, leaseMs, seed })
      },
      round: (pause: Pause & { ms: number }) => holder?.round(pause),
      async finish() {
        await rival?.finish()
        await participant.close()
      },
    }
  },
})

interface Begin extends ParticipantSettings {
  readonly seed: number
  /** In the names of the locks of a process that is paused. */
  readonly holder?: string
  /** The locks that a process wants that is not paused. */
  readonly rivalFor?: readonly string[]
}

/** Each holder has its own order: pauses of different lengths meet. */
const pauseAll = async (
  { options: { rounds, lease }, seed, interrupted, progress }: Run<typeof OPTIONS>,
  holders: readonly Worker[],
): Promise<{ part: number; resumptions: number }[]> => {
  const total = rounds * holders.length * PARTS.length * WAYS.length
  const done: { part: number; resumptions: number }[] = []
  let toldAt = performance.now()
  const pauseOne = async (holder: Worker, random: SeededRandom): Promise<void> => {
    for (const each of shuffled(rounds, random)) {
      interrupted.throwIfAborted()
      done.push({ ...each, resumptions: await pause(holder, each, lease) })
      if (performance.now() - toldAt < PROGRESS_MS) continue
      toldAt = performance.now()
      progress(`${done.length} of ${total} pauses`)
    }
  }
  await Promise.all(holders.map((holder, i) => pauseOne(holder, seededRandom(seed * 1_000 + i))))
  return done
}

/** One pause of one holder. @returns how often a call of the library resumed the user */
const pause = async ({ process }: Worker, { way, part }: Pause, leaseMs: number): Promise<number> => {
  const forMs = part * leaseMs
  const round = process.call('round', { way, ms: forMs, part }) as Promise<number>
  if (way === 'stopped') {
    await Promise.race([process.once('ready'), round])
    await process.pause()
    await sleep(forMs)
    process.resume()
  }
  return round
}

const shuffled = (rounds: number, random: SeededRandom): Pause[] =>
  Array.from({ length: rounds }, () => WAYS.flatMap((way) => PARTS.map((part) => ({ way, part }))))
    .flat()
    .map((each) => ({ each, rank: random.next() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ each }) => each)
