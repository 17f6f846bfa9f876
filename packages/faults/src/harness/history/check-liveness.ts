import type { FaultBegin, Healed } from './events.js'
import type { FaultLog } from './fault-log.js'
import type { Findings } from './findings.js'
import type { Attempt, LockHistory } from './lock-history.js'

/** How soon every call ends. */
export interface LivenessOptions {
  /** How long a call may wait that does not bring a deadline of its own. */
  readonly deadlineMs: number
  /** Time that it may take beyond that: the resync interval and a command. */
  readonly graceMs: number
}

/** I4 and I8: every call ends, and in time, counted from its begin or from the end of a fault it met. */
export const checkLiveness = (
  lock: LockHistory,
  faults: FaultLog,
  options: LivenessOptions | undefined,
  findings: Findings,
): void => {
  for (const attempt of lock.attempts) {
    const { begin, end } = attempt
    const name = `attempt ${begin.attempt} of ${begin.process}`
    const limit = options === undefined ? undefined : limitOf(attempt, faults, options)
    const heal = limit?.heal === undefined ? [] : [limit.heal]
    if (end === undefined) {
      const message = `${name} never ended`
      findings.add({ check: 'liveness', invariant: 'I4', lock: lock.name, message, events: [begin, ...heal] })
    } else if (limit !== undefined && end.atMs > limit.ms) {
      // Who gave up late may have left traces meanwhile; who was served late was not woken.
      const invariant = end.kind === 'acquired' || end.kind === 'killed' ? 'I4' : 'I8'
      const message = `${name} ended ${(end.atMs - limit.ms).toFixed(3)} ms late`
      findings.add({ check: 'liveness', invariant, lock: lock.name, message, events: [begin, ...heal, end] })
    }
  }
}

interface Limit {
  readonly ms: number
  /** The event that set the limit, unless it was the begin of the call. */
  readonly heal: FaultBegin | Healed | undefined
}

const limitOf = ({ begin, end }: Attempt, faults: FaultLog, options: LivenessOptions): Limit => {
  const allowedMs = (begin.deadlineMs ?? options.deadlineMs) + options.graceMs
  const endMs = end?.atMs ?? Infinity
  let limit: Limit = { ms: begin.atMs + allowedMs, heal: undefined }
  // A fault that strikes before the limit moves it, and then another may strike before the new one.
  while (limit.ms < endMs) {
    const over = faults.begunBy(begin.lock, limit.ms)?.over
    if (over === undefined || over.atMs < begin.atMs || over.atMs + allowedMs <= limit.ms) break
    limit = { ms: over.atMs + allowedMs, heal: over }
  }
  return limit
}
