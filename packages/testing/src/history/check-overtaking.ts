import type { FaultLog } from './fault-log.js'
import type { Findings } from './findings.js'
import { firstIndex } from './first-index.js'
import type { Hold } from './hold.js'
import type { Attempt, LockHistory } from './lock-history.js'
import { NextAbove } from './next-above.js'

export interface FifoOptions {
  /** How often a waiter may be overtaken. */
  readonly maxOvertakes: number
  /** Two arrivals closer than this have no order: a call is recorded before its command reaches Redis. */
  readonly slackMs: number
  /** Which locks are fair; all of them when absent. */
  readonly locks?: (lock: string) => boolean
}

/** I10: who came clearly earlier is served earlier. Re-entries overtake nobody: they do not queue. */
export const checkOvertaking = (
  lock: LockHistory,
  faults: FaultLog,
  options: FifoOptions,
  findings: Findings,
): void => {
  const { maxOvertakes, slackMs } = options
  const arrivals = new NextAbove(lock.holds.map((hold) => hold.begin.atMs))
  for (const attempt of lock.attempts) {
    const overtakers: Hold[] = []
    let index = firstGrantAfter(lock.holds, attempt.begin.atMs)
    while (overtakers.length <= maxOvertakes) {
      index = arrivals.find(index, attempt.begin.atMs + slackMs)
      const hold = lock.holds[index]
      if (hold === undefined || hold.startMs >= patienceEndMs(attempt, slackMs)) break
      overtakers.push(hold)
      index += 1
    }
    if (overtakers.length > maxOvertakes) report(lock.name, { attempt, overtakers, faults, findings })
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
  readonly findings: Findings
}

const report = (lock: string, { attempt, overtakers, faults, findings }: Overtaking): void => {
  const { begin } = attempt
  const lastMs = overtakers.at(-1)?.startMs ?? begin.atMs
  const loss = faults.dataLossBegunBy(lock, lastMs)
  const queueLost = loss !== undefined && loss.over.atMs >= begin.atMs ? loss : undefined
  const excuse = queueLost ?? faults.struck(begin.process, begin.atMs, lastMs)
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
