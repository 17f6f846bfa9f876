import { checkHistory, formatViolation, type Violation } from '@holdfast/faults/harness'
import { firstOf } from '../../run/judge.js'
import type { Verdict } from '../../run/scenario.js'
import { table } from '../../run/table.js'
import { isForChecker, ofKind, type Blind, type Guarded, type OwnEvent, type PauseEvent } from './events.js'

const COLUMNS = [
  'leases',
  'pauses',
  'kept',
  'lost',
  'blind writes',
  'by ex-owners',
  'before the signal',
  'refused',
  'stale accepted',
  'overlaps',
]

interface PausesDone {
  readonly parts: readonly number[]
  readonly pauses: readonly { readonly part: number; readonly resumptions: number }[]
  readonly leaseMs: number
}

/** @param events of all processes, in the order of time */
export const verdictOf = (events: readonly PauseEvent[], { parts, pauses, leaseMs }: PausesDone): Verdict => {
  const { violations: found, figures } = checkHistory(events.filter(isForChecker))
  const violations = [...found.map(formatViolation), ...ownViolations(events, leaseMs)]
  const resumptions = pauses.reduce((sum, each) => sum + each.resumptions, 0)
  const facts = factsOf(events, found)
  // A run in which none of this happened proves nothing.
  const proving = { kept: facts.kept, lost: facts.lost, harmful: facts.harmful, refused: facts.refused }
  const missing = Object.entries(proving).filter(([, list]) => list.length === 0)
  const row = (part: number): string[] => [
    String(part),
    ...[pauses, ...Object.values(facts)].map((list) =>
      String(list.filter((each) => each.part === part).length),
    ),
  ]
  return {
    figures: { ...figures, resumptions, rows: parts.map(row) },
    report: [
      ...table([COLUMNS, ...parts.map(row)]),
      '',
      `${figures.acquisitions} acquisitions, ${figures.losses} losses, ${resumptions} times the user was resumed.`,
    ],
    violations: [
      ...firstOf(violations),
      ...missing.map(([name]) => `This run proves nothing: of '${name}' there is none.`),
    ],
  }
}

const ownViolations = (events: readonly PauseEvent[], leaseMs: number): string[] => [
  ...ofKind(events, 'untold').map((event) =>
    violation('I3', `${event.owner} was resumed by ${event.by} before its signal`, event),
  ),
  ...ofKind(events, 'assessed')
    .filter(({ isMissing }) => isMissing)
    .map((event) => violation('I1', `${event.owner} trusts a hold that Redis does not have`, event)),
  ...earlyLosses(events, leaseMs / 10).map((event) =>
    violation('I1', `${event.owner} lost it while it was trusted`, event),
  ),
  ...staleWrites(ofKind(events, 'guarded')).map((event) =>
    violation('I9', `the stale token ${event.token} of ${event.owner} was accepted`, event),
  ),
  ...ofKind(events, 'guarded')
    .filter(({ accepted, isTrusted }) => !accepted && isTrusted)
    .map((event) =>
      violation('I9', `the token ${event.token} of ${event.owner}, who has the lock, was refused`, event),
    ),
]

const violation = (
  invariant: string,
  message: string,
  event: OwnEvent | Extract<PauseEvent, { kind: 'lost' }>,
): string => `${invariant} ${event.lock}: ${message}\n  ${JSON.stringify(event)}`

/**
 * Nothing but pauses happens here, and no pause ends a trust before its time. The answer to a question does, by as
 * much as it was under way at most.
 */
const earlyLosses = (
  events: readonly PauseEvent[],
  slackMs: number,
): Extract<PauseEvent, { kind: 'lost' }>[] => {
  const untilMs = new Map<string, number>()
  const askedMs = new Map<string, number>()
  return events.flatMap((event) => {
    if (event.kind === 'acquired') untilMs.set(event.owner, event.trustedUntilMs)
    else if (event.kind === 'trusted') untilMs.set(event.owner, event.untilMs)
    else if (event.kind === 'asked') askedMs.set(event.owner, event.atMs)
    else if (event.kind === 'lost') {
      const underWayMs = event.atMs - (askedMs.get(event.owner) ?? event.atMs)
      return event.atMs + underWayMs + slackMs < (untilMs.get(event.owner) ?? -Infinity) ? [event] : []
    }
    return []
  })
}

/** Writes with a token that were accepted although one with a larger token had been before they were sent. */
const staleWrites = (writes: readonly Guarded[]): Guarded[] => {
  const accepted = writes.filter((write) => write.accepted)
  return accepted.filter(
    (write) =>
      BigInt(write.highestToken) > BigInt(write.token) ||
      accepted.some(
        (each) =>
          each.lock === write.lock && BigInt(each.token) > BigInt(write.token) && each.atMs < write.sentMs,
      ),
  )
}

/** Writes that looked at nothing, and came when another owner had been given the lock. */
const harmfulWrites = (events: readonly PauseEvent[]): Blind[] => {
  const latest = new Map<string, string>()
  // A grant at the same time as the write comes before it in the history.
  return events.flatMap((event) => {
    if (event.kind === 'acquired') latest.set(event.lock, event.owner)
    return event.kind === 'blind' && latest.get(event.lock) !== event.owner ? [event] : []
  })
}

/** Counts by the length of the pause, in the order of the columns. */
const factsOf = (events: readonly PauseEvent[], violations: readonly Violation[]) => {
  const assessed = ofKind(events, 'assessed')
  const partOf = new Map(assessed.map(({ owner, part }) => [owner, part]))
  const overlaps = violations
    .filter(({ check }) => check === 'overlap')
    .map((each) => ({
      part: each.events
        .map((event) => ('owner' in event && event.owner !== undefined ? partOf.get(event.owner) : undefined))
        .find((part) => part !== undefined),
    }))
  const harmful = harmfulWrites(events)
  const guarded = ofKind(events, 'guarded')
  return {
    kept: assessed.filter(({ isKept }) => isKept),
    lost: assessed.filter(({ isKept }) => !isKept),
    blind: ofKind(events, 'blind'),
    harmful,
    beforeSignal: harmful.filter(({ aborted }) => !aborted),
    refused: guarded.filter(({ isBlind, accepted }) => isBlind === true && !accepted),
    stale: staleWrites(guarded).filter(({ isBlind }) => isBlind),
    overlaps,
  }
}
