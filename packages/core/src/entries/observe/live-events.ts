import type { LockKind } from '../../index.js'
import { isAmount, MOST_TOLD, objectIn, rowsOf } from './report-text.js'

/** An event of a lock that an observer follows, as its client publishes it. */
export interface LockEvent {
  /**
   * `held`: a hold begins, or was there when the look began; `released`, `lost`: it is over; `waits`, `left`: a call
   * begins to wait, or waits no more.
   */
  readonly type: 'held' | 'released' | 'lost' | 'waits' | 'left'
  readonly lockName: string
  readonly clientId: string
  /** For a wait: a number of the client's own that tells its waits apart. */
  readonly owner: string
  readonly kind: LockKind
  /** How long ago, ms, when the message was sent. */
  readonly agoMs: number
  /** Why it was lost. */
  readonly reason: string
}

const VERSION = '1:'
const TYPES: readonly LockEvent['type'][] = ['held', 'released', 'lost', 'waits', 'left']
/** Longer than any that a client sends. */
const LONGEST_MESSAGE = 1_000_000

export function wantedText(names: readonly string[], forMs: number): string {
  return VERSION + JSON.stringify({ names, forMs })
}

/** Null: another protocol, or nonsense. */
export function wantedIn(
  message: string,
): { readonly names: readonly string[]; readonly forMs: number } | null {
  const { names, forMs } = (contentsOf(message) ?? {}) as { names?: unknown; forMs?: unknown }
  const areNames = Array.isArray(names) && names.length <= MOST_TOLD
  return areNames && names.every((name) => typeof name === 'string') && isAmount(forMs)
    ? { names: names, forMs }
    : null
}

export type EventRow = readonly [
  type: LockEvent['type'],
  lockName: string,
  owner: string,
  kind: LockKind,
  agoMs: number,
  reason: string,
]

export function eventsText(clientId: string, rows: readonly EventRow[]): string {
  return VERSION + JSON.stringify({ clientId, rows })
}

/** None for another protocol, or nonsense. */
export function eventsIn(message: string): readonly LockEvent[] {
  const { clientId, rows } = (contentsOf(message) ?? {}) as { clientId?: unknown; rows?: unknown }
  const known = rowsOf(rows, ['string', 'string', 'string', 'string', 'number', 'string']) as
    readonly EventRow[] | null
  if (typeof clientId !== 'string' || !known?.every(([type]) => TYPES.includes(type))) {
    return []
  }
  return known.map(([type, lockName, owner, kind, agoMs, reason]) => ({
    type,
    lockName,
    clientId,
    owner,
    kind,
    agoMs,
    reason,
  }))
}

function contentsOf(message: string): object | null {
  return message.startsWith(VERSION) && message.length <= LONGEST_MESSAGE
    ? objectIn(message.slice(VERSION.length))
    : null
}
