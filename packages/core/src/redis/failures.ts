import { isNativeError } from 'node:util/types'
import { foreign } from '../described.js'
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

/** Whether Redis refuses for a while only. */
export function isPassing(reply: Error): boolean {
  return TRANSIENT.has(codeOf(reply))
}

function codeOf(error: Error): string {
  return /^[A-Z]+/.exec(error.message)?.[0] ?? ''
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
  return new RedisUnavailableError(`Redis refused the command: ${foreign(error.message)}`, {
    outcome: 'refused',
    transient: TRANSIENT.has(code),
    lockName,
    cause: error,
  })
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
