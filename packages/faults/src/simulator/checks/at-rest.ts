import type { HistoryEvent } from '@holdfast/faults/harness'
import type { Finding } from '../finding.js'
import { faultSpansIn } from './fault-spans.js'

/** For how long a release without an answer is sent again. */
export const UNAVAILABLE_MS = 2_000

/** A lock that Redis has for a living client, when every call of it has ended. */
export interface Orphan {
  readonly atMs: number
  readonly lock: string
  readonly owner: string
  /** Time-outs of a reader's holds stay until their lease is over when the hash was lost: nothing is released then. */
  readonly what: 'hold' | 'time-out'
}

/** A release may be lost, or the tombstone that refuses a copy of the acquire. */
const LOSES_COMMANDS = new Set(['server-restarts-empty', 'fail-over', 'clock-forward'])

/** I2: at rest nobody holds anything, also after every late copy. */
export const checkAtRest = (events: readonly HistoryEvent[], orphans: readonly Orphan[]): Finding[] => {
  if (orphans.length === 0) return []
  const spans = faultSpansIn(events)
  const kinds = new Set(spans.map(({ kind }) => kind))
  return orphans.flatMap(({ lock, owner, atMs, what }) => {
    const vanished = what === 'hold' ? ['tombstone'] : ['tombstone', 'hash']
    const isExplained = spans.some(
      ({ kind, part = '', lock: where }) =>
        LOSES_COMMANDS.has(kind) || (kind === 'key-vanishes' && vanished.includes(part) && where === lock),
    )
    // The lease ends what a release without an answer left, and a clock that is set back prolongs it.
    if (isExplained || (kinds.has('clock-back') && isGivenUp(events, owner))) return []
    const text = `I2 at rest on "${lock}": Redis has it for ${owner} at ${atMs.toFixed(3)}, and every call has ended`
    return [{ rule: 'I2 at rest', text, lock, untilMs: Infinity }]
  })
}

/** Whether Redis was gone for as long as a release of the owner is sent again. */
const isGivenUp = (events: readonly HistoryEvent[], owner: string): boolean => {
  const atMsOf = (wanted: HistoryEvent['kind'], otherwise: number): number =>
    events.find((event) => event.kind === wanted && 'owner' in event && event.owner === owner)?.atMs ??
    otherwise
  return atMsOf('released', Infinity) - atMsOf('release-begin', Infinity) >= UNAVAILABLE_MS
}
