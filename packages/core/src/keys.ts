// Every key and channel name, and nothing else builds one. The names of Redisson are its own, byte for byte
// (docs/wire-format.md); keys of ours start with "holdfast:".

/**
 * The text as Redis has it. A lone surrogate has no UTF-8, so U+FFFD goes out in its place: what comes back in a
 * message or a reply would match nothing here.
 */
export function wellFormed(text: string): string {
  return /\p{Surrogate}/u.test(text) ? Buffer.from(text).toString() : text
}

/**
 * A line or a scope that only this process knows, under a name that no lock has, because no well-formed text has a lone
 * surrogate. With `read:x` for the read lock of `x`, whoever reads it would re-enter a lock that is named `read:x`.
 */
export function localName(purpose: string, of: string | number): string {
  return `\uD800${purpose}:${of}`
}

/** Redisson's prefix rule: a name with "{" anywhere brings its own hash tag, any other becomes the tag. */
function tagged(prefix: string, rawName: string): string {
  return rawName.includes('{') ? `${prefix}:${rawName}` : `${prefix}:{${rawName}}`
}

/** What the release of a lock is announced on. */
export function unlockChannel(rawName: string): string {
  return tagged('redisson_lock__channel', rawName)
}

/** What the release of a fair lock is announced on to one Java waiter. */
export function turnChannel(channel: string, owner: string): string {
  return `${channel}:${owner}`
}

/** The line of a fair lock: Redisson's list and times, and what is known of the waiters of ours. */
export function fairQueueKeys(rawName: string): readonly [string, string, string, string] {
  return [
    tagged('redisson_lock_queue', rawName),
    tagged('redisson_lock_timeout', rawName),
    tagged('holdfast:arrivals', rawName),
    tagged('holdfast:heartbeats', rawName),
  ]
}

/** Redisson's suffix rule, the same test as for prefixes. */
function suffixed(rawName: string, suffix: string): string {
  return rawName.includes('{') ? `${rawName}:${suffix}` : `{${rawName}}:${suffix}`
}

/** What the release of a read or a write lock is announced on. */
export function readWriteChannel(rawName: string): string {
  return tagged('redisson_rwlock', rawName)
}

/** The writers that wait for a read-write lock. */
export function waitingWriters(rawName: string): string {
  return tagged('holdfast:writers', rawName)
}

const TIMEOUTS = 'rwlock_timeout'

/** Each hold of a reader has a key of its own. What those of one owner begin with; behind it `:<number of the hold>`. */
export function readTimeouts(rawName: string, owner: string): string {
  return suffixed(rawName, `${owner}:${TIMEOUTS}`)
}

/** The same in two parts, for a script that finds the owners itself. */
export function strangersTimeouts(rawName: string): { readonly before: string; readonly behind: string } {
  return { before: suffixed(rawName, ''), behind: `:${TIMEOUTS}:` }
}

/** The owner field of a writer. */
export function writeOwner(owner: string): string {
  return `${owner}:write`
}

/** Where the fencing tokens of a lock are counted. */
export function tokenKey(rawName: string): string {
  return tagged('redisson_lock_token', rawName)
}

/** What permits that come back are announced on. */
export function permitsChannel(rawName: string): string {
  return tagged('redisson_sc', rawName)
}

/** When the permits of a permit-expirable semaphore end, by permit. */
export function permitTimeouts(rawName: string): string {
  return suffixed(rawName, 'timeout')
}

const LATCH_CHANNEL = 'redisson_countdownlatch__channel__'

/** What a count-down latch is announced on: braces in any case, not by the prefix rule. */
export function latchChannel(rawName: string): string {
  return `${LATCH_CHANNEL}{${rawName}}`
}

/**
 * Whether it is announced to every node of a cluster in any case: what a client hears about its own holds comes from
 * locks in all slots, and Redisson's channel of a latch that is named with a brace is not in the latch's slot.
 */
export function isHeardEverywhere(channel: string): boolean {
  return (
    channel.startsWith(INBOX_PREFIX) ||
    (channel.startsWith(LATCH_CHANNEL) && channel.lastIndexOf('{') > LATCH_CHANNEL.length)
  )
}

/** What came of the latest operations of one client on a semaphore or a count-down latch. */
export function operationsKey(rawName: string, clientId: string): string {
  return `${tagged('holdfast:operations', rawName)}:${clientId}`
}

/** What is known of the ticks of a schedule. */
export function ticksKey(rawName: string): string {
  return tagged('holdfast:ticks', rawName)
}

/** Latches of one lock; the owner is appended. */
export function latchPrefix(rawName: string): string {
  return `${tagged('holdfast:latch', rawName)}:`
}

/** What is known of the hold that somebody has of a lock, for those whom it refuses. */
export function noteKey(rawName: string): string {
  return tagged('holdfast:note', rawName)
}

/** Who waits for a plain lock and is given it when it is released. */
export function givenLine(rawName: string): string {
  return tagged('holdfast:line', rawName)
}

/** What a batch of scripts writes nothing into, in the slot of its locks. Never exists. */
export function probeKey(rawName: string): string {
  return tagged('holdfast:probe', rawName)
}

/** A message that only Redisson heeds, as its `0`. */
export const FOR_REDISSON = '00'

/**
 * The number of the protocol that this version speaks, in lines and in messages to an inbox. What has none is of the first.
 * See docs/decisions/0040-what-anybody-can-say.md.
 */
export const PROTOCOL = 2

/** What a client hears about its own holds on; the client id is appended. */
export const INBOX_PREFIX = 'holdfast:client:'

/** The owner field of a lock hash. */
export function ownerField(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`
}

/** Who an owner of Holdfast's form is: the name of its client and its thread. Undefined: somebody else's form, as Redisson's. */
export function partsOfOwner(owner: string): { clientName: string; threadId: string } | undefined {
  const [, clientName, threadId] = /^([^:{}]+)~[\w-]{21}:(\d+)(?::write)?$/.exec(owner) ?? []
  return clientName === undefined || threadId === undefined ? undefined : { clientName, threadId }
}

const GLOB = /[*?[\]^\\-]/g

/** The pattern of SCAN for names of locks, behind a prefix that means itself. */
export function keyPattern(prefix: string, names: string): string {
  return prefix.replaceAll(GLOB, '\\$&') + names
}
