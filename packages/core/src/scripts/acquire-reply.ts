import { noteIn, type HoldNote } from './note.js'
import { REPLY_MEANINGS } from './reply-meanings.js'

/** The reply to an acquire of any kind of lock. */
export type AcquireReply =
  /** `token` of a fenced lock; `replicas` that acknowledged it, if they were waited for. */
  | { readonly kind: 'acquired'; readonly token?: string; readonly replicas?: number }
  | HeldReply
  /** A re-entry found nothing to re-enter. */
  | { readonly kind: 'lost' }
  /** A later command of this acquisition has already ended what this one belongs to. */
  | { readonly kind: 'superseded' }

/** Another owner holds the lock. */
export interface HeldReply {
  readonly kind: 'held'
  /** -1: a key without a time to live; -2: the lock is free, but others are ahead in the queue. */
  readonly ttlMs: number
  /** '' when the lock is free. */
  readonly holder: string
  readonly holds: number
  /** How many owners hold it, for a lock that several may hold. */
  readonly owners?: number | undefined
  /** The holder's note. */
  readonly note?: HoldNote | undefined
  /** Redis has this owner in the queue. */
  readonly waits?: boolean | undefined
  /** Until when this owner counts as alive in the queue, by the clock of Redis, ms. */
  readonly aliveUntil?: number | undefined
  /** Place in the queue, from 1, for kinds of lock that keep one. */
  readonly place?: number | undefined
  /** It was not put into the line, which has as many waiters as it allows (`AcquireTerms.maxWaiting`). */
  readonly full?: { readonly waiting: number; readonly firstWaitedMs: number } | undefined
  /** The lock's key is another library's string, and `holder` its text. */
  readonly isForeign?: true | undefined
}

const ACQUIRED = { kind: 'acquired' } as const

/** `ScriptCall.granted` of an acquire of any kind of lock. */
export function granted<R extends { readonly kind: string }>(reply: R, replicas: number): R | undefined {
  return reply.kind === 'acquired' ? { ...reply, replicas } : undefined
}

/** Parses a number, or the holder and this owner's place in the queue. */
export function parseAcquire(reply: unknown): AcquireReply {
  if (!Array.isArray(reply)) {
    return parseAcquired(reply)
  }
  const until = Number(reply[3])
  return until > 0 ? heldReply(reply, until) : heldReply(reply)
}

/** Does the same as `parseAcquire`, for a lock that several owners may hold. */
export function parseShared(reply: unknown): AcquireReply {
  if (!Array.isArray(reply)) {
    return parseAcquired(reply)
  }
  return heldReply(reply, undefined, Number(reply[3]))
}

/** Names every property: spreading an object into another takes longer than all the rest. */
function heldReply(reply: readonly unknown[], aliveUntil?: number, owners?: number): HeldReply {
  const [ttlMs, holder, holds, , ...note] = reply
  return {
    kind: 'held',
    ttlMs: Number(ttlMs),
    holder: String(holder),
    holds: Number(holds),
    note: noteIn(note),
    waits: aliveUntil === undefined ? undefined : true,
    aliveUntil,
    owners,
  }
}

/** Parses a reply that is a number. */
export function parseAcquired(reply: unknown): Exclude<AcquireReply, HeldReply> {
  const meaning = REPLY_MEANINGS.acquire[Number(reply)]
  if (meaning === 'acquired') {
    return ACQUIRED
  }
  return { kind: meaning === 'lost' ? 'lost' : 'superseded' }
}
