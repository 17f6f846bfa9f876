import { isNativeError } from 'node:util/types'
import { formatValue, foreign, printable } from './runtime/format-value.js'
import { withoutSecrets } from './runtime/without-secrets.js'
import { holderInWords, nameOf, type LockHolder } from './lock-holder.js'

/** Stable codes; compare these rather than classes when two copies of the package may be installed. */
export type LockErrorCode =
  | 'LOCK_TIMEOUT'
  | 'LOCK_BUSY'
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
  | 'HANDOVER_GONE'
  | 'HOLDER_CHANGED'
  | 'TERM_ENDED'
  | 'CANDIDATE_UNAVAILABLE'
  | 'SHARE_FAILED'
  | 'SHARE_BUSY'
  | 'SHARE_OUTCOME_UNKNOWN'
  | 'STALE_HOLDER'
  | 'FENCE_UNDECIDED'

/** Details common to all errors. */
type LockErrorDetails = Partial<Pick<LockError, 'lockName' | 'owner'> & Record<'cause', unknown>>

/** The fields of an error that its constructor is given: these, and perhaps those. */
type DetailsOf<E, These extends keyof E, Those extends keyof E = never> = Pick<E, These> &
  Partial<Pick<E, Those>>

/** How the lease of a hold ran out. */
export type LeaseEnd = {
  readonly leaseMs: number
  /** Time, in ms, from sending the last request that Redis confirmed the lease for, to the loss. */
  readonly confirmedMsAgo: number
  /** Whether the watchdog renewed the lease; false: it was a fixed lease. */
  readonly renewed: boolean
}

/** @param failure the error of the latest renewal, if one has failed since the lease was confirmed */
function leaseInWords({ leaseMs, confirmedMsAgo, renewed }: LeaseEnd, failure: unknown): string {
  const ago = Math.round(confirmedMsAgo)
  if (!renewed) {
    return `its lease of ${leaseMs} ms, taken ${ago} ms ago, can no longer be trusted`
  }
  const lease = `its lease of ${leaseMs} ms, last confirmed ${ago} ms ago`
  return isNativeError(failure)
    ? `renewals failed, and ${lease}, can no longer be trusted: ${failure.message.replace(/\.$/, '')}`
    : `${lease}, was not renewed again, and can no longer be trusted`
}

/** Every error Holdfast throws on purpose. */
export class LockError extends Error {
  readonly code: LockErrorCode
  readonly lockName: string | undefined
  readonly owner: string | undefined

  constructor(code: LockErrorCode, message: string, details: LockErrorDetails = {}) {
    super(
      printable(message),
      details.cause === undefined ? undefined : { cause: withoutSecrets(details.cause) },
    )
    this.name = new.target.name
    this.code = code
    this.lockName = details.lockName
    this.owner = details.owner
  }
}

/** The result of one node of a RedLock. */
export type NodeReport = {
  /** The node's index, from 0, in the order of the locks the RedLock was made of. */
  readonly index: number
  /** The client that talks to the node. */
  readonly clientId: string
  readonly outcome: 'acquired' | 'busy' | 'failed'
  /** Why it failed. */
  readonly error?: unknown
  /** The holder on that node. */
  readonly holder?: LockHolder | undefined
}

/** The permits that a call waits for. */
export interface WaitedPermits {
  readonly wanted: number
  /** Free permits as of Redis's last reply to this client; undefined: no reply yet. */
  readonly free: number | undefined
  /** The semaphore does not exist: `trySetPermits` was not called, or the semaphore has expired since. */
  readonly isMissing: boolean
}

/** Details of a wait that ended without the lock. */
export interface TimeoutDetails extends DetailsOf<
  LockTimeoutError,
  'lockName' | 'waitedMs' | 'holder',
  'placeInLine' | 'nodes'
> {
  readonly permits?: WaitedPermits | undefined
  /** For a RedLock: as far as the nodes answered, only other contenders have nodes, too few for a majority. */
  readonly onlyContenders?: boolean | undefined
  /** The kind of thing that the message names. Default: "Lock". */
  readonly what?: string | undefined
}

/** The wait ended while another owner held the lock, or the permits. */
export class LockTimeoutError extends LockError {
  declare readonly code: 'LOCK_TIMEOUT'
  readonly waitedMs: number
  readonly holder: LockHolder | undefined
  /** Position in the queue, from 1, as of Redis's last reply. Only where Redis keeps a queue, as for a fair lock. */
  readonly placeInLine: number | undefined
  /** For a semaphore: permits that were free as of Redis's last reply; too few. */
  readonly permitsLeft: number | undefined
  /** For a semaphore: permits that the call wanted. */
  readonly permitsWanted: number | undefined
  /** For a RedLock: the result of each node. */
  readonly nodes: readonly NodeReport[] | undefined

  constructor(details: TimeoutDetails) {
    const { lockName, waitedMs, placeInLine, what = 'Lock' } = details
    const where = placeInLine === undefined ? '' : `; place ${placeInLine} in line`
    // The part about permits ends with advice of its own.
    const advice = details.permits && !details.nodes ? '' : ` ${adviceOf(details.holder)}`
    super(
      'LOCK_TIMEOUT',
      `${what} "${lockName}" not acquired in ${Math.round(waitedMs)} ms: ${whatKeptIt(details)}${where}.${advice}`,
      { lockName },
    )
    this.waitedMs = waitedMs
    this.holder = details.holder
    this.placeInLine = placeInLine
    this.permitsLeft = details.permits?.free
    this.permitsWanted = details.permits?.wanted
    this.nodes = details.nodes
  }
}

/** The call would have had to wait, and as many as `maxWaiting` allows wait already. It did not begin to wait. */
export class LockBusyError extends LockError {
  declare readonly code: 'LOCK_BUSY'
  /** Number of waiting callers: exact for a fair lock, else the number of those that this client knows of, at least. */
  readonly waiting: number
  readonly maxWaiting: number
  /** For how long the first of them has waited, ms; undefined: not known, as where only other clients wait. */
  readonly firstWaitedMs: number | undefined
  readonly holder: LockHolder | undefined

  /** @param what the kind of thing that the message names */
  constructor(details: Omit<LockBusyError, 'code' | 'owner' | keyof Error>, what = 'Lock') {
    const { lockName, waiting, maxWaiting, firstWaitedMs, holder } = details
    const first = firstWaitedMs === undefined ? '' : `, the first for ${Math.round(firstWaitedMs)} ms`
    const line = waiting === 0 ? 'it is not free' : `${waiting} wait for it already${first}`
    const held = holder ? `; ${holderInWords(holder)}` : ''
    super(
      'LOCK_BUSY',
      `${what} "${lockName}" is busy: ${line}, and maxWaiting is ${maxWaiting}${held}. Try again later.`,
      {
        lockName,
      },
    )
    this.waiting = waiting
    this.maxWaiting = maxWaiting
    this.firstWaitedMs = firstWaitedMs
    this.holder = holder
  }
}

function whatKeptIt({ holder, permits, nodes, onlyContenders }: TimeoutDetails): string {
  if (nodes) {
    const said = nodes.map((node) => `node ${node.index} ${whatItDid(node)}`).join('; ')
    return onlyContenders === true ? `no known holder, other contenders have nodes: ${said}` : said
  }
  if (permits) {
    return permitsInWords(permits)
  }
  return holder ? holderInWords(holder) : 'another owner holds it'
}

function adviceOf(holder: LockHolder | undefined): string {
  if (holder && holder.leaseLeftMs < 0) {
    return 'If no program uses that key as a lock, delete it, or choose another name.'
  }
  const itself = holder?.thisClient ? ', or, if this caller itself has it, pass its hold on' : ''
  return `Try again later, or wait longer (waitMs)${itself}.`
}

function permitsInWords({ wanted, free = 0, isMissing }: WaitedPermits): string {
  if (isMissing) {
    return 'there is no such semaphore. Call trySetPermits(n) once, before the first acquire'
  }
  if (free <= 0) {
    const less = free < 0 ? ` (${free})` : ''
    return `none is free${less}. Wait longer, or look for a caller that does not release what it took`
  }
  const some = free === 1 ? '1 is free' : `${free} are free`
  return `only ${some}, ${wanted} are wanted. Callers that want no more than is free go first: wait longer, or want fewer`
}

/**
 * Why a hold was lost. `expired`: its trusted time ran out before a renewal succeeded, or its fixed lease ended.
 * `gone`: Redis reports that this owner does not hold the lock. `forced`: `forceUnlock` was called. `closed`: the
 * client was closed while the lock was held. `context-ended`: the context that took it has ended. `handed-over`: its holder
 * granted it to a successor, which is a loss for the code that still works under it.
 */
export type LossReason = 'expired' | 'gone' | 'forced' | 'closed' | 'context-ended' | 'handed-over'

const LOSS_TEXT: Record<LossReason, string> = {
  expired: 'its lease can no longer be trusted',
  gone: 'Redis no longer holds it for this owner',
  forced: 'it was released by force',
  closed: 'its client was closed',
  'context-ended': 'the context that took it has ended',
  'handed-over': 'its holder handed it over',
}

const STOP_THE_WORK = 'Stop the work that it protects: another caller may be doing it by now.'
const LONGER_LEASE =
  'If the work takes longer, ask for a longer leaseMs, or for one that is renewed (renew: true).'

function adviceAfterLoss(reason: LossReason, lease: LeaseEnd | undefined): string {
  if (reason === 'context-ended') {
    return `${STOP_THE_WORK} Await the work before its context ends, or set onContextEnd to 'keep'.`
  }
  return lease?.renewed === false ? `${STOP_THE_WORK} ${LONGER_LEASE}` : STOP_THE_WORK
}

/** The hold is over, even if the code inside has not noticed. */
export class LockLostError extends LockError {
  declare readonly code: 'LOCK_LOST'
  readonly reason: LossReason
  /** The result of the `withLock` callback, if it succeeded although the lock was lost meanwhile. */
  readonly result: unknown
  /** The lease that ran out, and when Redis last confirmed it. `cause` is the error of the last failed renewal. */
  readonly lease: LeaseEnd | undefined

  /** @param what the kind of thing that the message names */
  constructor(
    details: DetailsOf<LockLostError, 'lockName' | 'owner' | 'reason', 'result' | 'lease'> &
      Pick<LockErrorDetails, 'cause'>,
    what = 'Lock',
  ) {
    const { lockName, reason, cause } = details
    // When there is a result, the cause is the original loss, which has the details.
    const { lease = details.lease, cause: failure = cause } = cause instanceof LockLostError ? cause : {}
    const why = lease ? leaseInWords(lease, failure) : LOSS_TEXT[reason]
    const advice = adviceAfterLoss(reason, lease)
    super('LOCK_LOST', `${what} "${lockName}" was lost: ${why}. ${advice}`, details)
    this.reason = details.reason
    this.result = details.result
    this.lease = lease
  }
}

/** `unlock()` by a caller that does not hold the lock. Nothing was released. */
export class NotLockOwnerError extends LockError {
  declare readonly code: 'NOT_LOCK_OWNER'
  /** @param lockName undefined: the call was not about one lock */
  constructor(lockName: string | undefined, why: string, details: Omit<LockErrorDetails, 'lockName'> = {}) {
    const said = lockName === undefined ? 'No lock is held' : `Lock "${lockName}" is not held`
    super('NOT_LOCK_OWNER', `${said} by this caller: ${why}.`, {
      lockName,
      ...details,
    })
  }
}

const HELD_OUTSIDE = 'an enclosing context holds it. Give the wait a limit, or fork with { detached: true }'

/**
 * A wait that would never end and has no limit: for a lock that an enclosing context holds under another owner, or
 * for the write lock while the caller holds the read lock.
 */
export class SelfDeadlockError extends LockError {
  declare readonly code: 'SELF_DEADLOCK'
  constructor(lockName: string, owner: string, why = HELD_OUTSIDE) {
    super('SELF_DEADLOCK', `Waiting for lock "${lockName}" would never end: ${why}.`, { lockName, owner })
  }
}

/** An owner tried to acquire a non-reentrant lock it already holds. Its hold is unharmed. */
export class NotReentrantError extends LockError {
  declare readonly code: 'NOT_REENTRANT'
  constructor(lockName: string, owner: string) {
    super(
      'NOT_REENTRANT',
      `Lock "${lockName}" is not reentrant, and this caller already holds it. Pass the hold on instead of acquiring ` +
        'again, or take the lock from getLock(), which is reentrant.',
      { lockName, owner },
    )
  }
}

/** A Redisson-style call outside any context, on a client whose `bareCalls` is 'throw'. */
export class ContextRequiredError extends LockError {
  declare readonly code: 'CONTEXT_REQUIRED'
  constructor(lockName: string, method: string) {
    super(
      'CONTEXT_REQUIRED',
      `${method}() of lock "${lockName}" was called outside any context. Use withLock(), acquire(), or locks.run().`,
      { lockName },
    )
  }
}

/** An invalid argument or option; names it and the value given. */
export class InvalidArgumentError extends LockError {
  declare readonly code: 'INVALID_ARGUMENT'
  readonly argument: string
  /** Not enumerable: the value may be large or contain a password, and loggers print all enumerable properties. */
  readonly value: unknown

  constructor(argument: string, value: unknown, rule: string)
  /** @internal */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the message is not part of the public API
  constructor(argument: string, value: unknown, rule: string, message: string)
  constructor(
    argument: string,
    value: unknown,
    rule: string,
    message = `${argument} must be ${rule}; got ${formatValue(value)}.`,
  ) {
    super('INVALID_ARGUMENT', message)
    this.argument = argument
    this.value = value
    Object.defineProperty(this, 'value', { enumerable: false })
  }
}

/**
 * Before version 7, Redis reports a command's error behind its position in the script, with or without the first part:
 * `ERR Error running script (call to f_<sha1>): @user_script:5: @user_script: 5: -READONLY You can't write ...`.
 */
export const WHERE_IN_SCRIPT = /^(ERR Error running script \(call to f_\w+\): )?(@user_script: ?\d+: )+-?/

/** Redis 7 and Valkey add the position at the end. */
const PLACE_IN_SCRIPT = / script: ([\da-f]{40}, )?on @user_script:\d+\.?$/

/** @internal An error of Redis, without its position in the script. */
export function wordsOfRedis(message: string): string {
  return message.replace(WHERE_IN_SCRIPT, '').replace(PLACE_IN_SCRIPT, '')
}

/** `forceUnlock({ holder })`, and another owner has the lock. It keeps it. */
export class HolderChangedError extends LockError {
  declare readonly code: 'HOLDER_CHANGED'
  /** The holder instead; undefined: none any more. */
  readonly holder: LockHolder | undefined

  constructor(lockName: string, owner: string, holder: LockHolder | undefined) {
    const now = holder ? holderInWords(holder) : 'another owner had it, and it is free by now'
    const message = `Lock "${lockName}" is not held by ${foreign(owner)}: ${now}. Nothing was released.`
    super('HOLDER_CHANGED', message, { lockName, owner })
    this.holder = holder
  }
}

/** @internal What a lock has to be where strings are not waited for. */
export const OURS_ALONE = 'a lock of Holdfast or Redisson'

const OTHERWISE = new Map([
  ['a lock', ''],
  ['a lock of Holdfast', ''],
  [OURS_ALONE, "; if it is a string of another library, foreignLocks: 'wait' waits for it"],
])

/** A key of the lock, semaphore or latch has another type in Redis. Nothing was changed. */
export class WrongTypeError extends LockError {
  declare readonly code: 'WRONG_TYPE'
  readonly key: string

  /** @param what the kind of object the key should belong to */
  constructor(lockName: string, key: string, cause: Error, what = 'a lock') {
    const said = foreign(wordsOfRedis(cause.message))
    // Whoever deletes the key of a lock lets a second owner in beside the holder of another library's lock.
    const otherwise = OTHERWISE.get(what) ?? ', or delete that key'
    const advice = `Choose another name or keyPrefix${otherwise}.`
    super('WRONG_TYPE', `Key "${key}" is not ${what}: ${said.replace(/\.$/, '')}. ${advice}`, {
      lockName,
      cause,
    })
    this.key = key
  }
}

/** The client is closed or closing. */
export class ClientClosedError extends LockError {
  declare readonly code: 'CLIENT_CLOSED'
  constructor(lockName?: string) {
    super(
      'CLIENT_CLOSED',
      'The lock client is closed, or closing: make its calls before close(), or connect another client.',
      { lockName },
    )
  }
}

/**
 * What is known about a command that failed: never sent, sent with unknown effect, or rejected by Redis without
 * effect.
 */
export type CommandOutcome = 'not-sent' | 'unknown' | 'refused'

/**
 * Redis did not answer in time, or rejected the command. `cause` is the error of the Redis client, if there is one.
 */
export class RedisUnavailableError extends LockError {
  declare readonly code: 'REDIS_UNAVAILABLE'
  readonly outcome: CommandOutcome
  /** Whether a retry may succeed (a lost connection, a fail-over, a server that is loading). */
  readonly transient: boolean
  /** How long the call had waited, ms; undefined for a call that does not wait: a single attempt, or a query. */
  readonly waitedMs: number | undefined

  constructor(
    message: string,
    details: LockErrorDetails & DetailsOf<RedisUnavailableError, 'outcome' | 'transient', 'waitedMs'>,
  ) {
    super('REDIS_UNAVAILABLE', message, details)
    this.outcome = details.outcome
    this.transient = details.transient
    this.waitedMs = details.waitedMs
  }
}

/** So many nodes of a RedLock failed that the rest are no majority. Nodes already taken were released. */
export class QuorumError extends LockError {
  declare readonly code: 'QUORUM'
  /** The majority that was needed. */
  readonly needed: number
  /** The nodes that were asked, or, after a release or a query, those that failed. */
  readonly nodes: readonly NodeReport[]

  constructor(details: DetailsOf<QuorumError, 'lockName' | 'needed' | 'nodes'>) {
    const { lockName, needed, nodes } = details
    const said = nodes.map((node) => `node ${node.index} ${whatItDid(node)}`).join('; ')
    const cause = nodes.find(({ error }) => error !== undefined)?.error
    const message = `RedLock "${lockName}" needs ${needed} nodes: ${said}. Try again when enough of them answer.`
    super('QUORUM', message, { lockName, cause })
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

type ErrorOfCore =
  | ClientClosedError
  | ContextRequiredError
  | HolderChangedError
  | InvalidArgumentError
  | LockBusyError
  | LockLostError
  | LockTimeoutError
  | NotLockOwnerError
  | NotReentrantError
  | QuorumError
  | RedisUnavailableError
  | SelfDeadlockError
  | WrongTypeError

type CodeOfEntry = Exclude<LockErrorCode, ErrorOfCore['code']>

/** Every error of Holdfast, told apart by `code`. Those of other entries and packages have the fields of `LockError`. */
export type AnyLockError =
  ErrorOfCore | { [Code in CodeOfEntry]: LockError & { readonly code: Code } }[CodeOfEntry]

/**
 * Tests whether this is an error of Holdfast, and, if a code is given, that error. It compares by shape: the error may come from
 * another copy of the package, such as the CommonJS one beside the ES module, where `instanceof` is false.
 */
export function isLockError<Code extends LockErrorCode = LockErrorCode>(
  error: unknown,
  code?: Code,
): error is Extract<AnyLockError, { readonly code: Code }> {
  if (!(typeof error === 'object' && error && 'code' in error && 'lockName' in error && 'owner' in error)) {
    return false
  }
  return code === undefined ? typeof error.code === 'string' : error.code === code
}
