import { noteKey, INBOX_PREFIX, fairQueueKeys, probeKey, tokenKey, waitingWriters } from '../keys.js'
import type { ScriptCall } from '../redis/script-call.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript, type Script } from '../redis/script.js'
import {
  acquiredOrHeld,
  anyNumber,
  numberFrom,
  numbers,
  count,
  yesOrNo,
  facts,
  either,
  isScalar,
  parts,
  texts,
} from '../redis/shapes.js'
import { foreign } from '../runtime/format-value.js'
import { isForeignCount } from './foreign-lock.js'
import { REPLAY_GUARD_TTL_MS, type CommandStamp } from './replay-guard.js'
import { shortenBy, type ShortenCommand, type ShortenReply } from './shorten.js'

// What `note.part.lua` writes and reads.
/** A note that a hold shall have. */
export interface NoteRequest {
  /** Of the note, counted from this command, ms. */
  readonly ttlMs: number
  readonly traceparent: string | undefined
}

/** The note about the current hold. */
export interface HoldNote {
  /** By the clock of Redis, ms. */
  readonly heldForMs: number
  readonly traceparent?: string
}

const NO_TRACE = '-'

export function wantedNote({ ttlMs, traceparent = NO_TRACE }: NoteRequest): string {
  return `${ttlMs} ${traceparent}`
}

/** The end of an answer; undefined where there is no note. */
export function noteIn([ms, traceparent]: readonly unknown[]): HoldNote | undefined {
  if (ms === undefined) {
    return undefined
  }
  // The clock of Redis may have been set back.
  const heldForMs = Math.max(0, Number(ms))
  return traceparent === NO_TRACE ? { heldForMs } : { heldForMs, traceparent: foreign(String(traceparent)) }
}

export const acquireScript = defineScript('lock/acquire', acquiredOrHeld(4))

export interface AcquireCommand {
  readonly lockName: string
  readonly key: string
  readonly tombstoneKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes a free lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
  readonly note?: NoteRequest | undefined
  /** Refused, it is to hear what is known of the hold; always where it gets a note itself, or stands in line. */
  readonly asksForNote?: boolean
}

/** The place of a client's waiter in the queue for grants. */
export interface QueuePlace {
  readonly lineKey: string
  /** How long it counts as alive without another try, ms. */
  readonly aliveForMs: number
  /** What proves a message that it was given the lock: digits of a number above 0 and below 2^40. */
  readonly nonce: string
}

export type AcquireReply =
  /** `token` where the kind of lock gives tokens; `replicas` that have it, where they were waited for. */
  | { readonly kind: 'acquired'; readonly token?: string; readonly replicas?: number }
  | HeldReply
  /** A re-entry found nothing to re-enter. */
  | { readonly kind: 'lost' }
  /** A later command of this acquisition has already ended what this one belongs to. */
  | { readonly kind: 'superseded' }

/** Another owner holds the lock. */
export interface HeldReply {
  readonly kind: 'held'
  /** -1: a key without a time to live; -2: the lock is free, but others are ahead in the queue. */
  readonly ttlMs: number
  /** '' when the lock is free. */
  readonly holder: string
  readonly holds: number
  /** Owners that have it, where there may be several. */
  readonly owners?: number | undefined
  /** What is known of the hold. */
  readonly note?: HoldNote | undefined
  /** Redis remembers that this owner waits. */
  readonly waits?: boolean | undefined
  /** Until when it counts as alive in the line that it stands in, ms of Redis. */
  readonly aliveUntil?: number | undefined
  /** Place in line, from 1, where Redis keeps one for this owner. */
  readonly place?: number | undefined
  /** The string of another library has the lock's name; `holder` is its text. */
  readonly isForeign?: true | undefined
}

const ACQUIRED = { kind: 'acquired' } as const

export function acquire(
  runner: ScriptRunner,
  command: AcquireCommand,
  place?: QueuePlace,
): Promise<AcquireReply> {
  return runner.run(acquireCall(command, place))
}

/** @param place in line, that it takes where it is refused */
export function acquireCall(command: AcquireCommand, place?: QueuePlace): ScriptCall<AcquireReply> {
  const { lockName, key, tombstoneKey, note, asksForNote } = command
  const args = argsOf(command)
  const keys = asksForNote === true || note || place ? [key, tombstoneKey, noteKey(key)] : [key, tombstoneKey]
  if (note || place) {
    args.push(note ? wantedNote(note) : '')
  }
  if (place) {
    keys.push(place.lineKey)
    args.push(`${place.aliveForMs}`, place.nonce)
  }
  return { script: acquireScript, keys, args, parse: parseAcquire, granted, lockName }
}

/** Also of a script that includes this one. */
export function argsOf({ owner, holds, leaseMs, stamp }: AcquireCommand): string[] {
  return [
    owner,
    `${holds}`,
    `${leaseMs}`,
    `${stamp.sequence}`,
    `${stamp.tombstoneThrough}`,
    REPLAY_GUARD_TTL_MS,
  ]
}

/** See `ScriptCall.granted`; of every kind of lock. */
export function granted<R extends { readonly kind: string }>(reply: R, replicas: number): R | undefined {
  return reply.kind === 'acquired' ? { ...reply, replicas } : undefined
}

/** Parses a number, or a description of the holder and of the place in the queue. */
export function parseAcquire(reply: unknown): AcquireReply {
  if (!Array.isArray(reply)) {
    return parseAcquired(reply)
  }
  const until = Number(reply[3])
  return until > 0 ? heldReply(reply, until) : heldReply(reply)
}

/** The same of a lock that several owners may have. */
export function parseShared(reply: unknown): AcquireReply {
  if (!Array.isArray(reply)) {
    return parseAcquired(reply)
  }
  return heldReply(reply, undefined, Number(reply[3]))
}

/** Each name by itself: to spread one object into another takes longer than all the rest. */
function heldReply(reply: readonly unknown[], aliveUntil?: number, owners?: number): HeldReply {
  const [ttlMs, holder, holds, , ...note] = reply
  return {
    kind: 'held',
    ttlMs: Number(ttlMs),
    holder: String(holder),
    holds: Number(holds),
    note: noteIn(note),
    waits: aliveUntil === undefined ? undefined : true,
    aliveUntil,
    owners,
  }
}

/** What every acquire answers with a number. */
export function parseAcquired(reply: unknown): Exclude<AcquireReply, HeldReply> {
  switch (Number(reply)) {
    case 1:
      return ACQUIRED
    case 2:
      return { kind: 'lost' }
    default:
      return { kind: 'superseded' }
  }
}

export const releaseScript = defineScript('lock/release', anyNumber)

export interface ReleaseCommand {
  readonly lockName: string
  readonly key: string
  readonly tombstoneKey: string
  /** Where it is announced; null: nowhere. */
  readonly channel: string | null
  readonly owner: string
  /** The hold count to have afterwards: 0 gives the lock back. */
  readonly holds: number
  readonly stamp: CommandStamp
  /** The hold may have a note. */
  readonly isNoted?: boolean
  /** The queue of waiters that can be granted the lock. */
  readonly lineKey: string
  /** Connections of this client that would hear the release but are not queued. Absent: grant to no waiter. */
  readonly unseated?: number | undefined
  /** All waiters are queued unless notified otherwise: with an empty queue, nothing is published. */
  readonly tellsLineAlone?: boolean
}

export interface ReleaseReply {
  readonly kind: 'released' | 'still-held' | 'superseded' | 'not-held'
  /** Connections to that server that were subscribed to the unlock channel, if known. */
  readonly heardBy?: number
  /**
   * The lock was granted to a waiter, for so long without a command of its own, ms; not all subscribers were
   * notified.
   */
  readonly givenForMs?: number
}

const RELEASED_UNHEARD: ReleaseReply = { kind: 'released', heardBy: 0 }

const REPLIES: readonly ReleaseReply[] = [
  { kind: 'not-held' },
  { kind: 'released' },
  { kind: 'still-held' },
  { kind: 'superseded' },
]

export function releaseCall(
  runner: Pick<ScriptRunner, 'announcementOn'>,
  command: ReleaseCommand,
): ScriptCall<ReleaseReply> {
  const {
    lockName,
    key,
    tombstoneKey,
    channel,
    owner,
    holds,
    stamp,
    isNoted,
    lineKey,
    unseated,
    tellsLineAlone,
  } = command
  const args = [
    owner,
    `${holds}`,
    `${stamp.sequence}`,
    `${stamp.tombstoneThrough}`,
    REPLAY_GUARD_TTL_MS,
    channel ?? '',
    channel === null ? '' : runner.announcementOn(channel),
    unseated === undefined ? '' : `${unseated}`,
    INBOX_PREFIX,
  ]
  if (tellsLineAlone === true) {
    args.push('1')
  }
  const keys = [key, lineKey]
  // Most releases have neither: what is not named costs nothing.
  if (holds > 0 || stamp.tombstoneThrough > 0 || isNoted === true) {
    keys.push(tombstoneKey)
  }
  if (isNoted === true) {
    keys.push(noteKey(key))
  }
  return { script: releaseScript, keys, args, parse: parseReleased, lockName }
}

export function parseReleased(reply: unknown): ReleaseReply {
  const number = Number(reply)
  if (number < 0) {
    return { kind: 'released', givenForMs: -number }
  }
  if (number <= REPLIES.length) {
    return number === REPLIES.length ? RELEASED_UNHEARD : (REPLIES[number] as ReleaseReply)
  }
  return { kind: 'released', heardBy: number - REPLIES.length }
}

export const renameScript = defineScript('lock/rename', numberFrom(0, 2))

/** The owner that the lock's field shall name, and the note of its hold. */
export interface Successor {
  readonly owner: string
  readonly note: NoteRequest | undefined
}

/** The rename of the field of a lock that was handed over inside the client. */
export interface Renaming {
  readonly to: Successor
  /** The owners that the field may still name. */
  readonly from: readonly string[]
  /** Waiters that it was passed on to and that Redis has in line. */
  readonly passedTo: readonly string[]
}

export interface RenameCommand extends Omit<Renaming, 'passedTo'> {
  readonly lockName: string
  readonly key: string
}

/** `found`: the field had the new name already, for an unknown time. */
export type RenameReply = { readonly kind: 'renamed' | 'found' | 'lost' }

const KINDS = ['lost', 'renamed', 'found'] as const

export function rename(
  runner: ScriptRunner,
  { lockName, key, to, from }: RenameCommand,
): Promise<RenameReply> {
  const { owner, note } = to
  const keys = note ? [key, noteKey(key)] : [key]
  const args = [owner, note ? wantedNote(note) : '', ...from]
  return runner.run({ script: renameScript, keys, args, parse: parseRenamed, lockName })
}

export function parseRenamed(reply: unknown): RenameReply {
  return { kind: KINDS[Number(reply)] ?? 'lost' }
}

export const renewScript = defineScript('lock/renew', numbers(0, numberFrom(1)))

export interface RenewCommand {
  /** All in one cluster slot. */
  readonly locks: readonly { readonly key: string; readonly owner: string }[]
  readonly leaseMs: number
  readonly timeoutMs?: number
}

export type RenewReply = readonly ('renewed' | 'lost')[]

export function renew(runner: ScriptRunner, command: RenewCommand): Promise<RenewReply> {
  return renewBy(renewScript, runner, command)
}

/** @param more KEYS after those of the locks */
export function renewBy(
  script: Script,
  runner: ScriptRunner,
  { locks, leaseMs, timeoutMs }: RenewCommand,
  more: readonly string[] = [],
): Promise<RenewReply> {
  const keys = [...locks.map((each) => each.key), ...more]
  const args = [`${leaseMs}`, ...locks.map((each) => each.owner)]
  return runner.run({ script, keys, args, parse: answersFor(locks), granted: renewedAny, timeoutMs })
}

/** One for each lock, from the places of those that are lost. */
function answersFor(locks: RenewCommand['locks']): (reply: unknown) => RenewReply {
  return (reply) => {
    const answers = locks.map((): RenewReply[number] => 'renewed')
    for (const place of reply as unknown[]) {
      answers[Number(place) - 1] = 'lost'
    }
    return answers
  }
}

/** See `ScriptCall.granted`. */
function renewedAny(answers: RenewReply): RenewReply | undefined {
  return answers.includes('renewed') ? answers : undefined
}

export const shortenScript = defineScript('lock/shorten', numberFrom(0, 2))

export function shorten(runner: ScriptRunner, command: ShortenCommand): Promise<ShortenReply> {
  return shortenBy(shortenScript, runner, command, { keys: [command.key, command.tombstoneKey], args: [] })
}

export const forceReleaseScript = defineScript('lock/force-release', count)

export interface ForceReleaseCommand {
  readonly lockName: string
  readonly key: string
  /** Where it is announced; null: nowhere. */
  readonly channel: string | null
  readonly inboxPrefix: string
}

export type ForceReleaseReply =
  { readonly kind: 'released'; readonly owners: number } | { readonly kind: 'not-held' }

export function forceRelease(runner: ScriptRunner, command: ForceReleaseCommand): Promise<ForceReleaseReply> {
  const { lockName, key, channel, inboxPrefix } = command
  return runner.run({
    script: forceReleaseScript,
    keys: [key, noteKey(key)],
    args: [channel ?? '', channel === null ? '' : runner.announcementOn(channel), inboxPrefix],
    parse: parseForced,
    lockName,
  })
}

export function parseForced(reply: unknown): ForceReleaseReply {
  const owners = Number(reply)
  return owners > 0 ? { kind: 'released', owners } : { kind: 'not-held' }
}

export const announceScript = defineScript('lock/announce', yesOrNo)

export interface AnnounceCommand {
  readonly lockName: string
  readonly key: string
  readonly channel: string
}

export function announce(runner: ScriptRunner, { lockName, key, channel }: AnnounceCommand): Promise<void> {
  const args = [channel, runner.announcementOn(channel)]
  const parse = (): void => undefined
  return runner.run({ script: announceScript, keys: [key], args, parse, lockName })
}

export const inspectScript = defineScript('lock/inspect', facts(1))

export interface InspectCommand {
  readonly lockName: string
  readonly key: string
  readonly timeoutMs?: number
}

/** `ttlMs` is -2 for a free lock and -1 for a key without a time to live. */
export interface LockState {
  readonly ttlMs: number
  readonly holds: ReadonlyMap<string, number>
  /** The string of another library has the lock's name. */
  readonly isForeign?: true
}

export function inspect(runner: ScriptRunner, command: InspectCommand): Promise<LockState> {
  const { lockName, key, timeoutMs } = command
  return runner.run({ script: inspectScript, keys: [key], args: [], parse: parseState, lockName, timeoutMs })
}

function parseState(reply: unknown): LockState {
  const [ttlMs, ...pairs] = reply as [unknown, ...string[]]
  const holds = new Map<string, number>()
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    holds.set(pairs[i] as string, Number(pairs[i + 1]))
  }
  return { ttlMs: Number(ttlMs), holds }
}

export const explainScript = defineScript(
  'lock/explain',
  either(numberFrom(0, 0), parts(anyNumber, texts, isScalar, count, count)),
)

export interface ExplainCommand {
  readonly lockName: string
  readonly key: string
  /** The caller does not know that the key is a lock: a hash counts as one if it has a lock's fields and a TTL. */
  readonly isAnything: boolean
  /** The string of another library counts as a lock. */
  readonly isForeignLock: boolean
}

/** All that Redis has about a lock. */
export interface LockFacts {
  /** -1 for a key without a time to live. */
  readonly ttlMs: number
  readonly mode: 'read' | 'write' | undefined
  /** Of the string of another library: its text, once. */
  readonly holds: ReadonlyMap<string, number>
  readonly isForeign: boolean
  /** '' when none was ever given. */
  readonly token: string
  /** In the line of a fair lock. */
  readonly inLine: number
  readonly waitingWriters: number
  /** Of the one owner that has a note. */
  readonly notedOwner: string | undefined
  readonly note?: HoldNote | undefined
}

/** Null: the lock is free, or the key is not a lock. */
export function explain(runner: ScriptRunner, command: ExplainCommand): Promise<LockFacts | null> {
  const { lockName, key, isAnything, isForeignLock } = command
  const [queue] = fairQueueKeys(key)
  const keys = [key, noteKey(key), tokenKey(key), queue, waitingWriters(key), probeKey(key)]
  return runner.run({
    script: explainScript,
    keys,
    args: [isAnything ? '1' : '0', isForeignLock ? '1' : '0'],
    parse: parseFacts,
    lockName,
  })
}

type ExplainAnswer = [unknown, string[], string, unknown, unknown, string | undefined, ...unknown[]]

function parseFacts(reply: unknown): LockFacts | null {
  if (!Array.isArray(reply)) {
    return null
  }
  const [ttlMs, fields, token, inLine, writers, notedOwner, ...note] = reply as ExplainAnswer
  const values = new Map<string, string>()
  for (let i = 0; i + 1 < fields.length; i += 2) {
    values.set(fields[i] as string, fields[i + 1] as string)
  }
  const isForeign = isForeignCount(fields[1])
  const mode = isForeign ? undefined : (values.get('mode') as LockFacts['mode'])
  if (!isForeign) {
    values.delete('mode')
  }
  return {
    ...{ ttlMs: Number(ttlMs), mode, token, inLine: Number(inLine), waitingWriters: Number(writers) },
    holds: new Map([...values].map(([owner, holds]) => [owner, isForeign ? 1 : Number(holds)])),
    isForeign,
    notedOwner,
    note: noteIn(note),
  }
}
