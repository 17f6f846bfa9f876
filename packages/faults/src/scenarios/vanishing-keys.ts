// Keys of locks vanish one by one, deleted by somebody or evicted: what is missing is rebuilt, and nobody overtakes,
// overlaps or sleeps for it. Replies get lost between them: only then does a release leave a tombstone.
import type { HistoryEvent } from '@holdfast/faults/harness'
import { readHistories } from '../run/history-file.js'
import { minutes, count, someOf } from '../run/options.js'
import { defineScenario, type Part } from '../run/scenario.js'
import { LOCK_KINDS } from '../workload/lock-kinds.js'
import { PARTS } from '../workload/vanishing.js'
import { semaphores } from './semaphores.js'
import { torture } from './torture.js'

const LEASE_MS = 1_500
/** Of the time of a run; the rest is for semaphores. */
const LOCKS = 0.85
/** Keys vanish three times as often as replies. */
const FAULTS = ['key-vanishes', 'key-vanishes', 'key-vanishes', 'lose-reply'] as const
/** A run of so long meets every part. */
const WHOLE_MINUTES = 5

type Vanished = HistoryEvent & { readonly part?: string }

export const vanishingKeys = defineScenario({
  name: 'vanishing-keys',
  summary: 'Each key of each kind of lock vanishes, one by one, while processes want the locks.',
  options: {
    minutes: minutes(1, 'how long keys vanish'),
    kinds: someOf(LOCK_KINDS, 'kinds of locks'),
    processes: count(3, 'worker processes', { least: 2 }),
  },
  smoke: '--minutes 0.2 --processes 2',
  long: '--minutes 20',

  async run(run) {
    const { minutes: long, kinds, processes } = run.options
    const forLocks = { minutes: long * LOCKS, faults: FAULTS, kinds, processes, lease: LEASE_MS, notes: true }
    const locks = await run.part(torture, forLocks, [])
    const seconds = Math.ceil(long * (1 - LOCKS) * 60)
    const permits = await run.part(semaphores, { seconds, faults: FAULTS, processes, kinds: PERMITS }, [])
    const vanished = [...partsIn(locks), ...partsIn(permits)]
    const counts = PARTS.map((part) => ({ part, times: vanished.filter((each) => each === part).length }))
    const told = toldIn(readHistories(locks.files))
    return {
      figures: { locks: locks.verdict.figures, permits: permits.verdict.figures, counts, told },
      report: [
        `vanished: ${counts.map(({ part, times }) => `${times} ${part}`).join(', ')}`,
        `holders were told of a lock that was gone ${told.times} times, after at most ${Math.round(told.longestMs)} ms ` +
          `of a lease of ${LEASE_MS} ms`,
        ...locks.verdict.report,
        ...permits.verdict.report,
      ],
      violations: [
        ...locks.verdict.violations,
        ...permits.verdict.violations,
        ...(told.longestMs > LEASE_MS
          ? ['I1 a holder was told later than a lease after its lock had gone']
          : []),
        ...(vanished.length > 0 ? [] : ['No key vanished: this run proves nothing.']),
        ...(long < WHOLE_MINUTES
          ? []
          : counts.flatMap(({ part, times }) =>
              times > 0 ? [] : [`No ${part} vanished: this run proves nothing about it.`],
            )),
      ],
    }
  },
})

const PERMITS = ['semaphore', 'permits'] as const

const partsIn = ({ files }: Part): string[] =>
  readHistories<Vanished>(files).flatMap(({ part }) => part ?? [])

/** How long after its key had gone a holder was told that it has the lock no longer. */
const toldIn = (events: readonly HistoryEvent[]): { times: number; longestMs: number } => {
  const goneAt = new Map<string, number>()
  const takenAt = new Map<string, number>()
  let [times, longestMs] = [0, 0]
  for (const event of events) {
    if (event.kind === 'fault' && event.class === 'lock-loss' && event.lock !== undefined)
      goneAt.set(event.lock, event.atMs)
    if (event.kind === 'acquired') takenAt.set(event.owner, event.atMs)
    const at = event.kind === 'lost' && event.reason === 'gone' ? goneAt.get(event.lock) : undefined
    // A release finds a lease that has ended gone, too.
    if (at === undefined || event.kind !== 'lost' || at < (takenAt.get(event.owner) ?? Infinity)) continue
    times += 1
    longestMs = Math.max(longestMs, event.atMs - at)
  }
  return { times, longestMs }
}
