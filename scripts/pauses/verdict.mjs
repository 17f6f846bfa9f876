import { checkHistory, formatViolation } from '@holdfast/testing'
import { table } from '../table.mjs'
import { harmfulWrites, staleWrites, wrongRefusals } from './registers.mjs'

const MOST_SHOWN = 5
// What checkHistory knows nothing of.
const OWN_KINDS = new Set(['guarded', 'blind', 'assessed', 'untold', 'asked'])
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

/**
 * @param {object[]} events of all processes, in the order of time
 * @param {{ parts: number[], pauses: { part: number, resumptions: number }[], leaseMs: number }} run
 * @returns {{ text: string, isClean: boolean }}
 */
export const verdict = (events, { parts, pauses, leaseMs }) => {
  const { violations: found, figures } = checkHistory(events.filter(({ kind }) => !OWN_KINDS.has(kind)))
  const violations = [...found, ...ownViolations(events, leaseMs)]
  const resumptions = pauses.reduce((sum, each) => sum + each.resumptions, 0)
  const facts = factsOf(events, violations)
  // A run in which none of this happened proves nothing.
  const missing = ['kept', 'lost', 'harmful', 'refused'].filter((name) => facts[name].length === 0)
  const lines = [
    ...table([COLUMNS, ...parts.map((part) => row(part, pauses, facts))]),
    '',
    `${figures.acquisitions} acquisitions, ${figures.losses} losses, ${resumptions} times the user was resumed.`,
    ...violations.slice(0, MOST_SHOWN).map((each) => `\n${formatViolation(each)}`),
    ...missing.map((name) => `This run proves nothing: of '${name}' there is none.`),
    violations.length === 0 ? 'No violation.' : `\n${violations.length} violations.`,
  ]
  return { text: lines.join('\n'), isClean: violations.length + missing.length === 0 }
}

const ownViolations = (events, leaseMs) => [
  ...events
    .filter(({ kind }) => kind === 'untold')
    .map((event) =>
      violation('untold', 'I3', `${event.owner} was resumed by ${event.by} before its signal`, event),
    ),
  ...events
    .filter(({ isMissing }) => isMissing)
    .map((event) => violation('kept', 'I1', `${event.owner} trusts a hold that Redis does not have`, event)),
  ...earlyLosses(events, leaseMs / 10).map((event) =>
    violation('loss', 'I1', `${event.owner} lost it while it was trusted`, event),
  ),
  ...staleWrites(events).map((event) =>
    violation('register', 'I9', `the stale token ${event.token} of ${event.owner} was accepted`, event),
  ),
  ...wrongRefusals(events).map((event) =>
    violation(
      'register',
      'I9',
      `the token ${event.token} of ${event.owner}, who has the lock, was refused`,
      event,
    ),
  ),
]

const violation = (check, invariant, message, event) => ({
  check,
  invariant,
  lock: event.lock,
  message,
  events: [event],
})

/**
 * Nothing but pauses happens here, and no pause ends a trust before its time. The answer to a question does, by as
 * much as it was under way at most.
 */
const earlyLosses = (events, slackMs) => {
  const untilMs = new Map()
  const askedMs = new Map()
  return events.filter(({ kind, owner, atMs, ...event }) => {
    if (kind === 'acquired') untilMs.set(owner, event.trustedUntilMs)
    if (kind === 'trusted') untilMs.set(owner, event.untilMs)
    if (kind === 'asked') askedMs.set(owner, atMs)
    const underWayMs = atMs - (askedMs.get(owner) ?? atMs)
    return kind === 'lost' && atMs + underWayMs + slackMs < untilMs.get(owner)
  })
}

/** What can be counted by the length of the pause. */
const factsOf = (events, violations) => {
  const assessed = events.filter(({ kind }) => kind === 'assessed')
  const partOf = new Map(assessed.map(({ owner, part }) => [owner, part]))
  const overlaps = violations
    .filter(({ check }) => check === 'overlap')
    .flatMap(
      (each) => each.events.map(({ owner }) => partOf.get(owner)).find((part) => part !== undefined) ?? [],
    )
  const harmful = harmfulWrites(events)
  return {
    kept: assessed.filter(({ isKept }) => isKept),
    lost: assessed.filter(({ isKept }) => !isKept),
    blind: events.filter(({ kind }) => kind === 'blind'),
    harmful,
    beforeSignal: harmful.filter(({ aborted }) => !aborted),
    refused: events.filter(({ kind, isBlind, accepted }) => kind === 'guarded' && isBlind && !accepted),
    stale: staleWrites(events).filter(({ isBlind }) => isBlind),
    overlaps: overlaps.map((part) => ({ part })),
  }
}

const row = (part, pauses, facts) => {
  const count = (list) => String(list.filter((each) => each.part === part).length)
  const { kept, lost, blind, harmful, beforeSignal, refused, stale, overlaps } = facts
  return [
    String(part),
    ...[pauses, kept, lost, blind, harmful, beforeSignal, refused, stale, overlaps].map(count),
  ]
}
