import { InvalidArgumentError, WrongTypeError } from './errors.js'
import { keyPattern, noteKey } from './keys.js'
import type { ForeignRule } from './arguments/foreign-locks.js'
import type { KnownKeys } from './arguments/unknown-key.js'
import { settleWithin } from './runtime/settle-within.js'
import { inspectionOf, type LockInspection } from './kinds/lock-inspection.js'
import { brokenOff, notSent, refusal, unanswered, unexpected, UnexpectedReply } from './redis/failures.js'
import { isForbidden } from './redis/until-known.js'
import type { KeyScan, ScannedType } from './redis/key-scan.js'
import type { RedisPort } from './redis/redis-port.js'
import type { ScriptRunner } from './redis/script-runner.js'
import type { Runtime } from './runtime/runtime.js'
import { explain, type LockFacts } from './scripts/lock.js'
import { isToken, parts, texts } from './redis/shapes.js'
import { nativeSignal } from './arguments/native-signal.js'
import { checkInteger, checkOptions } from './arguments/validate.js'

/** The services of its client that a query uses. */
interface InspectServices {
  readonly port: RedisPort
  readonly keyPrefix: string
  readonly runtime: Runtime
  readonly runner: ScriptRunner
  readonly options: { readonly commandTimeout: number; readonly foreignLocks: ForeignRule }
  /** @throws ClientClosedError */
  assertOpen(lockName: string): void
}

/** Which locks `inspectAll` lists, and how far it looks. */
export interface InspectAllOptions {
  /** Lock names, as a SCAN pattern: `order:*`. Default: all. */
  match?: string | undefined
  /** Maximum number of locks returned. Default 100. */
  limit?: number | undefined
  /** Maximum number of SCAN steps, of about 100 keys each. Default 1,000. */
  maxSteps?: number | undefined
  /** Ends the search between two steps; the call rejects with its reason. */
  signal?: AbortSignal | undefined
}

const INSPECT_ALL_OPTIONS: KnownKeys<InspectAllOptions> = {
  match: true,
  limit: true,
  maxSteps: true,
  signal: true,
}

/** The locks that `inspectAll` has found. */
export interface LocksInspection {
  /** The locks that are held, in no particular order. */
  readonly locks: readonly LockInspection[]
  /** False: a limit ended the search before all keys were seen. */
  readonly complete: boolean
}

// Redis is blocked during a step.
const KEYS_A_STEP = 100

/**
 * Searches the keys of Redis for locks: SCAN, then a script per hash, which reads only as much as it takes to
 * recognize a lock. Locks acquired or released meanwhile may or may not be included.
 * @throws InvalidArgumentError, ClientClosedError, RedisUnavailableError, or the reason of the signal
 */
export async function inspectAll(
  session: InspectServices,
  options: InspectAllOptions,
): Promise<LocksInspection> {
  const { match = '*', limit = 100, maxSteps = 1_000, signal } = checked(options)
  session.assertOpen('')
  const { port, keyPrefix } = session
  const pattern = keyPattern(keyPrefix, match)
  const types: readonly ScannedType[] =
    session.options.foreignLocks === 'error' ? ['hash'] : ['hash', 'string']
  const locks = new Map<string, LockInspection>()
  let steps = 0
  const scans = port.state === 'ready' ? port.scans() : refuseUnready(port)
  for (const { scan, type } of scans.flatMap((scan) => types.map((type) => ({ scan, type })))) {
    let cursor = '0'
    do {
      signal?.throwIfAborted()
      if (steps === maxSteps || locks.size >= limit) {
        return { locks: [...locks.values()].slice(0, limit), complete: false }
      }
      steps += 1
      const page = await stepOf(session, () => scan(cursor, pattern, KEYS_A_STEP, type))
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
    throw new InvalidArgumentError('match', match, "a pattern of names, as in 'order:*'")
  }
  checkInteger('limit', limit, 1)
  checkInteger('maxSteps', maxSteps, 1)
  return { ...options, signal: nativeSignal(signal) }
}

function refuseUnready(port: RedisPort): never {
  throw notSent('There is no connection to Redis', true, port)
}

const ABOUT_NO_LOCK = { keys: [] }

const isPage = parts(isToken, texts) as (answer: unknown) => answer is [unknown, string[]]

/** @throws RedisUnavailableError */
export async function stepOf(
  { port, runtime, options }: InspectServices,
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
  await settleWithin(work, commandTimeout, runtime)
  if (answer === undefined) {
    throw error
  }
  if (!isPage(answer)) {
    throw unexpected(new UnexpectedReply(answer), {})
  }
  const [cursor, keys] = answer
  return { cursor: String(cursor), keys }
}

/** Null: not a lock, free by now, or not readable by this user. */
async function look(
  { runner, keyPrefix, options }: InspectServices,
  key: string,
): Promise<LockInspection | null> {
  if (runner.slotOf(key) !== runner.slotOf(noteKey(key))) {
    // Its keys would be in two slots, so no lock on a cluster can have this name.
    return null
  }
  const lockName = key.slice(keyPrefix.length)
  try {
    const isForeignLock = options.foreignLocks !== 'error'
    const facts = await explain(runner, { lockName, key, isAnything: true, isForeignLock })
    return facts?.isForeign === true && !looksLikeToken(facts) ? null : inspectionOf(lockName, facts)
  } catch (error) {
    if (error instanceof WrongTypeError || isForbidden(error)) {
      return null
    }
    throw error
  }
}

/**
 * Strings are kept for many reasons. Those of lock libraries are random: 16 to 64 letters and digits (hexadecimal, Base64,
 * a UUID), with a time to live.
 */
export function looksLikeToken({ holds }: Pick<LockFacts, 'holds'>): boolean {
  return [...holds.keys()].every((text) => /^(?=.*[a-z])[\w+/=-]{16,64}$/i.test(text))
}
