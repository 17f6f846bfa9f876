import { inspect } from 'node:util'
import { isNativeError } from 'node:util/types'
import { foreign } from '../runtime/format-value.js'
import { LockError, RedisUnavailableError, WHERE_IN_SCRIPT, wordsOfRedis, WrongTypeError } from '../errors.js'
import { troubleInWords } from './connection-trouble.js'
import type { ReplicaAcks } from './acknowledged-transport.js'
import type { RedisPort } from './redis-port.js'
import type { ScriptCall } from './script-call.js'

/** The command that failed. */
type About = Pick<ScriptCall, 'lockName' | 'keys'>

/**
 * What an error reply proves. `for good`: nothing ran, and the same command will be refused again. `for now`: nothing ran,
 * and it may be accepted soon. `unknown`: it may have run. A proxy has words of its own, and an error that a script meets
 * may come behind its first write.
 */
export type Proof = 'for good' | 'for now' | 'unknown'

// Redis cannot serve the command now, but will: a fail-over, too few replicas, a failed snapshot, a restart, a
// migrating slot, a long script.
const TRANSIENT = new Set([
  'READONLY',
  'NOREPLICAS',
  'MISCONF',
  'LOADING',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'MOVED',
  'ASK',
  'TRYAGAIN',
  'BUSY',
  'UNBLOCKED',
])

// Said before anything runs. OOM stops a script at its first write alone; WRONGTYPE comes from scripts that look at a key
// before they write.
const LASTING = new Set([
  'NOPERM',
  'NOAUTH',
  'WRONGPASS',
  'DENIED',
  'OOM',
  'NOSCRIPT',
  'CROSSSLOT',
  'WRONGTYPE',
])

// Error codes of Redis itself, about the command that was sent. Inside a script they are worded otherwise ("called from script").
const NEVER_RUNS =
  /^ERR (unknown (sub)?command (['"`]|or wrong)|wrong number of arguments for |Error compiling script|Could not find scripting engine )/i

// A command that the user may not run, rejected inside a script: as worded by Redis 6.2 and 7.0, and by later
// versions.
const FORBIDDEN_IN_SCRIPT = /^(ERR )?(The user executing the script can't |ACL failure in script: )/

// ioredis's prefix when a cluster has redirected one command too often.
const AFTER_REDIRECTIONS = /^Too many Cluster redirections\. Last error: ReplyError: /

/** The message without the number of redirections and the position in the script. */
function wordsOf(error: Error): string {
  return wordsOfRedis(error.message.replace(AFTER_REDIRECTIONS, ''))
}

/** The error code that Redis's message starts with, also for errors inside a script. */
export function codeOf(error: Error): string {
  const said = wordsOf(error)
  return FORBIDDEN_IN_SCRIPT.test(said) ? 'NOPERM' : (/^[A-Z]+/.exec(said)?.[0] ?? '')
}

/** Whether a Cluster client gave up after too many redirections, with an error of Redis as the last reply. */
export function isEndOfRedirections(error: unknown): error is Error {
  return error instanceof Error && AFTER_REDIRECTIONS.test(error.message)
}

/** Whether the message starts like an error of Redis. Errors of client libraries do not. */
export function isInWordsOfRedis(message: string): boolean {
  return /^[A-Z][A-Z\d]+( |$)/.test(message) || WHERE_IN_SCRIPT.test(message)
}

/** The conclusion that an error reply allows. docs/errors.md has a row for each of them. */
export function proofOf(reply: Error): Proof {
  const said = wordsOf(reply)
  const code = FORBIDDEN_IN_SCRIPT.test(said) ? '' : codeOf(reply)
  if (TRANSIENT.has(code)) {
    return 'for now'
  }
  return LASTING.has(code) || NEVER_RUNS.test(said) ? 'for good' : 'unknown'
}

/** Whether the script of a batch ended before its first item: an error of an item is an answer, and ends no batch. */
export function isBeforeItems(reply: Error): boolean {
  return proofOf(reply) !== 'unknown' || FORBIDDEN_IN_SCRIPT.test(wordsOf(reply))
}

/** Whether it is the answer of a server that is a replica, or has become one. */
export function isOfReplica(reply: Error): boolean {
  const code = codeOf(reply)
  return code === 'READONLY' || code === 'MASTERDOWN'
}

/** An error reply: of Redis, which says that nothing ran, or of anybody, after which that is unknown. */
export function refusal(error: Error, call: About): LockError {
  const { lockName, keys } = call
  const code = codeOf(error)
  const proof = proofOf(error)
  if (proof === 'unknown') {
    return undetermined(error, code, call)
  }
  if (code === 'WRONGTYPE') {
    // A script that knows which key is meant names it in its error.
    const named = keys.find((key) => error.message.includes(`(key "${key}")`))
    return new WrongTypeError(lockName ?? '', named ?? keys[0] ?? '', error)
  }
  const transient = proof === 'for now'
  const message = `${refusedBecause(wordsOf(error))}. ${adviceOnRefusal(code, transient)}`
  return new RedisUnavailableError(message, { outcome: 'refused', transient, lockName, cause: error })
}

/** Rights that a script lacks will be missing again; whatever else was said, another try may be answered. */
function undetermined(error: Error, code: string, { lockName }: About): RedisUnavailableError {
  const lacksRights = code === 'NOPERM'
  const what = 'The answer was an error that does not tell whether the command ran'
  const advice = lacksRights ? ` ${adviceOnRefusal(code, false)}` : ''
  const message = `${what}: ${foreign(wordsOf(error)).replace(/\.$/, '')}. ${SETTLED_LATER}${advice}`
  return unknownOutcome(message, lockName, { transient: !lacksRights, cause: error })
}

/** An error after which it is not known whether the command ran. */
function unknownOutcome(
  message: string,
  lockName: string | undefined,
  { transient, cause }: { readonly transient: boolean; readonly cause?: unknown },
): RedisUnavailableError {
  return new RedisUnavailableError(message, { outcome: 'unknown', transient, lockName, cause })
}

function refusedBecause(words: string): string {
  return `Redis refused the command: ${foreign(words).replace(/\.$/, '')}`
}

const REFUSALS = new Map([
  ['OOM', 'Free memory, or raise maxmemory; releases and renewals work all the same.'],
  ['NOPERM', 'Give this user of Redis the permissions that docs/acl.md lists.'],
  ['NOAUTH', 'Check the user and the password that were given.'],
  ['WRONGPASS', 'Check the user and the password that were given.'],
  ['NOREPLICAS', 'It accepts writes again when enough replicas are connected (min-replicas-to-write).'],
  ['MISCONF', 'It accepts writes again when it can save its data: check its disk and its log.'],
  ['BUSY', 'A script has kept it busy for too long: look for the script that does, or for SCRIPT KILL.'],
])

function adviceOnRefusal(code: string, transient: boolean): string {
  const otherwise = transient
    ? 'It does so for a while, as during a fail-over or a restart: try again.'
    : 'Nothing was changed. It will refuse it again until the reason is gone.'
  return REFUSALS.get(code) ?? otherwise
}

/** For a command whose outcome is unknown: what happens next. */
const SETTLED_LATER = 'There is nothing to undo: the client completes or reverses it by itself.'

/** Redis's reply to a command queued in a transaction. */
export const QUEUED = 'QUEUED'

/** The reply when it is not one of the script's: the `cause` of the error that reports it. */
export class UnexpectedReply extends Error {
  /** The command was queued for the EXEC of a transaction. */
  readonly isQueued: boolean
  /** Shortened. */
  readonly reply: string

  constructor(reply: unknown) {
    const inShort = shortened(reply)
    super(`Redis answered ${inShort}`)
    this.isQueued = reply === QUEUED
    this.reply = inShort
  }
}

/**
 * The reply is not one the script can give, so whether it ran is unknown. A command queued in the application's
 * transaction is not retried: the copies would be queued as well.
 */
export function unexpected(
  cause: UnexpectedReply,
  { lockName }: Pick<ScriptCall, 'lockName'>,
): RedisUnavailableError {
  const why = cause.isQueued
    ? 'the connection is in a transaction that was opened by hand (MULTI), and the command runs at its EXEC, or never. ' +
      'Give Holdfast a connection that is not used for transactions'
    : 'something alters the replies of this connection (a proxy, or a command that must not be sent on a shared connection)'
  return unknownOutcome(`${cause.message} to a script: ${why}.`, lockName, {
    transient: !cause.isQueued,
    cause,
  })
}

/** Whether a command was queued in a transaction that the application has opened on the connection. */
export function isQueued(error: unknown): error is RedisUnavailableError {
  return (
    error instanceof RedisUnavailableError && error.cause instanceof UnexpectedReply && error.cause.isQueued
  )
}

const LONGEST_REPLY = 100

function shortened(reply: unknown): string {
  const text = typeof reply === 'string' ? JSON.stringify(reply) : inspect(reply, { breakLength: Infinity })
  return text.length > LONGEST_REPLY ? `${text.slice(0, LONGEST_REPLY)}...` : text
}

/** Some commands used in scripts came with later versions. */
export function tooOld(version: string, oldest: string): RedisUnavailableError {
  const message = `Redis ${version} is too old: Holdfast needs Redis ${oldest} or newer, or Valkey. Upgrade it, or connect to another.`
  return new RedisUnavailableError(message, { outcome: 'refused', transient: false })
}

/** A grant by a server that must not be used: the lock may exist there. */
export function grantedInVain(
  { message }: RedisUnavailableError,
  { lockName }: About,
): RedisUnavailableError {
  return unknownOutcome(message, lockName, { transient: false })
}

/** The connection broke while the command was in flight. */
export function brokenOff(error: unknown, { lockName }: About): LockError {
  const cause = error instanceof Error ? error : new Error(String(error))
  const why = foreign(cause.message).replace(/\.$/, '')
  const message = `The connection to Redis failed; whether the command ran is unknown: ${why}. ${SETTLED_LATER}`
  return unknownOutcome(message, lockName, { transient: true, cause })
}

export function unanswered(timeoutMs: number, { lockName }: About): LockError {
  const message = `Redis did not answer within ${timeoutMs} ms; whether the command ran is unknown. ${SETTLED_LATER} ${IS_IT_BUSY}`
  return unknownOutcome(message, lockName, { transient: true })
}

/** The client was closed, and receives no reply. */
export function abandoned({ lockName }: About): LockError {
  const message =
    'The client was closed before Redis answered; whether the command ran is unknown. What it may have taken is free ' +
    'when its lease ends. Await the calls before close(), or give close() a longer graceMs.'
  return unknownOutcome(message, lockName, { transient: false })
}

/** The primary has the lease, but a replica without it may replace the primary. */
export function unacknowledged(
  replicas: number,
  { acks, timeoutMs }: ReplicaAcks,
  { lockName }: About,
): LockError {
  const message = `Only ${replicas} of ${acks} replicas acknowledged it within ${timeoutMs} ms; whether it survives a fail-over is unknown. ${SETTLED_LATER} Check the replicas, or ask for fewer (replicas.acks).`
  return unknownOutcome(message, lockName, { transient: true })
}

/**
 * Nothing was sent, because there is no connection, in time or for good. `what` is a sentence without its full stop.
 */
export function notSent(
  what: string,
  transient: boolean,
  { trouble, advice }: Pick<RedisPort, 'trouble' | 'advice'>,
  lockName?: string,
): RedisUnavailableError {
  const why = trouble ? `: ${foreign(troubleInWords(trouble))}` : ''
  const details = { outcome: 'not-sent', transient, lockName, cause: trouble } as const
  return new RedisUnavailableError(
    `${what}${why}.${transient ? adviceWithoutConnection({ trouble, advice }) : advice}`,
    details,
  )
}

/** Every attempt would fail alike. */
export function cannotConnect({ trouble }: Pick<RedisPort, 'trouble'>): RedisUnavailableError {
  const advice = ' Another attempt would fail alike: correct what was given to connect with.'
  return notSent('Cannot connect to Redis', false, { trouble, advice })
}

/** The client will not connect again: it was closed, or gave up. */
export function connectionEnded(
  { trouble }: Pick<RedisPort, 'trouble'>,
  lockName?: string,
): RedisUnavailableError {
  return notSent('The Redis connection has ended', false, { trouble, advice: NEXT_CLIENT }, lockName)
}

const NEXT_CLIENT =
  ' Its client was closed, or gave up: connect another one for another LockClient, and close a LockClient before the client.'

/** There has been no connection for `forMs`. */
export function connectionDown(
  forMs: number,
  port: Pick<RedisPort, 'state' | 'trouble' | 'advice'>,
): RedisUnavailableError {
  return port.state === 'ended'
    ? connectionEnded(port)
    : notSent(`No connection to Redis for ${forMs} ms`, true, port)
}

/** Every renewal of a hold has failed for `forMs`. @param error that of the latest */
export function renewalsFail(forMs: number, error: unknown): RedisUnavailableError {
  const failure = error instanceof RedisUnavailableError ? error : undefined
  const why = isNativeError(error) ? foreign(error.message) : 'Redis did not answer'
  const message = `Renewals have failed for ${Math.round(forMs)} ms: ${why.replace(/\.$/, '')}.`
  const { outcome = 'unknown', transient = true } = failure ?? {}
  return new RedisUnavailableError(message, { outcome, transient, cause: error })
}

/** Advice when there is a connection, but no answer. */
const IS_IT_BUSY = 'Check that Redis is neither stopped nor overloaded, and the network between.'

/** Advice when there is no connection, unless the client's own state says more. */
export function adviceWithoutConnection({ advice, trouble }: Pick<RedisPort, 'trouble' | 'advice'>): string {
  if (trouble?.message.startsWith('ERR max number of clients')) {
    return ' Close connections that are not needed, or raise maxclients.'
  }
  return advice === '' ? ' Check that Redis runs, and the host, port and password that were given.' : advice
}

/** The state of a connection, for error messages. */
export interface Plight extends Pick<RedisPort, 'trouble' | 'advice'> {
  readonly isConnected: boolean
}

/**
 * The error that ends a wait which got no reply for too long, or only temporary refusals.
 * @param error the error of its latest try; undefined: no try has failed yet
 */
export function unansweredWait(
  { isConnected, trouble, advice }: Plight,
  { lockName, waitedMs }: { readonly lockName: string; readonly waitedMs: number },
  error: unknown,
): unknown {
  const failure = error instanceof RedisUnavailableError ? error : undefined
  if (error instanceof LockError && !failure) {
    return error
  }
  const { outcome = 'unknown', transient = true } = failure ?? {}
  const ms = `${Math.round(waitedMs)} ms`
  if (failure && outcome === 'refused') {
    const { cause } = failure
    const code = isNativeError(cause) ? codeOf(cause) : ''
    const why = refusedBecause(isNativeError(cause) ? wordsOfRedis(troubleInWords(cause)) : '')
    const message = `${why}. Retried for ${ms}. ${adviceOnRefusal(code, transient)}`
    return new RedisUnavailableError(message, { outcome, transient, lockName, waitedMs, cause })
  }
  // A connection that stays down explains more than the command that was in flight when it broke.
  const cause = trouble ?? failure?.cause
  const why = isNativeError(cause) ? `: ${foreign(troubleInWords(cause))}` : ''
  const what = isConnected ? `Redis did not answer within ${ms}` : `No connection to Redis within ${ms}`
  const unknown =
    outcome === 'unknown' && failure ? ` Whether the last command ran is unknown. ${SETTLED_LATER}` : ''
  const next = isConnected ? ` ${IS_IT_BUSY}` : adviceWithoutConnection({ trouble, advice })
  const message = `${what}${why}.${unknown}${next}`
  return new RedisUnavailableError(message, { outcome, transient, lockName, waitedMs, cause })
}
