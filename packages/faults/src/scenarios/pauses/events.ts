import type { HistoryEvent } from '@holdfast/faults/harness'
import type { History } from '../../run/history-file.js'

/** How a holder was paused, and for how many leases. */
export interface Pause {
  readonly way: 'stopped' | 'blocked'
  readonly part: number
}

interface OfHold {
  readonly atMs: number
  readonly process: string
  readonly lock: string
  readonly owner: string
}

/** A write to what the lock protects, which looks at nothing but the token. */
export interface Guarded extends OfHold, Partial<Pause> {
  readonly kind: 'guarded'
  readonly token: string
  readonly sentMs: number
  readonly accepted: boolean
  readonly highestToken: string
  readonly isTrusted: boolean
  readonly isBlind?: boolean
}

/** A write that looks at nothing at all. */
export interface Blind extends OfHold, Pause {
  readonly kind: 'blind'
  /** Whether the signal of the hold had aborted. */
  readonly aborted: boolean
}

/** A hold after the pause. */
export interface Assessed extends OfHold, Pause {
  readonly kind: 'assessed'
  readonly isKept: boolean
  /** Redis does not have it although it is trusted. */
  readonly isMissing: boolean
}

/** The user was resumed before the signal of a hold that is over. */
export interface Untold extends OfHold {
  readonly kind: 'untold'
  readonly by: string
}

/** From now on the hold may be trusted for less: for what Redis says it keeps, counted from here. */
export interface Asked extends OfHold {
  readonly kind: 'asked'
}

/** Events that the history checker does not know. */
export type OwnEvent = Guarded | Blind | Assessed | Untold | Asked

export type PauseEvent = HistoryEvent | OwnEvent

export type PauseHistory = History<OwnEvent['kind']>

const OWN_KINDS: ReadonlySet<string> = new Set<OwnEvent['kind']>([
  'guarded',
  'blind',
  'assessed',
  'untold',
  'asked',
])

export const isForChecker = (event: PauseEvent): event is HistoryEvent => !OWN_KINDS.has(event.kind)

export const ofKind = <K extends PauseEvent['kind']>(
  events: readonly PauseEvent[],
  kind: K,
): Extract<PauseEvent, { kind: K }>[] =>
  events.filter((event): event is Extract<PauseEvent, { kind: K }> => event.kind === kind)
