import { inspect } from 'node:util'
import { isNativeError } from 'node:util/types'
import { foreign } from '../runtime/format-value.js'
import { LockError, RedisUnavailableError, WrongTypeError } from '../errors.js'
import { troubleInWords } from './connection-trouble.js'
import type { ReplicaAcks } from './acknowledged-transport.js'
import type { RedisPort } from './redis-port.js'
import type { ScriptCall } from './script-call.js'

/** What failed. */
type About = Pick<ScriptCall, 'lockName' | 'keys'>

// Redis is not able to work now but will be: a fail-over, too few replicas, a disk that fails to take a snapshot,
// a restart, a slot on the move, a long script.
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

// Redis before 7 puts what a command in a script was refused with behind where that happened, with or without the first
// part: `ERR Error running script (call to f_<sha1>): @user_script:5: @user_script: 5: -READONLY You can't write ...`.
const WHERE_IN_SCRIPT = /^(ERR Error running script \(call to f_\w+\): )?(@user_script: ?\d+: )+-?/
// What no user's permission covers, refused inside a script: as Redis 6.2 and 7.0 say it, and as later ones do.
const FORBIDDEN_IN_SCRIPT = /^(ERR )?(The user executing the script can't |ACL failure in script: )/

// What ioredis puts before the last of many refusals that a cluster answered to one command.
const AFTER_REDIRECTIONS = /^Too many Cluster redirections\. Last error: ReplyError: /

/** Without how often it was tried, and where in a script it happened. */
function wordsOf(error: Error): string {
  return error.message.replace(AFTER_REDIRECTIONS, '').replace(WHERE_IN_SCRIPT, '')
}

/** What Redis begins an error with, also where it happened inside a script. */
export function codeOf(error: Error): string {
  const said = wordsOf(error)
  return FORBIDDEN_IN_SCRIPT.test(said) ? 'NOPERM' : (/^[A-Z]+/.exec(said)?.[0] ?? '')
}

/** Whether a Cluster has tried as often as it may, and the last answer was Redis's own. */
export function isEndOfRedirections(error: unknown): error is Error {
  return error instanceof Error && AFTER_REDIRECTIONS.test(error.message)
}

/** Whether it begins as errors of Redis do. Those of client libraries do not. */
export function isInWordsOfRedis(message: string): boolean {
  return /^[A-Z][A-Z\d]+( |$)/.test(message) || WHERE_IN_SCRIPT.test(message)
}

/** Whether Redis refuses for a while only. */
export function isPassing(reply: Error): boolean {
  return TRANSIENT.has(codeOf(reply))
}

/** Redis's own answer: the command had no effect. */
export function refusal(error: Error, call: About): LockError {
  const { lockName, keys } = call
  const code = codeOf(error)
  if (code === 'WRONGTYPE') {
    // A script that knows better which key it is names it.
    const named = keys.find((key) => error.message.includes(`(key "${key}")`))
    return new WrongTypeError(lockName ?? '', named ?? keys[0] ?? '', error)
  }
  return new RedisUnavailableError(`Redis refused the command: ${foreign(wordsOf(error))}`, {
    outcome: 'refused',
    transient: TRANSIENT.has(code),
    lockName,
    cause: error,
  })
}

/** What Redis answers a command with that it keeps for the EXEC of a transaction. */
export const QUEUED = 'QUEUED'

/** What was answered instead of what a script can answer: the `cause` of the error that tells so. */
export class UnexpectedReply extends Error {
  /** The command waits for the EXEC of a transaction. */
  readonly isQueued: boolean
  /** In short. */
  readonly reply: string

  constructor(reply: unknown) {
    const inShort = shortened(reply)
    super(`Redis answered ${inShort}`)
    this.isQueued = reply === QUEUED
    this.reply = inShort
  }
}

/**
 * The answer is none that the script can give: whether it ran is unknown. One that waits for somebody's EXEC is not sent
 * again: its copies would wait there, too.
 */
export function unexpected(
  cause: UnexpectedReply,
  { lockName }: Pick<ScriptCall, 'lockName'>,
): RedisUnavailableError {
  const why = cause.isQueued
    ? 'the connection is in a transaction that was opened by hand (MULTI), and the command runs at its EXEC, or never. ' +
      'Give Holdfast a connection on which nobody does that'
    : 'something changes what this connection answers (a proxy, or a command that a shared connection must not be given)'
  const message = `${cause.message} to a script: ${why}.`
  return new RedisUnavailableError(message, {
    outcome: 'unknown',
    transient: !cause.isQueued,
    lockName,
    cause,
  })
}

/** Whether a command waits for the EXEC of a transaction that somebody has opened on the connection. */
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

/** Some commands that scripts need came later. */
export function tooOld(version: string, oldest: string): RedisUnavailableError {
  const message = `Redis ${version} is too old: Holdfast needs Redis ${oldest} or newer, or Valkey.`
  return new RedisUnavailableError(message, { outcome: 'refused', transient: false })
}

/** What was granted by a server that is no good: it may be there. */
export function grantedInVain(
  { message }: RedisUnavailableError,
  { lockName }: About,
): RedisUnavailableError {
  return new RedisUnavailableError(message, { outcome: 'unknown', transient: false, lockName })
}

/** The connection failed while the command was under way. */
export function brokenOff(error: unknown, call: About): LockError {
  const cause = error instanceof Error ? error : new Error(String(error))
  const message = `The connection to Redis failed; whether the command ran is unknown: ${foreign(cause.message)}`
  return new RedisUnavailableError(message, {
    outcome: 'unknown',
    transient: true,
    lockName: call.lockName,
    cause,
  })
}

export function unanswered(timeoutMs: number, call: About): LockError {
  const message = `Redis did not answer within ${timeoutMs} ms; whether the command ran is unknown.`
  return new RedisUnavailableError(message, { outcome: 'unknown', transient: true, lockName: call.lockName })
}

/** Its client is closed, and hears no answer. */
export function abandoned(call: About): LockError {
  const message = 'The client was closed before Redis answered; whether the command ran is unknown.'
  return new RedisUnavailableError(message, { outcome: 'unknown', transient: false, lockName: call.lockName })
}

/** The primary has it, and may be replaced by a replica that does not. */
export function unacknowledged(replicas: number, { acks, timeoutMs }: ReplicaAcks, call: About): LockError {
  const message = `Only ${replicas} of ${acks} replicas had it within ${timeoutMs} ms; whether it outlives a fail-over is unknown.`
  return new RedisUnavailableError(message, { outcome: 'unknown', transient: true, lockName: call.lockName })
}

/** Nothing was sent: there is no connection, in time or for good. `what`: without the end of its sentence. */
export function notSent(
  what: string,
  transient: boolean,
  { trouble, advice }: Pick<RedisPort, 'trouble' | 'advice'>,
  lockName?: string,
): LockError {
  const why = trouble ? `: ${foreign(troubleInWords(trouble))}` : ''
  const details = { outcome: 'not-sent', transient, lockName, cause: trouble } as const
  return new RedisUnavailableError(`${what}${why}.${advice}`, details)
}

/** The state of a connection. */
export interface Plight extends Pick<RedisPort, 'trouble' | 'advice'> {
  readonly isConnected: boolean
}

/**
 * What a wait ends with that had no answer for so long, or none but refusals that pass.
 * @param error what its latest try failed with; undefined: it had not failed yet
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
    const message = `Redis refused the command: ${isNativeError(cause) ? foreign(troubleInWords(cause)) : ''}. It was tried for ${ms}.`
    return new RedisUnavailableError(message, { outcome, transient, lockName, waitedMs, cause })
  }
  // A connection that broke and does not come back says more than the command that it broke under.
  const cause = trouble ?? failure?.cause
  const why = isNativeError(cause) ? `: ${foreign(troubleInWords(cause))}` : ''
  const what = isConnected ? `Redis did not answer within ${ms}` : `No connection to Redis within ${ms}`
  const unknown = outcome === 'unknown' && failure ? ' Whether the last command ran is unknown.' : ''
  const message = `${what}${why}.${unknown}${advice}`
  return new RedisUnavailableError(message, { outcome, transient, lockName, waitedMs, cause })
}
