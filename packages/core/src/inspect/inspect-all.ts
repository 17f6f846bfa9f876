import { InvalidArgumentError, RedisUnavailableError, WrongTypeError } from '../errors.js'
import { keyPattern, noteKey } from '../keys.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { settleWithin } from '../runtime/settle-within.js'
import { inspectionOf, type LockInspection } from './lock-inspection.js'
import type { OpenSession } from '../client/open-session.js'
import {
  brokenOff,
  codeOf,
  notSent,
  refusal,
  unanswered,
  unexpected,
  UnexpectedReply,
} from '../redis/failures.js'
import type { KeyScan } from '../redis/key-scan.js'
import type { RedisPort } from '../redis/redis-port.js'
import { explain } from '../scripts/lock.js'
import { isToken, parts, texts } from '../redis/shapes.js'
import { checkInteger, checkOptions, checkSignal } from '../arguments/validate.js'

export interface InspectAllOptions {
  /** Names of locks, as a pattern of Redis's SCAN: `order:*`. Default: all. */
  match?: string | undefined
  /** The most locks that are told. Default 100. */
  limit?: number | undefined
  /** The most steps through the keys of Redis, of about 100 keys each. Default 1,000. */
  maxSteps?: number | undefined
  /** Ends it between two steps; the call rejects with its reason. */
  signal?: AbortSignal | undefined
}

const INSPECT_ALL_OPTIONS: KnownKeys<InspectAllOptions> = {
  match: true,
  limit: true,
  maxSteps: true,
  signal: true,
}

export interface LocksInspection {
  /** Those that somebody has, in no order. */
  readonly locks: readonly LockInspection[]
  /** False: a limit ended the search before all keys were seen. */
  readonly complete: boolean
}

// Redis does nothing else during a step.
const KEYS_A_STEP = 100

/**
 * Looks for locks among the keys of Redis: SCAN, then a script for each hash, which reads no more of it than it takes
 * to see that it is none. What is taken or freed meanwhile may be in the answer or not.
 * @throws InvalidArgumentError, ClientClosedError, RedisUnavailableError, or the reason of the signal
 */
export async function inspectAll(session: OpenSession, options: InspectAllOptions): Promise<LocksInspection> {
  const { match = '*', limit = 100, maxSteps = 1_000, signal } = checked(options)
  session.assertOpen('')
  const { port, keyPrefix } = session
  const pattern = keyPattern(keyPrefix, match)
  const locks = new Map<string, LockInspection>()
  let steps = 0
  for (const scan of port.state === 'ready' ? port.scans() : refuseUnready(port)) {
    let cursor = '0'
    do {
      signal?.throwIfAborted()
      if (steps === maxSteps || locks.size >= limit) {
        return { locks: [...locks.values()].slice(0, limit), complete: false }
      }
      steps += 1
      const page = await stepOf(session, () => scan(cursor, pattern, KEYS_A_STEP))
      const found = await Promise.all(
        page.keys.filter((key) => !locks.has(key)).map((key) => look(session, key)),
      )
      found.forEach((each) => each && locks.set(keyPrefix + each.name, each))
      cursor = page.cursor
    } while (cursor !== '0')
  }
  return { locks: [...locks.values()].slice(0, limit), complete: locks.size <= limit }
}

function checked(options: InspectAllOptions): InspectAllOptions {
  checkOptions('options', options, INSPECT_ALL_OPTIONS)
  const { match = '*', limit = 1, maxSteps = 1, signal } = options
  if (typeof (match as unknown) !== 'string' || match === '') {
    throw new InvalidArgumentError('match', match, 'a pattern of names')
  }
  checkInteger('limit', limit, 1)
  checkInteger('maxSteps', maxSteps, 1)
  checkSignal(signal)
  return options
}

function refuseUnready(port: RedisPort): never {
  throw notSent('There is no connection to Redis', true, port)
}

const ABOUT_NO_LOCK = { keys: [] }

const isPage = parts(isToken, texts) as (answer: unknown) => answer is [unknown, string[]]

/** @throws RedisUnavailableError */
async function stepOf(
  { port, clock, options }: OpenSession,
  step: () => ReturnType<KeyScan>,
): Promise<{ readonly cursor: string; readonly keys: string[] }> {
  const { commandTimeout } = options
  let answer: unknown = undefined
  let error: unknown = unanswered(commandTimeout, ABOUT_NO_LOCK)
  const work = step().then(
    (reply) => (answer = reply),
    (reason: unknown) => {
      error = port.isErrorReply(reason) ? refusal(reason, ABOUT_NO_LOCK) : brokenOff(reason, ABOUT_NO_LOCK)
    },
  )
  await settleWithin(work, commandTimeout, clock)
  if (answer === undefined) {
    throw error
  }
  if (!isPage(answer)) {
    throw unexpected(new UnexpectedReply(answer), {})
  }
  const [cursor, keys] = answer
  return { cursor: String(cursor), keys }
}

/** Null: no lock, free by now, or not this user's to see. */
async function look({ runner, keyPrefix }: OpenSession, key: string): Promise<LockInspection | null> {
  if (runner.slotOf(key) !== runner.slotOf(noteKey(key))) {
    // Its keys would be in two slots: a name that no lock can have on a cluster.
    return null
  }
  const lockName = key.slice(keyPrefix.length)
  try {
    return inspectionOf(lockName, await explain(runner, { lockName, key, isAnything: true }))
  } catch (error) {
    if (error instanceof WrongTypeError || isForbidden(error)) {
      return null
    }
    throw error
  }
}

/** SCAN tells a user with an ACL the names of keys that it may not read. */
function isForbidden(error: unknown): boolean {
  const { cause } = error instanceof RedisUnavailableError ? error : { cause: undefined }
  return cause instanceof Error && codeOf(cause) === 'NOPERM'
}
