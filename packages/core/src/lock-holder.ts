import { foreign } from './runtime/format-value.js'
import { isHandedOver, partsOfOwner } from './keys.js'

/** The holder of a lock as of Redis's last reply. All durations in milliseconds. */
export interface LockHolder {
  /** `<clientId>:<threadId>`; the client id starts with the client's name. */
  readonly owner: string
  /** Name of the holder's client. Absent when the owner is not in Holdfast's form, as that of a Java client. */
  readonly clientName?: string
  /** The thread part of `owner`. Absent when `clientName` is. */
  readonly threadId?: string
  readonly holds: number
  /** Lease left as of Redis's last reply; -1 for a key without a time to live. */
  readonly leaseLeftMs: number
  /**
   * The longest lease that the refused client has asked for so far. Present when `leaseLeftMs` is longer: the holder asked
   * for more, or the clock of Redis was set back, and a dead holder keeps others out for as long.
   */
  readonly longestLeaseMs?: number
  /** How long this client has seen the same owner hold the lock: a lower bound. */
  readonly heldForAtLeastMs: number
  /** How long the owner has held the lock. Known for holders whose client has `describeHolds`. */
  readonly heldForMs?: number
  /** The trace of the hold, as a W3C traceparent, if the holder's `describeHolds` function returned one. */
  readonly traceparent?: string
  /** The owner's client keeps released locks for its next caller (`lingerMs`): it holds the lock, or has it idle. */
  readonly mayBeIdle?: true
  /** Number of further owners: other readers. Absent when the owner holds the lock alone. */
  readonly others?: number
  /**
   * Another library: `owner` is the text of its string, at most 200 bytes of it (`foreignLocks`), or the first field of a
   * hash that is no lock of Holdfast or Redisson.
   */
  readonly foreign?: true
  /** The refused client has it itself: another call of it, or the refused caller in another context. */
  readonly thisClient?: true
  /** The lock was handed over (`@holdfast/core/travel`) and is not adopted yet: no process acts as its owner. */
  readonly handedOver?: true
}

/** The longest possible owner: client name, random suffix and thread. */
const LONGEST_OWNER = 240

/** The facts that a reply tells about a holder; undefined parts are unknown. */
export interface HolderFacts {
  readonly owner: string
  readonly holds: number
  readonly leaseLeftMs: number
  readonly longestLeaseMs?: number | undefined
  readonly heldForAtLeastMs: number
  readonly heldForMs?: number | undefined
  readonly traceparent?: string | undefined
  readonly others?: number | undefined
  readonly isForeign?: boolean | undefined
  /** The client that was refused. */
  readonly clientId?: string | undefined
}

export function lockHolder({
  longestLeaseMs = Number.POSITIVE_INFINITY,
  heldForMs,
  traceparent,
  others = 0,
  isForeign: isString = false,
  clientId,
  ...facts
}: HolderFacts): LockHolder {
  const isForeign = isString || !Number.isInteger(facts.holds)
  const isOurs = !isForeign && facts.owner.length <= LONGEST_OWNER
  const parts = isOurs ? partsOfOwner(facts.owner) : undefined
  const handedOver = isOurs && isHandedOver(facts.owner)
  return {
    ...facts,
    holds: isForeign ? 1 : facts.holds,
    owner: parts ? facts.owner : foreign(handedOver ? withoutSecret(facts.owner) : facts.owner),
    ...(parts && { clientName: parts.clientName, threadId: parts.threadId }),
    ...(parts?.lingers && { mayBeIdle: true as const }),
    // How long other libraries hold their locks says nothing about the clock.
    ...(facts.leaseLeftMs > longestLeaseMs && !isForeign && { longestLeaseMs }),
    ...(heldForMs !== undefined && { heldForMs }),
    ...(traceparent !== undefined && { traceparent }),
    ...(others > 0 && { others }),
    ...(isForeign && { foreign: true as const }),
    ...(isOurs &&
      clientId !== undefined &&
      facts.owner.startsWith(`${clientId}:`) && { thisClient: true as const }),
    ...(handedOver && { handedOver }),
  }
}

/** Errors and logs of refused callers name the holder. They must not contain the token, which is the right to the lock. */
function withoutSecret(owner: string): string {
  return `${owner.slice(0, 17)}…`
}

const ON_ITS_WAY = 'handed over, not yet adopted'

/**
 * As `orders-7f9-12 (thread 42)`; the whole owner if it is not in Holdfast's form; `another library ("4f3a")`.
 */
export function nameOf({ owner, clientName, threadId, foreign: isForeign, handedOver }: LockHolder): string {
  if (handedOver) {
    return `no process (${ON_ITS_WAY})`
  }
  if (isForeign) {
    return `another library (${JSON.stringify(owner)})`
  }
  return clientName === undefined ? owner : `${clientName} (thread ${threadId})`
}

/** Prints `orders-7f9-12 (thread 42) has held it for 12.3 s, 17 s of lease left`. */
export function holderInWords(holder: LockHolder): string {
  const { heldForMs, heldForAtLeastMs, leaseLeftMs, longestLeaseMs, others = 0 } = holder
  const orIdle = holder.mayBeIdle ? ', or kept it idle,' : ''
  const bound =
    Math.round(heldForAtLeastMs) > 0
      ? `has held it${orIdle} for at least ${spoken(heldForAtLeastMs)}`
      : `holds it${holder.mayBeIdle ? ', or keeps it idle' : ''}`
  const told = heldForMs === undefined ? bound : `has held it${orIdle} for ${spoken(heldForMs)}`
  const besides = others > 0 ? `, and ${others} other${others === 1 ? '' : 's'} with it` : ''
  const lease = leaseLeftMs < 0 ? 'its lease does not expire' : `${spoken(leaseLeftMs)} of lease left`
  const doubt =
    longestLeaseMs === undefined
      ? ''
      : `, longer than any lease of this client (${spoken(longestLeaseMs)}): the holder asked for more, or the clock of ` +
        'Redis was set back'
  const self = holder.thisClient ? ', this very client,' : ''
  const who = holder.handedOver ? ON_ITS_WAY : `${nameOf(holder)}${self} ${told}`
  return `${who}${besides}, ${lease}${doubt}`
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
