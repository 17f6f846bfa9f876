import type { LockKind } from '../../index.js'

/** Durations in milliseconds, as of the report. */
export interface ReportedHold {
  readonly lockName: string
  readonly owner: string
  readonly kind: LockKind
  readonly heldMs: number
}

/** The calls of one client that wait for one lock. */
export interface ReportedWaits {
  readonly lockName: string
  readonly count: number
  readonly longestMs: number
}

/** A lock that the client has lost. Durations in milliseconds, as of the report. */
export interface ReportedLoss {
  readonly lockName: string
  readonly owner: string
  readonly reason: string
  readonly agoMs: number
}

/** A client's report about itself. */
export interface ReportFacts {
  /** Those held for longest, at most 200. */
  readonly holds: readonly ReportedHold[]
  /** All of them. */
  readonly held: number
  /** The longest first, at most 200 locks. */
  readonly waits: readonly ReportedWaits[]
  /** All calls that wait. */
  readonly waiting: number
  /** The latest, at most 20. */
  readonly losses: readonly ReportedLoss[]
  readonly everyMs: number
}

/** A client's report, and its age. */
export interface ClientReport extends ReportFacts {
  readonly clientId: string
  /** How old it is, ms. */
  readonly agoMs: number
}

const VERSION = 1
/** How many intervals a report lasts: one that is late or lost does not make its client disappear. */
export const INTERVALS_KEPT = 3

export const MOST_TOLD = 200
export const MOST_LOSSES = 20

interface Text {
  readonly v: typeof VERSION
  readonly everyMs: number
  readonly held: number
  readonly waiting: number
  readonly holds: readonly (readonly [name: string, owner: string, kind: LockKind, heldMs: number])[]
  readonly waits: readonly (readonly [name: string, count: number, longestMs: number])[]
  readonly losses: readonly (readonly [name: string, owner: string, reason: string, agoMs: number])[]
}

export function textOf({ everyMs, held, waiting, holds, waits, losses }: ReportFacts): string {
  const text: Text = {
    v: VERSION,
    everyMs,
    held,
    waiting,
    holds: holds.map(({ lockName, owner, kind, heldMs }) => [lockName, owner, kind, Math.round(heldMs)]),
    waits: waits.map(({ lockName, count, longestMs }) => [lockName, count, Math.round(longestMs)]),
    losses: losses.map(({ lockName, owner, reason, agoMs }) => [lockName, owner, reason, Math.round(agoMs)]),
  }
  return JSON.stringify(text)
}

/** Null: it is none, or of a version that this release does not know. Any client of this Redis can have written it. */
export function factsIn(text: string): ReportFacts | null {
  const given = objectIn(text) as Partial<Record<keyof Text, unknown>> | null
  if (given?.v !== VERSION || ![given.everyMs, given.held, given.waiting].every(isAmount)) {
    return null
  }
  const holds = rowsOf(given.holds, ['string', 'string', 'string', 'number']) as Text['holds'] | null
  const waits = rowsOf(given.waits, ['string', 'number', 'number']) as Text['waits'] | null
  const losses = rowsOf(given.losses, ['string', 'string', 'string', 'number']) as Text['losses'] | null
  if (!holds || !waits || !losses) {
    return null
  }
  return {
    everyMs: given.everyMs as number,
    held: given.held as number,
    waiting: given.waiting as number,
    holds: holds.map(([lockName, owner, kind, heldMs]) => ({ lockName, owner, kind, heldMs })),
    waits: waits.map(([lockName, count, longestMs]) => ({ lockName, count, longestMs })),
    losses: losses.map(([lockName, owner, reason, agoMs]) => ({ lockName, owner, reason, agoMs })),
  }
}

export function objectIn(text: string): object | null {
  try {
    const given: unknown = JSON.parse(text)
    return typeof given === 'object' && given !== null && !Array.isArray(given) ? given : null
  } catch {
    return null
  }
}

export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
}

/** Null unless all rows have cells of these types, and are not more than any report has. */
export function rowsOf(value: unknown, types: readonly ('string' | 'number')[]): readonly unknown[] | null {
  const areRows =
    Array.isArray(value) &&
    value.length <= MOST_TOLD &&
    value.every(
      (row) =>
        Array.isArray(row) &&
        row.length === types.length &&
        types.every((type, i) => (type === 'number' ? isAmount(row[i]) : typeof row[i] === 'string')),
    )
  return areRows ? value : null
}
