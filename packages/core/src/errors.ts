import { isNativeError } from 'node:util/types'
import { formatValue, foreign } from './runtime/format-value.js'
import { holderInWords, nameOf, type LockHolder } from './lock-holder.js'

/** Stable codes; compare these rather than classes when two copies of the package may be installed. */
export type LockErrorCode =
  | 'LOCK_TIMEOUT'
  | 'LOCK_LOST'
  | 'NOT_LOCK_OWNER'
  | 'SELF_DEADLOCK'
  | 'NOT_REENTRANT'
  | 'CONTEXT_REQUIRED'
  | 'INVALID_ARGUMENT'
  | 'WRONG_TYPE'
  | 'CLIENT_CLOSED'
  | 'REDIS_UNAVAILABLE'
  | 'QUORUM'

/** What an error knows about the lock it is about. */
export interface LockErrorDetails {
  readonly lockName?: string | undefined
  readonly owner?: string | undefined
  readonly cause?: unknown
}

/** How the lease of a hold ran out. */
export interface LeaseEnd {
  readonly leaseMs: number
  /** How long before the loss the request was sent that Redis last confirmed it for. */
  readonly confirmedMsAgo: number
  /** Whether it was to be renewed; else it was a fixed lease. */
  readonly renewed: boolean
}

/** @param failure what the latest renewal failed with, if one did since the lease was confirmed */
function leaseInWords({ leaseMs, confirmedMsAgo, renewed }: LeaseEnd, failure: unknown): string {
  const ago = Math.round(confirmedMsAgo)
  if (!renewed) {
    return `its lease of ${leaseMs} ms, taken ${ago} ms ago, has ended`
  }
  const lease = `its lease of ${leaseMs} ms, last confirmed ${ago} ms ago`
  return isNativeError(failure)
    ? `renewals failed, and ${lease}, has ended: ${failure.message.replace(/\.$/, '')}`
    : `${lease}, has ended without another renewal`
}

/** Every error Holdfast throws on purpose. */
export class LockError extends Error {
  readonly code: LockErrorCode
  readonly lockName: string | undefined
  readonly owner: string | undefined

  constructor(code: LockErrorCode, message: string, details: LockErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = new.target.name
    this.code = code
    this.lockName = details.lockName
    this.owner = details.owner
  }
}

/** What one node of a RedLock did. */
export interface NodeReport {
  /** Which one, from 0, in the order of the locks that the RedLock was made of. */
  readonly index: number
  /** The client that speaks to it. */
  readonly clientId: string
  readonly outcome: 'acquired' | 'busy' | 'failed'
  /** Why it failed. */
  readonly error?: unknown
  /** Who has it there. */
  readonly holder?: LockHolder | undefined
}

/** What a wait that ended knows. */
export interface TimeoutDetails {
  readonly lockName: string
  readonly waitedMs: number
  readonly holder: LockHolder | undefined
  readonly placeInLine?: number | undefined
  readonly permitsLeft?: number | undefined
  readonly nodes?: readonly NodeReport[] | undefined
  /** Of a RedLock: others had too few nodes to have the lock, as far as nodes answered. */
  readonly onlyContenders?: boolean | undefined
  /** Default: the lock. */
  readonly what?: string | undefined
}

/** The wait ended and somebody else still has the lock, or the permits. */
export class LockTimeoutError extends LockError {
  readonly waitedMs: number
  readonly holder: LockHolder | undefined
  /** From 1, when Redis last told; only where Redis keeps a line, as for a fair lock. */
  readonly placeInLine: number | undefined
  /** Of a semaphore: how many permits were free when Redis last told; too few. */
  readonly permitsLeft: number | undefined
  /** Of a RedLock: what each node said. */
  readonly nodes: readonly NodeReport[] | undefined

  constructor(details: TimeoutDetails) {
    const { lockName, waitedMs, placeInLine, what = 'Lock' } = details
    const where = placeInLine === undefined ? '' : `; place ${placeInLine} in line`
    super(
      'LOCK_TIMEOUT',
      `${what} "${lockName}" not acquired in ${Math.round(waitedMs)} ms: ${whatKeptIt(details)}${where}.`,
      { lockName },
    )
    this.waitedMs = waitedMs
    this.holder = details.holder
    this.placeInLine = placeInLine
    this.permitsLeft = details.permitsLeft
    this.nodes = details.nodes
  }
}

function whatKeptIt({ holder, permitsLeft, nodes, onlyContenders }: TimeoutDetails): string {
  if (nodes) {
    const said = nodes.map((node) => `node ${node.index} ${whatItDid(node)}`).join('; ')
    return onlyContenders === true
      ? `nobody is known to have it, only others that want it have nodes: ${said}`
      : said
  }
  if (permitsLeft !== undefined) {
    return `${permitsLeft} free`
  }
  return holder ? holderInWords(holder) : 'somebody else has it'
}

/**
 * Why a hold was lost: `expired` its trusted time ran out before a renewal came through or at the end of its
 * lease; `gone` Redis says this owner does not have it; `forced` somebody called `forceUnlock`; `closed` the
 * client was closed over it.
 */
export type LossReason = 'expired' | 'gone' | 'forced' | 'closed'

const LOSS_TEXT: Record<LossReason, string> = {
  expired: 'its lease could not be trusted any longer',
  gone: 'Redis no longer has it under this owner',
  forced: 'somebody released it by force',
  closed: 'its client was closed',
}

/** The hold is over, whatever the code that holds it believes. */
export class LockLostError extends LockError {
  readonly reason: LossReason
  /** What the callback of `withLock` returned, when it had succeeded although the lock was lost meanwhile. */
  readonly result: unknown
  /** Where trust ran out: of how long a lease, and when that was last confirmed. `cause` is what a renewal failed with. */
  readonly lease: LeaseEnd | undefined

  constructor(details: {
    lockName: string
    owner: string
    reason: LossReason
    result?: unknown
    cause?: unknown
    lease?: LeaseEnd | undefined
    /** Default: the lock. */
    what?: string | undefined
  }) {
    const { lockName, reason, cause, what = 'Lock' } = details
    // With a result, its cause is the loss itself, which knows.
    const { lease = details.lease, cause: failure = cause } = cause instanceof LockLostError ? cause : {}
    const why = lease ? leaseInWords(lease, failure) : LOSS_TEXT[reason]
    super('LOCK_LOST', `${what} "${lockName}" was lost: ${why}.`, details)
    this.reason = details.reason
    this.result = details.result
    this.lease = lease
  }
}

/** `unlock()` by somebody who does not hold the lock; whoever holds it keeps it. */
export class NotLockOwnerError extends LockError {
  /** @param lockName undefined: any would have done */
  constructor(
    lockName: string | undefined,
    why: string,
    details: { owner?: string | undefined; cause?: unknown } = {},
  ) {
    const said = lockName === undefined ? 'No lock is held' : `Lock "${lockName}" is not held`
    super('NOT_LOCK_OWNER', `${said} by this caller: ${why}.`, {
      lockName,
      ...details,
    })
  }
}

const HELD_OUTSIDE = 'an enclosing context holds it. Give the wait a limit, or fork with { detached: true }'

/**
 * A wait without a limit that would never end: for a lock that an enclosing context holds under another owner, or for
 * the write lock of what the caller reads.
 */
export class SelfDeadlockError extends LockError {
  constructor(lockName: string, owner: string, why = HELD_OUTSIDE) {
    super('SELF_DEADLOCK', `Waiting for lock "${lockName}" would never end: ${why}.`, { lockName, owner })
  }
}

/** A lock that is not reentrant was asked for by an owner that has it. What it has is unharmed. */
export class NotReentrantError extends LockError {
  constructor(lockName: string, owner: string) {
    super('NOT_REENTRANT', `Lock "${lockName}" is not reentrant, and this caller has it already.`, {
      lockName,
      owner,
    })
  }
}

/** A call of Redisson's face outside any context, where the client's `bareCalls` is 'throw'. */
export class ContextRequiredError extends LockError {
  constructor(lockName: string, method: string) {
    super(
      'CONTEXT_REQUIRED',
      `${method}() of lock "${lockName}" was called outside any context. Use withLock(), acquire(), or locks.run().`,
      { lockName },
    )
  }
}

/** An argument or option that cannot be meant; says which, and what was given. */
export class InvalidArgumentError extends LockError {
  readonly argument: string
  /** Not enumerable: it may be large, or have a password in it, and errors are logged with all that is. */
  readonly value: unknown

  constructor(argument: string, value: unknown, rule: string) {
    super('INVALID_ARGUMENT', `${argument} must be ${rule}; got ${formatValue(value)}.`)
    this.argument = argument
    this.value = value
    Object.defineProperty(this, 'value', { enumerable: false })
  }
}

/** A key of the lock, semaphore or latch has something else in Redis. Nothing was changed. */
export class WrongTypeError extends LockError {
  readonly key: string

  /** @param what it should be of */
  constructor(lockName: string, key: string, cause: Error, what = 'a lock') {
    super('WRONG_TYPE', `Key "${key}" is not that of ${what}: ${foreign(cause.message)}`, { lockName, cause })
    this.key = key
  }
}

/** The client is closed or closing. */
export class ClientClosedError extends LockError {
  constructor(lockName?: string) {
    super('CLIENT_CLOSED', 'The lock client is closed.', { lockName })
  }
}

/** What is known of a command that failed: never sent, sent with unknown effect, or refused by Redis without effect. */
export type CommandOutcome = 'not-sent' | 'unknown' | 'refused'

/** Redis did not answer in time, or refused to work. `cause` is the client's own error where there is one. */
export class RedisUnavailableError extends LockError {
  readonly outcome: CommandOutcome
  /** Whether the same command may succeed when it is tried again (a lost connection, a fail-over, a loading server). */
  readonly transient: boolean
  /** How long the call had waited, ms; undefined where it did not wait: one attempt, or a question. */
  readonly waitedMs: number | undefined

  constructor(
    message: string,
    details: LockErrorDetails & {
      outcome: CommandOutcome
      transient: boolean
      waitedMs?: number | undefined
    },
  ) {
    super('REDIS_UNAVAILABLE', message, details)
    this.outcome = details.outcome
    this.transient = details.transient
    this.waitedMs = details.waitedMs
  }
}

/** So many nodes of a RedLock failed that the others are no quorum. What was taken is given back. */
export class QuorumError extends LockError {
  /** So many nodes would have been enough. */
  readonly needed: number
  /** Those that were asked, or, after a release or a question, those that failed. */
  readonly nodes: readonly NodeReport[]

  constructor(details: { lockName: string; needed: number; nodes: readonly NodeReport[] }) {
    const { lockName, needed, nodes } = details
    const said = nodes.map((node) => `node ${node.index} ${whatItDid(node)}`).join('; ')
    const cause = nodes.find(({ error }) => error !== undefined)?.error
    super('QUORUM', `RedLock "${lockName}" needs ${needed} nodes: ${said}.`, { lockName, cause })
    this.needed = needed
    this.nodes = nodes
  }
}

function whatItDid({ outcome, holder, error }: NodeReport): string {
  if (outcome === 'failed') {
    return `failed (${error instanceof Error ? error.message : String(error)})`
  }
  return holder ? `is held by ${nameOf(holder)}` : outcome
}
