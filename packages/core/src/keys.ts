// All key and channel names are built here and nowhere else. Redisson's names are reproduced byte for byte
// (docs/wire-format.md); Holdfast's own keys start with "holdfast:".

/**
 * The text as Redis stores it. A lone surrogate has no UTF-8 and is sent as U+FFFD: the name that comes back in a
 * message or a reply would no longer match.
 */
export function wellFormed(text: string): string {
  return /\p{Surrogate}/u.test(text) ? Buffer.from(text).toString() : text
}

/**
 * The name of a local queue or scope. It starts with a lone surrogate, so no lock can have it: well-formed text has
 * none. With `read:x` for the read lock of `x`, its reader would re-enter a lock that is named `read:x`.
 */
export function localName(purpose: string, of: string | number): string {
  return `\uD800${purpose}:${of}`
}

/** Redisson's prefix rule: a name with "{" anywhere brings its own hash tag, any other becomes the tag. */
function tagged(prefix: string, rawName: string): string {
  return rawName.includes('{') ? `${prefix}:${rawName}` : `${prefix}:{${rawName}}`
}

/**
 * Whether all keys of this name are in one slot of a cluster. A brace without its partner, or a pair with nothing in it,
 * is no hash tag; and a name with a "}" alone ends the braces that are put around it.
 */
export function isInOneSlot(rawName: string): boolean {
  const open = rawName.indexOf('{')
  return open < 0 ? !rawName.includes('}') : rawName.indexOf('}', open) > open + 1
}

/** The channel on which releases of a lock are published. */
export function unlockChannel(rawName: string): string {
  return tagged('redisson_lock__channel', rawName)
}

/** The channel on which a fair lock's release is published to one Java waiter. */
export function redissonWakeUpChannel(channel: string, owner: string): string {
  return `${channel}:${owner}`
}

/** The queue of a fair lock: Redisson's list and time-outs, and Holdfast's arrivals and heartbeats. */
export function fairQueueKeys(rawName: string): readonly [string, string, string, string] {
  return [
    tagged('redisson_lock_queue', rawName),
    tagged('redisson_lock_timeout', rawName),
    tagged('holdfast:arrivals', rawName),
    tagged('holdfast:heartbeats', rawName),
  ]
}

/** Redisson's suffix rule, with the same test as for prefixes. */
function suffixed(rawName: string, suffix: string): string {
  return rawName.includes('{') ? `${rawName}:${suffix}` : `{${rawName}}:${suffix}`
}

/** The channel on which releases of a read or a write lock are published. */
export function readWriteChannel(rawName: string): string {
  return tagged('redisson_rwlock', rawName)
}

/** The writers that wait for a read-write lock. */
export function waitingWriters(rawName: string): string {
  return tagged('holdfast:writers', rawName)
}

const TIMEOUTS = 'rwlock_timeout'

/** The prefix of one owner's reader time-outs. Each hold has a key of its own: `<prefix>:<number of the hold>`. */
export function readTimeouts(rawName: string, owner: string): string {
  return suffixed(rawName, `${owner}:${TIMEOUTS}`)
}

/** The parts around the owner, for a script that derives the keys of other owners. */
export function otherReadersTimeouts(rawName: string): { readonly before: string; readonly behind: string } {
  return { before: suffixed(rawName, ''), behind: `:${TIMEOUTS}:` }
}

/** The owner field of a writer. */
export function writeOwner(owner: string): string {
  return `${owner}:write`
}

/** The counter of a lock's fencing tokens. */
export function tokenKey(rawName: string): string {
  return tagged('redisson_lock_token', rawName)
}

/** The channel on which released permits are published. */
export function permitsChannel(rawName: string): string {
  return tagged('redisson_sc', rawName)
}

/** When the permits of a permit-expirable semaphore expire, by permit. */
export function permitTimeouts(rawName: string): string {
  return suffixed(rawName, 'timeout')
}

const LATCH_CHANNEL = 'redisson_countdownlatch__channel__'

/** The channel of a count-down latch: always with braces, not by the prefix rule. */
export function latchChannel(rawName: string): string {
  return `${LATCH_CHANNEL}{${rawName}}`
}

/**
 * Whether a message is published to every node of a cluster: messages to one client come from locks in all slots, and
 * Redisson's channel of a latch with a brace in its name is not in the latch's slot.
 */
export function isHeardEverywhere(channel: string): boolean {
  return (
    channel.startsWith(INBOX_PREFIX) ||
    (channel.startsWith(LATCH_CHANNEL) && channel.lastIndexOf('{') > LATCH_CHANNEL.length)
  )
}

/** The results of one client's latest operations on a semaphore or a count-down latch, for re-sent commands. */
export function operationsKey(rawName: string, clientId: string): string {
  return `${tagged('holdfast:operations', rawName)}:${clientId}`
}

/** The state of a schedule's ticks. */
export function ticksKey(rawName: string): string {
  return tagged('holdfast:ticks', rawName)
}

/** The latest terms of an election. */
export function termsKey(rawName: string): string {
  return tagged('holdfast:terms', rawName)
}

/** The channel on which the terms of an election are announced. */
export function electionChannel(rawName: string): string {
  return tagged('holdfast:election', rawName)
}

/** The client id in an owner of a lock. */
export function clientIdOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf(':'))
}

/**
 * The name of the lock that one key of a share is run under; an application's own lock of `<name>:<key>` is another. No
 * two pairs have one name: keys may come from users, and none may lead to another share's results.
 */
export function shareLock(name: string, key: string): string {
  return `share:${name.replaceAll('%', '%25').replaceAll(':', '%3A')}:${key}`
}

/** The same on a cluster, for keys and names with braces that are no hash tag. No `shareLock` begins like it. */
export function shareLockInOneSlot(name: string, key: string): string {
  return `share::{${encodeURIComponent(wellFormed(name))}}:${key}`
}

/** The result that is kept for later callers of a share, and the run whose result will be outdated. */
export function keptResultKey(rawName: string): string {
  return tagged('holdfast:share', rawName)
}

/** The result of one run of a share, for the callers that wait for it. */
export function runResultKey(rawName: string, owner: string): string {
  return `${tagged('holdfast:result', rawName)}:${owner}`
}

/** Prefix of the tombstones of one lock; the owner is appended. */
export function tombstonePrefix(rawName: string): string {
  return `${tagged('holdfast:latch', rawName)}:`
}

/** Details about the current hold of a lock, for clients it refuses. */
export function noteKey(rawName: string): string {
  return tagged('holdfast:note', rawName)
}

/** The queue of a plain lock: waiters that a release can grant the lock to. */
export function grantQueueKey(rawName: string): string {
  return tagged('holdfast:line', rawName)
}

/** A key in the slot of a batch's locks, for a write that changes nothing. Never exists. */
export function probeKey(rawName: string): string {
  return tagged('holdfast:probe', rawName)
}

/** A release message that only Redisson clients act on, as on its `0`. */
export const FOR_REDISSON = '00'

/**
 * The protocol version of this release, in queues and in messages to a client. An entry without one is of version 1.
 * See docs/decisions/0040-what-anybody-can-say.md.
 */
export const PROTOCOL = 2

/** Prefix of the channel on which a client receives messages about its own holds; the client id is appended. */
export const INBOX_PREFIX = 'holdfast:client:'

/** The reports of the clients with one prefix: all in one slot. */
export function reportKeys(keyPrefix: string): {
  readonly clients: string
  readonly reports: string
  readonly probe: string
} {
  const name = `${keyPrefix}clients`
  const [clients, probe] = [tagged('holdfast:clients', name), probeKey(name)]
  return { clients, reports: `${tagged('holdfast:report', name)}:`, probe }
}

/** The channels between observers and reporting clients. They are no client's inbox: no client id has a colon. */
export function observerChannels(keyPrefix: string): { readonly wanted: string; readonly events: string } {
  return {
    wanted: `${INBOX_PREFIX}observers:wanted:${keyPrefix}`,
    events: `${INBOX_PREFIX}observers:events:${keyPrefix}`,
  }
}

/** The owner field of a lock hash. */
export function ownerField(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`
}

/** The same for a lock that may stay with its client when it is released: others see that by the 0 before the number. */
export function lingeringOwnerField(clientId: string, threadId: number): string {
  return `${clientId}:0${threadId}`
}

/** An owner in Holdfast's form. */
interface OwnerParts {
  readonly clientName: string
  readonly threadId: string
  /** Its lock may linger: it is held, or idle. */
  readonly lingers?: true
}

/** The parts of an owner in Holdfast's form. Undefined for any other form, as Redisson's. */
export function partsOfOwner(owner: string): OwnerParts | undefined {
  const [, clientName, mark, threadId] = /^([^:{}]+)~[\w-]{21}:(0?)(\d+)(?::write)?$/.exec(owner) ?? []
  return clientName === undefined || threadId === undefined
    ? undefined
    : { clientName, threadId, ...(mark === '0' && { lingers: true as const }) }
}

const TRAVELLER = /^handover~[\da-f]{32}:1$/

/** The owner field of a lock that was handed over and is not adopted yet. @param id 32 random hexadecimal digits */
export function handedOverOwner(id: string): string {
  return `handover~${id}:1`
}

export function isHandedOver(owner: string): boolean {
  return TRAVELLER.test(owner)
}

const GLOB = /[*?[\]^\\-]/g

/** The SCAN pattern for lock names behind a literal prefix. */
export function keyPattern(prefix: string, names: string): string {
  return prefix.replaceAll(GLOB, '\\$&') + names
}
