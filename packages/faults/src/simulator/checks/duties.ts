// Duties of a client to its callers besides a lock: to keep it, to release it when asked, and to tell when it is gone.
// Only a world without chance of its own can judge it: in the torture a busy machine excuses each of them.
import type { HistoryEvent } from '@holdfast/faults/harness'
import { callsIn } from '../../workload/calls-in.js'
import { kindOf } from '../../workload/lock-kinds.js'
import { isCalm } from '../../workload/permit-uses.js'
import type { Finding } from '../finding.js'
import type { Settings } from '../work/plan.js'
import { faultSpansIn, type FaultSpan } from './fault-spans.js'

/** Reconnects, and calls whose outcome nobody has heard of, are through by then. */
const CALM_MS = 1_500
const PROMPT_MS = 300
/** A last command, and what undoes it. */
const OVERTIME_MS = 1_500
/** There and back, and again where the server did not know the script, and what was on its way before. */
export const LEGS = 20
/** So many one-way trips fit into a lease that can be renewed: the acquire and the renewal may take four each. */
const LEGS_OF_LEASE = 15

/** A grant of Redis ends with the waiter's sign of life, until its owner has asked for a lease. */
export const areLivesLongEnough = ({ resyncMs, slowestMs }: Settings): boolean =>
  2 * resyncMs >= LEGS_OF_LEASE * slowestMs

/** A release works while Redis has no memory left, and neither loss nor lie of one lock delays it. */
const DELAY_NO_RELEASE = new Set([
  ...['out-of-memory', 'script-flush', 'force-unlock', 'key-vanishes', 'forged-message'],
])
/** So does a renewal. */
const END_NO_LEASE = new Set(['out-of-memory', 'script-flush', 'forged-message'])

interface Held {
  readonly lock: string
  readonly owner: string
  readonly fromMs: number
  /** Length of a lease that nobody renews. */
  readonly leaseMs: number | undefined
  levels: number
  /** When it began to release its last level, was told that the lock is gone, or was killed. */
  endMs: number
  lost?: { readonly atMs: number; readonly reason: string }
  readonly releases: { readonly beginMs: number; endMs: number }[]
}

const holdsIn = (events: readonly HistoryEvent[]): Held[] => {
  const leases = new Map<string, number | undefined>()
  const held = new Map<string, Held>()
  const ofProcess = new Map<string, Held[]>()
  for (const event of events) {
    if (event.kind === 'acquire-begin') leases.set(`${event.process} ${event.attempt}`, event.leaseMs)
    if (event.kind === 'killed') {
      for (const each of ofProcess.get(event.process) ?? []) each.endMs = Math.min(each.endMs, event.atMs)
    }
    if (!('owner' in event) || event.owner === undefined) continue
    const { lock, owner, atMs, process } = event
    const key = `${lock} ${owner}`
    const known = held.get(key)
    if (event.kind === 'acquired') {
      if (known && known.levels > 0) {
        known.levels += 1
        continue
      }
      const leaseMs = leases.get(`${process} ${event.attempt}`)
      const one: Held = { lock, owner, fromMs: atMs, leaseMs, levels: 1, endMs: Infinity, releases: [] }
      held.set(key, one)
      ofProcess.set(process, [...(ofProcess.get(process) ?? []), one])
    } else if (known && event.kind === 'release-begin') {
      known.levels -= 1
      known.releases.push({ beginMs: atMs, endMs: Infinity })
      if (known.levels <= 0) known.endMs = Math.min(known.endMs, atMs)
    } else if (known && event.kind === 'released') {
      const release = known.releases.at(-1)
      if (release) release.endMs = atMs
    } else if (known && event.kind === 'lost') {
      known.lost ??= { atMs, reason: event.reason }
      known.endMs = Math.min(known.endMs, atMs)
    }
  }
  return [...held.values()]
}

/** A call ends when its time is over, whatever Redis does; a process that stands still does nothing. */
const callsEnded = (
  events: readonly HistoryEvent[],
  { spans, settings }: { readonly spans: readonly FaultSpan[]; readonly settings: Settings },
): Finding[] => {
  const still = spans.filter(({ kind }) => kind === 'process-stands-still')
  const graceMs = OVERTIME_MS + LEGS * settings.slowestMs
  return callsIn(events).flatMap(({ begin: { attempt, process, lock, atMs: fromMs, deadlineMs }, end }) => {
    const { atMs } = end
    const toMs = fromMs + (deadlineMs ?? Infinity) + graceMs
    if (atMs <= toMs || process === 'observer' || !isCalm(still, { fromMs, toMs: atMs })) return []
    const text = `attempt ${attempt} of ${process}, begun at ${fromMs.toFixed(3)}, ended at ${atMs.toFixed(3)}`
    return [findingOn('I8 deadline', lock, atMs, text)]
  })
}

/** @param settings those of the world's clients */
export const checkDuties = (events: readonly HistoryEvent[], settings: Settings): Finding[] => {
  const spans = faultSpansIn(events)
  const holds = holdsIn(events)
  const promptMs = PROMPT_MS + LEGS * settings.slowestMs
  return [
    ...callsEnded(events, { spans, settings }),
    ...holds.flatMap((held) => leaseKept(held, { spans, settings })),
    ...holds.flatMap((held) => releasesAnswered(held, { spans, promptMs })),
    ...spans.flatMap((span) => ownersTold(span, { spans, holds, settings, promptMs })),
  ]
}

const findingOn = (rule: string, lock: string, untilMs: number, text: string): Finding => ({
  ...{ rule, lock, untilMs },
  text: `${rule} on "${lock}": ${text}`,
})

/** A lease that is renewed does not end while Redis answers. */
const leaseKept = (
  { lock, owner, leaseMs, lost }: Held,
  { spans, settings }: { readonly spans: readonly FaultSpan[]; readonly settings: Settings },
): Finding[] => {
  if (lost?.reason !== 'expired' || leaseMs !== undefined) return []
  const { leaseMs: usualMs, slowestMs } = settings
  if (usualMs < LEGS_OF_LEASE * slowestMs || !areLivesLongEnough(settings)) return []
  const harmful = spans.filter(({ kind }) => !END_NO_LEASE.has(kind))
  const { atMs: toMs } = lost
  if (!isCalm(harmful, { fromMs: toMs - 2 * settings.leaseMs, toMs }, CALM_MS)) return []
  return [findingOn('I3 renewal', lock, toMs, `${owner} was not renewed, and ended at ${toMs.toFixed(3)}`)]
}

/** A release is answered while Redis answers. */
const releasesAnswered = (
  { lock, owner, lost, releases }: Held,
  { spans, promptMs }: { readonly spans: readonly FaultSpan[]; readonly promptMs: number },
): Finding[] => {
  // Its caller was told: nothing is said of the release.
  if (lost) return []
  const harmful = spans.filter(({ kind }) => !DELAY_NO_RELEASE.has(kind))
  return releases.flatMap(({ beginMs: fromMs, endMs }) => {
    const toMs = fromMs + promptMs
    if (endMs <= toMs || !isCalm(harmful, { fromMs, toMs }, CALM_MS)) return []
    const text = `the release of ${owner}, begun at ${fromMs.toFixed(3)}, had no answer by ${toMs.toFixed(3)}`
    return [findingOn('I4 release', lock, toMs, text)]
  })
}

interface Surroundings {
  readonly spans: readonly FaultSpan[]
  readonly holds: readonly Held[]
  readonly settings: Settings
  readonly promptMs: number
}

/**
 * I1: who had a lock that was taken away is told: of a forced release by a message, of a key that is gone by the next
 * renewal. A hold that is not renewed finds the latter out when it asks.
 */
const ownersTold = (span: FaultSpan, { spans, holds, settings, promptMs }: Surroundings): Finding[] => {
  const { kind, part, lock, fromMs } = span
  const isForced = kind === 'force-unlock' && span.took
  const isGone = kind === 'key-vanishes' && part === 'hash'
  if (lock === undefined || !(isForced || isGone)) return []
  const toMs = isForced ? span.toMs + promptMs : fromMs + settings.leaseMs / 2 + promptMs
  const others = spans.filter((each) => each !== span)
  if (!isCalm(others, { fromMs, toMs }, CALM_MS)) return []
  return holds
    .filter((held) => held.lock === lock && held.fromMs <= fromMs && held.endMs > toMs)
    .filter(({ leaseMs }) => isForced || leaseMs === undefined)
    .filter(() => isForced || kindOf(lock) !== 'read-write')
    .filter((held) => kindOf(lock) === 'read-write' || !hasSuccessor(held, holds, fromMs))
    .map(({ owner }) => {
      const text = `taken away at ${fromMs.toFixed(3)}, and ${owner} was not told by ${toMs.toFixed(3)}`
      return findingOn('I1 told', lock, toMs, text)
    })
}

/** Whether somebody else had the lock by then: the hold was over before, and nobody has asked since. */
const hasSuccessor = ({ lock, owner, fromMs }: Held, holds: readonly Held[], byMs: number): boolean =>
  holds.some(
    (each) => each.lock === lock && each.owner !== owner && each.fromMs > fromMs && each.fromMs <= byMs,
  )
