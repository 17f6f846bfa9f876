import { type FaultBegin, type Mode, modeOf, type Released } from './events.js'
import type { FaultLog, FaultSpan } from './fault-log.js'
import type { Findings } from './findings.js'
import type { Attempt, LockHistory } from './lock-history.js'
import { RunningMaximum } from './running-maximum.js'

/** How soon a lock that is released has its next owner. */
export interface HandOffOptions {
  /** How long a lock may stay free while somebody waits for it. */
  readonly limitMs: number
  /** How long a fault that is over still explains a wait: reconnects, calls whose outcome nobody has heard of. */
  readonly calmMs: number
  /**
   * How long each fault that is over still explains a free lock, in place of `calmMs`: then whatever was lost in it has
   * been found. Absent: for good, because a busy machine may be late for longer.
   */
  readonly healsIn?: (fault: FaultBegin, lock: string) => number
  /** Which locks are handed over; all of them when absent. */
  readonly locks?: (lock: string) => boolean
  /** Ends of dead owners that an observer saw in Redis: their own histories end too early. */
  readonly remains?: readonly Remains[]
}

/** Redis had a lock for a dead owner, all the time between two moments. */
export interface Remains {
  readonly lock: string
  readonly mode: Mode
  readonly fromMs: number
  readonly toMs: number
}

/**
 * I4: no wait goes on while its lock is free. Finds releases after which nobody had the lock for `limitMs`, although
 * somebody had come for it before and waited all that time. Any fault on the lock explains it: a process that was
 * granted the lock and could not say so leaves no event.
 */
export const checkHandOff = (
  lock: LockHistory,
  faults: FaultLog,
  options: HandOffOptions,
  findings: Findings,
): void => {
  const { limitMs, calmMs } = options
  const crowd = new Crowd(lock, options.remains)
  for (const { event: released, to } of lock.openings) {
    const limit = options.healsIn
      ? healedBy(released.atMs, { lock: lock.name, faults, limitMs, healsIn: options.healsIn })
      : released.atMs + limitMs
    for (const mode of to) {
      const attempt = crowd.waiting(mode, released.atMs, limit)
      if (attempt === undefined || crowd.isBarred(mode, released.atMs, limit)) continue
      const fault = options.healsIn ? undefined : faults.begunBy(lock.name, limit)
      const excuse = fault !== undefined && fault.over.atMs + calmMs >= released.atMs ? fault : undefined
      report(lock.name, { released, attempt, limitMs, excuse, findings })
    }
  }
}

interface Healing {
  readonly lock: string
  readonly faults: FaultLog
  readonly limitMs: number
  readonly healsIn: (fault: FaultBegin, lock: string) => number
}

/** When the lock has its next owner at the latest. */
const healedBy = (releasedMs: number, { lock, faults, limitMs, healsIn }: Healing): number => {
  let limit = releasedMs + limitMs
  // A fault that strikes before the limit moves it, and then another may strike before the new one.
  for (;;) {
    const healedMs = faults
      .during(lock, -Infinity, limit)
      .map(({ fault, over }) => over.atMs + healsIn(fault, lock))
      .filter((atMs) => atMs >= releasedMs)
    const next = Math.max(limit, ...healedMs.map((atMs) => atMs + limitMs))
    if (next === limit) return limit
    limit = next
  }
}

/** Who had the lock and who wanted it, when. */
class Crowd {
  readonly #waits = { exclusive: new RunningMaximum<Attempt>(), shared: new RunningMaximum<Attempt>() }
  readonly #writersWait = new RunningMaximum<number>()
  readonly #occupied = new RunningMaximum<number>()
  readonly #closed = new RunningMaximum<number>()

  constructor({ name, attempts, holds }: LockHistory, remains: readonly Remains[] = []) {
    for (const attempt of attempts) {
      const { begin, end } = attempt
      const mode = modeOf(begin)
      // Who waits longest is the best witness.
      this.#waits[mode].push(begin.atMs, patienceEndMs(attempt), attempt)
      const endMs = end?.atMs ?? Infinity
      if (mode === 'exclusive') this.#writersWait.push(begin.atMs, endMs, endMs)
    }
    const left = remains.filter(({ lock }) => lock === name).map(asHeld)
    const held = left.length === 0 ? holds : [...holds, ...left].sort((a, b) => a.startMs - b.startMs)
    for (const { startMs, occupiedUntilMs, closedUntilMs } of held) {
      this.#occupied.push(startMs, occupiedUntilMs, occupiedUntilMs)
      this.#closed.push(startMs, closedUntilMs, closedUntilMs)
    }
  }

  /** Somebody who wanted it all the time between two moments. */
  waiting(mode: Mode, sinceMs: number, untilMs: number): Attempt | undefined {
    const attempt = this.#waits[mode].upTo(sinceMs)
    return attempt !== undefined && patienceEndMs(attempt) > untilMs ? attempt : undefined
  }

  /** Whether somebody had it already, or took it in time. */
  isBarred(mode: Mode, sinceMs: number, untilMs: number): boolean {
    const hadIt = (mode === 'shared' ? this.#closed : this.#occupied).upTo(untilMs) ?? -Infinity
    // A lock that is fair to writers lets no reader pass one that waits.
    const mustYield = mode === 'shared' && (this.#writersWait.upTo(untilMs) ?? -Infinity) >= sinceMs
    return hadIt > sinceMs || mustYield
  }
}

const asHeld = ({ mode, fromMs, toMs }: Remains) => ({
  startMs: fromMs,
  occupiedUntilMs: toMs,
  closedUntilMs: mode === 'exclusive' ? toMs : -Infinity,
})

/** Who gives up too late is the liveness check's concern. */
const patienceEndMs = ({ begin, end }: Attempt): number =>
  Math.min(end?.atMs ?? Infinity, begin.atMs + (begin.deadlineMs ?? Infinity))

interface MissedHandOff {
  readonly released: Released
  readonly attempt: Attempt
  readonly limitMs: number
  readonly excuse: FaultSpan | undefined
  readonly findings: Findings
}

const report = (lock: string, { released, attempt, limitMs, excuse, findings }: MissedHandOff): void => {
  const { begin } = attempt
  const free = modeOf(begin) === 'shared' ? 'open to readers' : 'free'
  findings.add(
    {
      check: 'hand-off',
      invariant: 'I4',
      lock,
      message: `${free} for ${limitMs} ms while attempt ${begin.attempt} of ${begin.process} waited`,
      events: [begin, released],
    },
    excuse?.fault,
  )
}
