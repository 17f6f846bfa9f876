// Random reads and writes of several processes behind one read-write lock, without faults; then a stream of reads, among
// which one process writes.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadWriteLock } from '@holdfast/core'
import type { HistoryEvent, Mode } from '@holdfast/faults/harness'
import type { Fleet } from '../run/fleet.js'
import { judge } from '../run/judge.js'
import { count, flag } from '../run/options.js'
import { seededRandom, type SeededRandom } from '../run/random.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { nowMs } from '../run/shared-clock.js'
import { Attempt, release } from '../workload/attempt.js'
import { leftBehind } from '../workload/left-behind.js'
import { ObservedClient, shared } from '../workload/observed-client.js'
import { scriptsOf } from '../workload/server-stats.js'

const LOCK = 'shared-value'
/** How long a caller may wait. A longer wait means that it is kept out, or was not woken. */
const LIMIT_MS = 10_000
const READS = 0.8
const LONGEST_OPERATION_MS = 4
// Long enough that some caller reads at every moment, whatever a single one does.
const LONGEST_READ_OF_STREAM_MS = 20

interface Phase {
  readonly fromMs: number
  readonly operations: number
  readonly scripts: number
  readonly seconds: number
}

const sharesOf = (total: number, parts: number): number[] =>
  Array.from({ length: parts }, (_, i) => Math.floor((total + i) / parts))

export const readersAndWriters = defineScenario({
  name: 'readers-and-writers',
  summary: 'Reads and writes of several processes behind one read-write lock; nobody is kept out.',
  options: {
    operations: count(10_000, 'reads and writes; half as many reads follow as a stream'),
    processes: count(4, 'worker processes'),
    callers: count(8, 'callers in each process'),
    noStandingBack: flag('readers do not stand back behind writers, for comparison'),
  },
  smoke: '--operations 800 --processes 3',
  long: '',

  async run(run) {
    const { options, fleet, history, seed } = run
    const redis = await run.redis()
    for (let i = 0; i < options.processes; i += 1) {
      const { port } = redis
      const readersStandBack = !options.noStandingBack
      await fleet.launch({ port, callers: options.callers, readersStandBack, seed: seed * 1_000 + i })
    }
    const measured = async (what: string, go: () => Promise<unknown>): Promise<Phase> => {
      const [scripts, operations] = [await scriptsOf(redis), await operationsOf(fleet)]
      const [fromMs, startedAt] = [nowMs(), performance.now()]
      run.progress(what)
      await run.unlessInterrupted(go())
      return {
        fromMs,
        operations: (await operationsOf(fleet)) - operations,
        scripts: (await scriptsOf(redis)) - scripts,
        seconds: (performance.now() - startedAt) / 1_000,
      }
    }
    const [writer, ...others] = fleet.workers
    const mixed = await measured('reads and writes', () => {
      const shares = sharesOf(options.operations, fleet.workers.length)
      return Promise.all(fleet.workers.map(({ process }, i) => process.call('mixed', shares[i])))
    })
    const stream = await measured('a stream of reads', async () => {
      const readers = others.length > 0 ? others : fleet.workers
      const shares = sharesOf(Math.ceil(options.operations / 2), readers.length)
      const writing = writer?.process.call('write')
      await Promise.all(readers.map(({ process }, i) => process.call('read', shares[i])))
      await writer?.process.call('enough')
      await writing
    })
    await fleet.callAll('finish')
    history.add('end', await leftBehind(redis, 0))
    let most = { readers: 0, processes: 0 }
    const limits = { liveness: { deadlineMs: LIMIT_MS, graceMs: 0 }, handOff: { limitMs: 1_000, calmMs: 0 } }
    const verdict = judge(run, limits, (events) => {
      most = mostReaders(events)
      return reportOf(events, { mixed, stream }, most)
    })
    const proof =
      most.readers > 1 ? [] : ['No two readers were ever inside at once: this run proves nothing.']
    return { ...verdict, violations: [...verdict.violations, ...proof] }
  },

  worker(): Roles {
    let client: ObservedClient
    let both: ReadWriteLock
    let callers: { name: string; random: SeededRandom }[] = []
    let operations = 0
    let isEnough = false

    /** One read or write, from the call to the release. */
    const operate = async (caller: number, mode: Mode, longestMs: number): Promise<void> => {
      const { name, random } = callers[caller] as (typeof callers)[number]
      const lock = mode === 'shared' ? both.readLock() : both.writeLock()
      const id = `${name}#${(operations += 1)}`
      const attempt = new Attempt(client.history, { lock: LOCK, attempt: id, mode, deadlineMs: LIMIT_MS })
      const held = attempt.acquired(await lock.acquire())
      await sleep(random.between(0, longestMs))
      held.hold.ensure()
      if (mode === 'exclusive') client.history.add('write', { lock: LOCK, owner: held.owner, accepted: true })
      await release(client.history, held)
    }
    return {
      begin(wanted: {
        name: string
        file: string
        port: number
        callers: number
        seed: number
        readersStandBack: boolean
      }) {
        const { name, readersStandBack } = wanted
        client = new ObservedClient(wanted)
        both = client.locks.getReadWriteLock(LOCK, { readersStandBack })
        callers = Array.from({ length: wanted.callers }, (_, i) => ({
          name: `${name}/${i}`,
          random: seededRandom(wanted.seed * 100 + i),
        }))
      },
      mixed: (times: number) =>
        shared(times, callers.length, (i) =>
          operate(
            i,
            callers[i]?.random.chance(READS) === true ? 'shared' : 'exclusive',
            LONGEST_OPERATION_MS,
          ),
        ),
      read: (times: number) =>
        shared(times, callers.length, (i) => operate(i, 'shared', LONGEST_READ_OF_STREAM_MS)),
      /** One caller, until it is told that it is enough. */
      async write() {
        while (!isEnough) {
          await operate(0, 'exclusive', LONGEST_OPERATION_MS)
          await sleep(callers[0]?.random.between(0, LONGEST_READ_OF_STREAM_MS))
        }
      },
      enough() {
        isEnough = true
      },
      progress: () => operations,
      finish: () => client.close(),
    }
  },
})

const operationsOf = async (fleet: Fleet): Promise<number> =>
  (await fleet.callAll<number>('progress')).reduce((sum, each) => sum + each, 0)

/** The moment at which most readers were inside, and how many processes they were of. */
const mostReaders = (events: readonly HistoryEvent[]): { readers: number; processes: number } => {
  const [reads, inside] = [new Set<string | number>(), new Map<string, string>()]
  let most = { readers: 0, processes: 0 }
  for (const event of events) {
    if (event.kind === 'acquire-begin' && event.mode === 'shared') reads.add(event.attempt)
    else if (event.kind === 'acquired' && reads.has(event.attempt)) inside.set(event.owner, event.process)
    else if (event.kind === 'release-begin') inside.delete(event.owner)
    if (inside.size > most.readers) most = { readers: inside.size, processes: new Set(inside.values()).size }
  }
  return most
}

interface ServedWait {
  readonly mode: Mode
  readonly atMs: number
  readonly ms: number
}

/** Of each call that was served: when it was made, and how long it took. */
const waitsOf = (events: readonly HistoryEvent[]): ServedWait[] => {
  const begun = new Map<string | number, { mode: Mode; atMs: number }>()
  return events.flatMap((event) => {
    if (event.kind === 'acquire-begin')
      begun.set(event.attempt, { mode: event.mode ?? 'exclusive', atMs: event.atMs })
    const begin = event.kind === 'acquired' ? begun.get(event.attempt) : undefined
    return begin ? [{ ...begin, ms: event.atMs - begin.atMs }] : []
  })
}

const reportOf = (
  events: readonly HistoryEvent[],
  { mixed, stream }: { readonly mixed: Phase; readonly stream: Phase },
  most: { readonly readers: number; readonly processes: number },
): string[] => {
  const waits = waitsOf(events)
  const line = (phase: Phase, served: readonly ServedWait[]): string => {
    const of = (mode: Mode): string => {
      const times = served.filter((each) => each.mode === mode).map(({ ms }) => ms)
      return `${times.length} ${mode === 'shared' ? 'reads' : 'writes'} (longest wait ${Math.round(Math.max(0, ...times))} ms)`
    }
    return `${phase.operations} operations in ${phase.seconds.toFixed(1)} s, ${(phase.scripts / phase.operations).toFixed(2)} scripts each: ${of('shared')}, ${of('exclusive')}`
  }
  return [
    line(
      mixed,
      waits.filter(({ atMs }) => atMs < stream.fromMs),
    ),
    `a stream of reads: ${line(
      stream,
      waits.filter(({ atMs }) => atMs >= stream.fromMs),
    )}`,
    `up to ${most.readers} readers of ${most.processes} processes inside at once`,
  ]
}
