import {
  INBOX_PREFIX,
  electionChannel,
  fairQueueKeys,
  noteKey,
  termsKey,
  tokenKey,
  unlockChannel,
  type TokenRule,
  type ScriptRunner,
  defineEntryScript,
  anyNumber,
  either,
  isScalar,
  isToken,
  numberFrom,
  parts,
  releasedOrGiven,
  texts,
  yesOrNo,
  parseReleased,
  type ReleaseReply,
  argvOfStamp,
  type CommandStamp,
  wasDone,
} from '../door.js'
import { electionSources } from './lua-sources.js'

/** A day from the last sign of a leader: a leader writes them again before that. */
const TERMS_TTL_MS = '86400000'
/** The oldest make room. */
const TERMS_KEPT = '32'

/** The election of one lock. */
export interface ElectionKeys {
  readonly lockName: string
  /** The lock hash. */
  readonly key: string
}

/** How the scripts of an election tell those who listen. */
function announcement(runner: ScriptRunner, { key }: ElectionKeys): [channel: string, command: string] {
  const channel = electionChannel(key)
  return [channel, runner.announcementOn(channel)]
}

export const beginScript = defineEntryScript(
  electionSources,
  'election/begin',
  either(numberFrom(0, 0), parts(isToken, isToken)),
)

export interface BeginArguments extends ElectionKeys {
  readonly owner: string
  /** JSON. */
  readonly data: string
  /** The term that Redis may have lost; undefined: a new one. */
  readonly known: { readonly token: string; readonly sinceMs: number } | undefined
  readonly tokens: TokenRule['tokens']
}

export type BeginReply =
  /** `sinceMs` by the clock of Redis. */
  { readonly kind: 'leads'; readonly token: string; readonly sinceMs: number } | { readonly kind: 'lost' }

export function begin(runner: ScriptRunner, given: BeginArguments): Promise<BeginReply> {
  const { lockName, key, owner, data, known, tokens } = given
  const args = [
    owner,
    data,
    known?.token ?? '',
    `${known?.sinceMs ?? ''}`,
    tokens,
    TERMS_TTL_MS,
    TERMS_KEPT,
    ...announcement(runner, given),
  ]
  const keys = [key, termsKey(key), tokenKey(key)]
  return runner.run({ script: beginScript, keys, args, parse: parseBegun, lockName })
}

function parseBegun(reply: unknown): BeginReply {
  return Array.isArray(reply)
    ? { kind: 'leads', token: String(reply[0]), sinceMs: Number(reply[1]) }
    : { kind: 'lost' }
}

export const releaseScript = defineEntryScript(electionSources, 'election/release', releasedOrGiven)

export interface EndArguments extends ElectionKeys {
  readonly tombstoneKey: string
  readonly owner: string
  readonly stamp: CommandStamp
  /** The time that Redisson allows each waiter. */
  readonly patienceMs: number
  /** Client id; '': the first in the queue. */
  readonly successor: string
  /** The hold may have a note. */
  readonly isNoted: boolean
}

/** Releases the lock, and the place in the queue, and ends the term. */
export function release(runner: ScriptRunner, given: EndArguments): Promise<ReleaseReply> {
  const { lockName, key, tombstoneKey, owner, stamp, patienceMs, successor, isNoted } = given
  const unlock = unlockChannel(key)
  const args = [
    owner,
    ...argvOfStamp(stamp),
    `${Math.ceil(patienceMs)}`,
    INBOX_PREFIX,
    unlock,
    runner.announcementOn(unlock),
    successor,
    ...announcement(runner, given),
  ]
  const keys = [key, ...fairQueueKeys(key), tombstoneKey, termsKey(key), ...(isNoted ? [noteKey(key)] : [])]
  return runner.run({ script: releaseScript, keys, args, parse: parseReleased, lockName })
}

export const lookScript = defineEntryScript(
  electionSources,
  'election/look',
  parts(anyNumber, isScalar, texts, texts),
)

export interface LookArguments extends ElectionKeys {
  /** The latest term that is known; '': the present is enough. */
  readonly knownToken: string
  /** Whether to tell who stands in the queue. */
  readonly asksForLine: boolean
}

/** A term as Redis keeps it; times in ms of its clock. */
export interface KeptTerm {
  readonly owner: string
  readonly token: string
  /** JSON. */
  readonly data: string
  readonly from: string
  /** Absent: it goes on, or its owner lost the lock. */
  readonly to?: string
}

export interface LookReply {
  /** Lease left; -2 without a holder, -1 without an end. */
  readonly ttlMs: number
  /** '' without one. */
  readonly holder: string
  /** The newest first. */
  readonly terms: readonly KeptTerm[]
  /** The first in the queue first. */
  readonly line: readonly string[]
}

export function look(runner: ScriptRunner, given: LookArguments): Promise<LookReply> {
  const { lockName, key, knownToken, asksForLine } = given
  const keys = [key, termsKey(key), ...(asksForLine ? [fairQueueKeys(key)[0]] : [])]
  return runner.run({ script: lookScript, keys, args: [knownToken], parse: parseLook, lockName })
}

function parseLook(reply: unknown): LookReply {
  const [ttlMs, holder, terms, line] = reply as [unknown, unknown, string[], string[]]
  const kept = terms.flatMap((text) => keptTerm(text) ?? [])
  return { ttlMs: Number(ttlMs), holder: String(holder), terms: kept, line }
}

/** Undefined for what no election has written. */
function keptTerm(text: string): KeptTerm | undefined {
  try {
    const term = JSON.parse(text) as Partial<KeptTerm> | null
    const isOurs = [term?.owner, term?.token, term?.data, term?.from].every(
      (each) => typeof each === 'string',
    )
    if (term?.data !== '') {
      JSON.parse(term?.data ?? '')
    }
    return isOurs ? (term as KeptTerm) : undefined
  } catch {
    return undefined
  }
}

export const askScript = defineEntryScript(electionSources, 'election/ask', numberFrom(-1, 2))

export interface AskArguments extends ElectionKeys {
  readonly owner: string
  /** Client id. */
  readonly candidate: string
  readonly question: string
}

/** By the number that the script answers; below 0: lost. */
const ASKED = ['not-in-line', 'asked', 'will'] as const
export type AskReply = (typeof ASKED)[number] | 'lost'

export function ask(runner: ScriptRunner, given: AskArguments): Promise<AskReply> {
  const { lockName, key, owner, candidate, question } = given
  const args = [owner, candidate, question, ...announcement(runner, given)]
  const keys = [key, termsKey(key), fairQueueKeys(key)[0]]
  return runner.run({ script: askScript, keys, args, parse: parseAsked, lockName })
}

function parseAsked(reply: unknown): AskReply {
  return ASKED[Number(reply)] ?? 'lost'
}

export const acceptScript = defineEntryScript(electionSources, 'election/accept', yesOrNo)

export interface AcceptArguments extends ElectionKeys {
  readonly clientId: string
  /** The term of the leader who asks. */
  readonly token: string
  readonly question: string
}

/** False: the term is over, or nobody of this client stands in the queue. */
export function accept(runner: ScriptRunner, given: AcceptArguments): Promise<boolean> {
  const { lockName, key, clientId, token, question } = given
  const args = [clientId, token, question, ...announcement(runner, given)]
  const keys = [key, termsKey(key), fairQueueKeys(key)[0]]
  return runner.run({ script: acceptScript, keys, args, parse: wasDone, lockName })
}

/** A message on the channel of an election. They only ring: what is true stands in Redis. */
export type ElectionMessage =
  /** A term has begun or ended, or a candidate has answered. */
  | { readonly kind: 'news' }
  /** A leader asks the waiters of a client to lead next. */
  | { readonly kind: 'ask'; readonly token: string; readonly question: string; readonly candidate: string }

const NEWS: ElectionMessage = { kind: 'news' }

/** Undefined: a message of another protocol. */
export function messageIn(payload: string): ElectionMessage | undefined {
  const [version, kind, token, question, candidate] = payload.split(':')
  if (version !== '1') {
    return undefined
  }
  if (kind === 'term' || kind === 'yes') {
    return NEWS
  }
  return kind === 'ask' && token !== undefined && question !== undefined && candidate !== undefined
    ? { kind, token, question, candidate }
    : undefined
}
