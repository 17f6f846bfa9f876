import { foreign } from './runtime/format-value.js'
import { partsOfOwner } from './keys.js'

/** Who had the lock when it was last looked at. All durations in milliseconds. */
export interface LockHolder {
  /** `<clientId>:<threadId>`; the client id starts with the client's name. */
  readonly owner: string
  /** The name of its client. Absent where the owner is not Holdfast's, as that of a Java client. */
  readonly clientName?: string
  /** Of one acquisition, as in `owner`. Absent where `clientName` is. */
  readonly threadId?: string
  readonly holds: number
  /** Lease left when Redis last answered; -1 for a key without a time to live. */
  readonly leaseLeftMs: number
  /** How long this client has seen the same owner hold it: a lower bound of the true time. */
  readonly heldForAtLeastMs: number
  /** How long it has had the lock. Known of holds of clients with `describeHolds`. */
  readonly heldForMs?: number
  /** The trace that the hold is part of, in W3C's form, where the function in `describeHolds` told one. */
  readonly traceparent?: string
  /** So many owners have it together with this one: readers. Absent where it has the lock alone. */
  readonly others?: number
}

/** The longest name of a client, what is made for it, and a thread. */
const LONGEST_OWNER = 240

/** What an answer of Redis tells of a holder; an undefined part is unknown. */
export interface HolderFacts {
  readonly owner: string
  readonly holds: number
  readonly leaseLeftMs: number
  readonly heldForAtLeastMs: number
  readonly heldForMs?: number | undefined
  readonly traceparent?: string | undefined
  readonly others?: number | undefined
}

export function lockHolder({ heldForMs, traceparent, others = 0, ...facts }: HolderFacts): LockHolder {
  const parts = facts.owner.length <= LONGEST_OWNER ? partsOfOwner(facts.owner) : undefined
  return {
    ...facts,
    owner: parts ? facts.owner : foreign(facts.owner),
    ...parts,
    ...(heldForMs !== undefined && { heldForMs }),
    ...(traceparent !== undefined && { traceparent }),
    ...(others > 0 && { others }),
  }
}

/** As `orders-7f9-12 (thread 42)`; the whole owner where it is not of Holdfast's form. */
export function nameOf({ owner, clientName, threadId }: LockHolder): string {
  return clientName === undefined ? owner : `${clientName} (thread ${threadId})`
}

/** As `orders-7f9-12 (thread 42) has had it for 12.3 s, 17 s of lease left`. */
export function holderInWords(holder: LockHolder): string {
  const { heldForMs, heldForAtLeastMs, leaseLeftMs, others = 0 } = holder
  const bound =
    Math.round(heldForAtLeastMs) > 0 ? `has had it for at least ${spoken(heldForAtLeastMs)}` : 'has it'
  const howLong = heldForMs === undefined ? bound : `has had it for ${spoken(heldForMs)}`
  const besides = others > 0 ? `, and ${others} other${others === 1 ? '' : 's'} with it` : ''
  const lease = leaseLeftMs < 0 ? 'its lease has no end' : `${spoken(leaseLeftMs)} of lease left`
  return `${nameOf(holder)} ${howLong}${besides}, ${lease}`
}

/** A duration as people say it: 850 ms, 12.3 s, 17 s, 5 min 3 s. */
function spoken(ms: number): string {
  if (Math.round(ms) < 1_000) {
    return `${Math.round(ms)} ms`
  }
  const tenths = Math.round(ms / 100)
  if (tenths < 600) {
    return `${tenths / 10} s`
  }
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
