import { type FaultBegin, modeOf } from './events.js'
import type { FaultLog, FaultSpan } from './fault-log.js'
import type { Findings } from './findings.js'
import { firstIndex } from './first-index.js'
import type { Hold } from './hold.js'
import type { Attempt, LockHistory } from './lock-history.js'
import { NextAbove } from './next-above.js'

/** How strictly callers are served in order of arrival. */
export interface FifoOptions {
  /** How often a waiter may be overtaken. */
  readonly maxOvertakes: number
  /** Two arrivals closer than this have no order: a call is recorded before its command reaches Redis. */
  readonly slackMs: number
  /** Which locks are fair; all of them when absent. */
  readonly locks?: (lock: string) => boolean
  /**
   * Further faults that mix up arrivals of every process, such as a server that stands still: calls that were made
   * meanwhile reach it in any order. Without it only a loss of data and a fault on the waiter's process excuse.
   */
  readonly excuses?: (fault: FaultBegin) => boolean
  /** How long a fault that is over still explains (0): a connection that is being made again. */
  readonly calmMs?: number
}

/**
 * I10: who came clearly earlier is served earlier. Re-entries overtake nobody: they do not queue. Nor do readers
 * overtake each other: those who stand together are let in together.
 */
export const checkOvertaking = (
  lock: LockHistory,
  faults: FaultLog,
  options: FifoOptions,
  findings: Findings,
): void => {
  const { maxOvertakes, slackMs } = options
  const rivals = {
    exclusive: new NextAbove(lock.holds.map(({ begin }) => begin.atMs)),
    shared: new NextAbove(lock.holds.map(({ begin, mode }) => (mode === 'shared' ? -Infinity : begin.atMs))),
  }
  for (const attempt of lock.attempts) {
    const arrivals = rivals[modeOf(attempt.begin)]
    const overtakers: Hold[] = []
    let index = firstGrantAfter(lock.holds, attempt.begin.atMs)
    while (overtakers.length <= maxOvertakes) {
      index = arrivals.find(index, attempt.begin.atMs + slackMs)
      const hold = lock.holds[index]
      if (hold === undefined || hold.startMs >= patienceEndMs(attempt, slackMs)) break
      overtakers.push(hold)
      index += 1
    }
    if (overtakers.length > maxOvertakes)
      report(lock.name, { attempt, overtakers, faults, options, findings })
  }
}

const firstGrantAfter = (holds: readonly Hold[], ms: number): number =>
  firstIndex(holds.length, (index) => (holds[index]?.startMs ?? Infinity) > ms)

/** Until when the waiter stood in the queue for certain: one that gave up had left it before its call ended. */
const patienceEndMs = ({ end }: Attempt, slackMs: number): number => {
  if (end === undefined) return Infinity
  return end.kind === 'acquired' ? end.atMs : end.atMs - slackMs
}

interface Overtaking {
  readonly attempt: Attempt
  readonly overtakers: readonly Hold[]
  readonly faults: FaultLog
  readonly options: FifoOptions
  readonly findings: Findings
}

const report = (lock: string, overtaking: Overtaking): void => {
  const { attempt, overtakers, findings } = overtaking
  const { begin } = attempt
  const excuse = excuseOf(lock, overtaking)
  findings.add(
    {
      check: 'overtaking',
      invariant: 'I10',
      lock,
      message: `attempt ${begin.attempt} of ${begin.process} was overtaken ${overtakers.length} times`,
      events: [begin, ...overtakers.flatMap((hold) => [hold.begin, hold.acquired])],
    },
    excuse?.fault,
  )
}

const excuseOf = (lock: string, overtaking: Overtaking): FaultSpan | undefined => {
  const { attempt, overtakers, faults, options } = overtaking
  const { process, atMs } = attempt.begin
  const sinceMs = atMs - (options.calmMs ?? 0)
  const lastMs = overtakers.at(-1)?.startMs ?? atMs
  const loss = faults.dataLossBegunBy(lock, lastMs)
  const queueLost = loss !== undefined && loss.over.atMs >= sinceMs ? loss : undefined
  const { excuses = () => false } = options
  return (
    queueLost ??
    faults.struck(process, sinceMs, lastMs) ??
    faults.during(lock, sinceMs, lastMs).find(({ fault }) => excuses(fault))
  )
}
