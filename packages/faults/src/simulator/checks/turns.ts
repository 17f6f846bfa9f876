// Whether somebody starves: how often each other process has a plain lock while one of them waits for it.
import type { HistoryEvent } from '@holdfast/faults/harness'
import { kindOf } from '../../workload/lock-kinds.js'
import { isCalm } from '../../workload/permit-uses.js'
import type { Finding } from '../finding.js'
import type { Settings } from '../work/plan.js'
import { areLivesLongEnough, LEGS } from './duties.js'
import { faultSpansIn } from './fault-spans.js'

/** The turn of its place before the waiter, the races at either end of a round, and one for a caller that polls. */
const MOST_TURNS = 4
/** A client passes its lock on for 5 ms, from one of its callers to the next (decision 0028). */
const PASSING_MS = 8

/** A process that waits for a lock. */
interface Wait {
  readonly sinceMs: number
  /** How often each of the others had the lock since. */
  readonly turns: Map<string, number>
}

/** One plain lock, and who wants it. */
class Crowd {
  readonly waits = new Map<string, Wait>()
  private readonly attempts = new Map<string, Set<string | number>>()
  private readonly owners = new Set<string>()
  private last = { process: '', atMs: -Infinity }

  /** @returns who has waited for too long by now */
  heard(event: HistoryEvent, arriveMs: number): { process: string; sinceMs: number }[] {
    const { process, atMs } = event
    if (event.kind === 'acquire-begin' && (event.deadlineMs ?? Infinity) > 0) {
      const attempts = this.attempts.get(process) ?? new Set<string | number>()
      this.attempts.set(process, attempts.add(event.attempt))
      if (attempts.size === 1) this.begin(process, atMs)
    } else if (event.kind === 'refused' || event.kind === 'aborted' || event.kind === 'failed') {
      // The place may have been its own.
      if (this.attempts.get(process)?.delete(event.attempt) === true) this.begin(process, atMs)
    } else if (event.kind === 'released' || event.kind === 'lost') {
      if (this.owners.delete(event.owner)) this.begin(process, atMs)
    } else if (event.kind === 'acquired' && !this.owners.has(event.owner)) {
      this.owners.add(event.owner)
      this.attempts.get(process)?.delete(event.attempt)
      return this.turnOf(process, { atMs, arriveMs })
    }
    return []
  }

  /** Nobody of its process waits any more. */
  killed(process: string): void {
    this.attempts.delete(process)
    this.waits.delete(process)
  }

  private begin(process: string, sinceMs: number): void {
    this.waits.delete(process)
    if ((this.attempts.get(process)?.size ?? 0) > 0) this.waits.set(process, { sinceMs, turns: new Map() })
  }

  private turnOf(process: string, { atMs, arriveMs }: { atMs: number; arriveMs: number }) {
    this.waits.delete(process)
    const isPassed = this.last.process === process && atMs < this.last.atMs + PASSING_MS
    if (isPassed) return []
    this.last = { process, atMs }
    const starved: { process: string; sinceMs: number }[] = []
    for (const [waiting, { sinceMs, turns }] of this.waits) {
      if (atMs < sinceMs + arriveMs) continue
      const count = (turns.get(process) ?? 0) + 1
      turns.set(process, count)
      if (count > MOST_TURNS) starved.push({ process: waiting, sinceMs })
    }
    return starved
  }
}

/** I15, where grants are made: no process has a plain lock again and again while another waits in the queue. */
export const checkTurns = (
  events: readonly HistoryEvent[],
  settings: Settings,
  calmMs: number,
): Finding[] => {
  if (!settings.pushedGrants || !areLivesLongEnough(settings)) return []
  const faults = faultSpansIn(events)
  const crowds = new Map<string, Crowd>()
  const findings: Finding[] = []
  for (const event of events) {
    if (event.kind === 'killed') for (const crowd of crowds.values()) crowd.killed(event.process)
    if (!('lock' in event) || event.lock === undefined || kindOf(event.lock) !== 'lock') continue
    const { lock, atMs } = event
    const crowd = crowds.get(lock) ?? new Crowd()
    crowds.set(lock, crowd)
    for (const { process, sinceMs } of crowd.heard(event, LEGS * settings.slowestMs)) {
      const ofLock = faults.filter((fault) => (fault.lock ?? lock) === lock)
      if (!isCalm(ofLock, { fromMs: sinceMs, toMs: atMs }, calmMs)) continue
      const text = `I15 turns on "${lock}": ${process} waits since ${sinceMs.toFixed(3)}, and at ${atMs.toFixed(3)} ${event.process} has it for the ${MOST_TURNS + 1}th time`
      findings.push({ rule: 'I15 turns', text, lock, untilMs: atMs })
    }
  }
  return findings.slice(0, 1)
}
