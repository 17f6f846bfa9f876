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
  facts,
  either,
  isScalar,
  pairsIn,
  parts,
  texts,
} from '../redis/shapes.js'
import { granted, parseAcquire, type AcquireReply } from './acquire-reply.js'
import { isForeignCount } from './foreign-lock.js'
import { noteIn, wantedNote, type HoldNote, type NoteRequest } from './note.js'
import { REPLY_MEANINGS } from './reply-meanings.js'
import { REPLAY_GUARD_TTL_MS, type CommandStamp } from './replay-guard.js'
import { shortenBy, type ShortenArguments, type ShortenReply } from './shorten.js'

/** Arguments of a script for what one owner holds, whatever the kind of lock. */
export interface HoldArguments {
  readonly tombstoneKey: string
  readonly owner: string
  /** The hold count to have afterwards: 0 releases the lock, 1 takes a free one, more re-enters. */
  readonly holds: number
  readonly stamp: CommandStamp
}

export interface TakeArguments extends HoldArguments {
  readonly leaseMs: number
}

/** The first ARGV of every acquire: see `take.part.lua`. */
export function argvOfTake({ owner, holds, leaseMs, stamp }: TakeArguments): string[] {
  const { sequence, tombstoneThrough } = stamp
  return [owner, `${holds}`, `${leaseMs}`, `${sequence}`, `${tombstoneThrough}`, REPLAY_GUARD_TTL_MS]
}

/** The first ARGV of every release. */
export function argvOfRelease({ owner, holds, stamp }: HoldArguments): string[] {
  return [owner, `${holds}`, `${stamp.sequence}`, `${stamp.tombstoneThrough}`, REPLAY_GUARD_TTL_MS]
}

export const acquireScript = defineScript('lock/acquire', acquiredOrHeld(4))

export interface AcquireArguments extends TakeArguments {
  readonly lockName: string
  readonly key: string
  readonly note?: NoteRequest | undefined
  /** If refused, it wants the holder's note. Implied by a note of its own, and by a place in the queue. */
  readonly asksForNote?: boolean
}

/** The place of a client's waiter in the queue for grants. */
export interface QueuePlace {
  readonly queueKey: string
  /** How long the waiter counts as alive without another try, ms. */
  readonly aliveForMs: number
  /** Proves a message that grants it the lock: digits of a number above 0 and below 2^40. */
  readonly nonce: string
}

export function acquire(
  runner: ScriptRunner,
  given: AcquireArguments,
  place?: QueuePlace,
): Promise<AcquireReply> {
  return runner.run(acquireCall(given, place))
}

/** @param place in the queue, which the owner takes if it is refused */
export function acquireCall(given: AcquireArguments, place?: QueuePlace): ScriptCall<AcquireReply> {
  const { lockName, key, tombstoneKey, note, asksForNote } = given
  const args = argvOfTake(given)
  const keys = asksForNote === true || note || place ? [key, tombstoneKey, noteKey(key)] : [key, tombstoneKey]
  if (note || place) {
    args.push(note ? wantedNote(note) : '')
  }
  if (place) {
    keys.push(place.queueKey)
    args.push(`${place.aliveForMs}`, place.nonce)
  }
  return { script: acquireScript, keys, args, parse: parseAcquire, granted, lockName }
}

export const releaseScript = defineScript('lock/release', anyNumber)

export interface ReleaseArguments extends HoldArguments {
  readonly lockName: string
  readonly key: string
  /** The channel for the announcement; null: it is not announced. */
  readonly channel: string | null
  /** The hold may have a note. */
  readonly isNoted?: boolean
  /** The queue of waiters that can be granted the lock. */
  readonly queueKey: string
  /** Connections of this client that would hear the release but are not queued. Absent: grant to no waiter. */
  readonly unqueuedListeners?: number | undefined
  /** All waiters are queued unless notified otherwise: with an empty queue, nothing is published. */
  readonly tellsQueueAlone?: boolean
}

export interface ReleaseReply {
  readonly kind: 'released' | 'still-held' | 'superseded' | 'not-held'
  /** Connections to that server that were subscribed to the unlock channel, if known. */
  readonly heardBy?: number
  /**
   * The lock was granted to a waiter, for this many ms without a command of its own; not all subscribers were
   * notified.
   */
  readonly grantedForMs?: number
}

const RELEASED_UNHEARD: ReleaseReply = { kind: 'released', heardBy: 0 }

const REPLIES: readonly ReleaseReply[] = REPLY_MEANINGS.release.map((kind) => ({ kind }))

export function releaseCall(
  runner: Pick<ScriptRunner, 'announcementOn'>,
  given: ReleaseArguments,
): ScriptCall<ReleaseReply> {
  const { lockName, key, tombstoneKey, channel, holds, stamp, isNoted, queueKey, unqueuedListeners } = given
  const args = argvOfRelease(given)
  args.push(
    channel ?? '',
    channel === null ? '' : runner.announcementOn(channel),
    unqueuedListeners === undefined ? '' : `${unqueuedListeners}`,
    INBOX_PREFIX,
  )
  if (given.tellsQueueAlone === true) {
    args.push('1')
  }
  const keys = [key, queueKey]
  // Most releases need neither, and a key that is not passed costs nothing.
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
    return { kind: 'released', grantedForMs: -number }
  }
  if (number <= REPLIES.length) {
    return number === REPLIES.length ? RELEASED_UNHEARD : (REPLIES[number] as ReleaseReply)
  }
  return { kind: 'released', heardBy: number - REPLIES.length }
}

export const renameScript = defineScript('lock/rename', numberFrom(0, 2))

/** The owner that the lock's field is to name, and the note of its hold. */
export interface Successor {
  readonly owner: string
  readonly note: NoteRequest | undefined
}

/** The rename of the field of a lock that was passed on inside the client. */
export interface Renaming {
  readonly to: Successor
  /** The owners that the field may still name. */
  readonly from: readonly string[]
  /** Waiters that the lock was passed on to and that Redis still has in the queue. */
  readonly passedTo: readonly string[]
}

export interface RenameArguments extends Omit<Renaming, 'passedTo'> {
  readonly lockName: string
  readonly key: string
}

/** `found`: the field had the new name already, for an unknown time. */
export type RenameReply = { readonly kind: 'renamed' | 'found' | 'lost' }

export function rename(
  runner: ScriptRunner,
  { lockName, key, to, from }: RenameArguments,
): Promise<RenameReply> {
  const { owner, note } = to
  const keys = note ? [key, noteKey(key)] : [key]
  const args = [owner, note ? wantedNote(note) : '', ...from]
  return runner.run({ script: renameScript, keys, args, parse: parseRenamed, lockName })
}

export function parseRenamed(reply: unknown): RenameReply {
  return { kind: REPLY_MEANINGS.rename[Number(reply)] ?? 'lost' }
}

export const renewScript = defineScript('lock/renew', numbers(0, numberFrom(1)))

export interface RenewArguments {
  /** All in one cluster slot. */
  readonly locks: readonly { readonly key: string; readonly owner: string }[]
  readonly leaseMs: number
  readonly timeoutMs?: number
}

export type RenewReply = readonly ('renewed' | 'lost')[]

export function renew(runner: ScriptRunner, given: RenewArguments): Promise<RenewReply> {
  return renewBy(renewScript, runner, given)
}

/** @param more KEYS after those of the locks */
export function renewBy(
  script: Script,
  runner: ScriptRunner,
  { locks, leaseMs, timeoutMs }: RenewArguments,
  more: readonly string[] = [],
): Promise<RenewReply> {
  const keys = [...locks.map((each) => each.key), ...more]
  const args = [`${leaseMs}`, ...locks.map((each) => each.owner)]
  return runner.run({ script, keys, args, parse: answersFor(locks), granted: renewedAny, timeoutMs })
}

/** One answer for each lock, made from the indexes of the lost ones. */
function answersFor(locks: RenewArguments['locks']): (reply: unknown) => RenewReply {
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

export function shorten(runner: ScriptRunner, given: ShortenArguments): Promise<ShortenReply> {
  return shortenBy(shortenScript, runner, given, { keys: [given.key, given.tombstoneKey], args: [] })
}

export const forceReleaseScript = defineScript('lock/force-release', numberFrom(-1))

export interface ForceReleaseArguments {
  readonly lockName: string
  readonly key: string
  /** The channel for the announcement; null: it is not announced. */
  readonly channel: string | null
  readonly inboxPrefix: string
  readonly named: NamedOwners
}

/** Whom a forced release is meant for: a copy of it, or one that comes late, touches nobody else. */
export interface NamedOwners {
  /** None: any. */
  readonly owners: readonly string[]
  /** They were named by a caller, as owners of this kind of lock. Otherwise they are all whom Redis has named. */
  readonly isOfCaller: boolean
}

export type ForceReleaseReply =
  { readonly kind: 'released'; readonly owners: number } | { readonly kind: 'not-held' | 'held-by-another' }

export type ForceOutcome = ForceReleaseReply['kind']

export function forceRelease(runner: ScriptRunner, given: ForceReleaseArguments): Promise<ForceReleaseReply> {
  const { lockName, key, channel, inboxPrefix, named } = given
  return runner.run({
    script: forceReleaseScript,
    keys: [key, noteKey(key)],
    args: [
      ...[channel ?? '', channel === null ? '' : runner.announcementOn(channel), inboxPrefix],
      ...named.owners,
    ],
    parse: parseForced,
    lockName,
  })
}

export function parseForced(reply: unknown): ForceReleaseReply {
  const owners = Number(reply)
  return owners > 0 ? { kind: 'released', owners } : { kind: owners < 0 ? 'held-by-another' : 'not-held' }
}

export const announceScript = defineScript('lock/announce', numberFrom(0, 2))

export interface AnnounceArguments {
  readonly lockName: string
  readonly key: string
  readonly channel: string
}

export function announce(runner: ScriptRunner, { lockName, key, channel }: AnnounceArguments): Promise<void> {
  const args = [channel, runner.announcementOn(channel)]
  const parse = (): void => undefined
  return runner.run({ script: announceScript, keys: [key], args, parse, lockName })
}

export const listenersScript = defineScript('lock/listeners', count)

/** How many connections wait for the message of a release, at the server that has the key; 0 where the key is gone. */
export function countListeners(
  runner: ScriptRunner,
  { lockName, key, channel }: AnnounceArguments,
): Promise<number> {
  const args = [channel, runner.announcementOn(channel)]
  return runner.run({ script: listenersScript, keys: [key], args, parse: Number, lockName })
}

/** Whether this user may publish on a channel that is not sharded; tells its listeners to look. */
export function mayPublish(runner: ScriptRunner, key: string, channel: string): Promise<boolean> {
  const parse = (reply: unknown): boolean => reply !== 2
  return runner.run({ script: announceScript, keys: [key], args: [channel, 'PUBLISH'], parse })
}

export const inspectScript = defineScript('lock/inspect', facts(1))

export interface InspectArguments {
  readonly lockName: string
  readonly key: string
  readonly timeoutMs?: number | undefined
}

/** `ttlMs` is -2 for a free lock and -1 for a key without a time to live. */
export interface LockState {
  readonly ttlMs: number
  readonly holds: ReadonlyMap<string, number>
  /** The lock's key is another library's string. */
  readonly isForeign?: true
  /** The key is a hash of something else. */
  readonly isNoLock?: true
}

export function inspect(runner: ScriptRunner, given: InspectArguments): Promise<LockState> {
  const { lockName, key, timeoutMs } = given
  return runner.run({ script: inspectScript, keys: [key], args: [], parse: parseState, lockName, timeoutMs })
}

const OWNER = /^[^:]+:\d+(:write)?$/

/** Tells whether a key is a lock, by the rule of `shape.part.lua`. */
function parseState(reply: unknown): LockState {
  const [ttlMs, ...pairs] = reply as unknown[]
  const fields = new Map(pairsIn(pairs).map(([field, value]) => [String(field), String(value)]))
  const isReadWrite = /^(read|write)$/.test(fields.get('mode') ?? '') && fields.delete('mode')
  const isLock =
    (isReadWrite || fields.size < 2) &&
    [...fields].every(([owner, holds]) => OWNER.test(owner) && /^[1-9]\d*$/.test(holds))
  const holds = new Map([...fields].map(([owner, count]) => [owner, Number(count)]))
  // Without a time to live of its own, the mode of a read-write lock outlives the last field: nobody has it then.
  const hasHolder = holds.size > 0 || !isReadWrite
  return { ttlMs: hasHolder ? Number(ttlMs) : -2, holds, ...(!isLock && { isNoLock: true as const }) }
}

export const explainScript = defineScript(
  'lock/explain',
  either(numberFrom(0, 0), parts(anyNumber, texts, isScalar, count, count)),
)

export interface ExplainArguments {
  readonly lockName: string
  readonly key: string
  /** The caller does not know that the key is a lock: a hash counts as one if it has a lock's fields and a TTL. */
  readonly isAnything: boolean
  /** Another library's string counts as a lock, too. */
  readonly isForeignLock: boolean
}

/** Everything that Redis knows about a lock. */
export interface LockFacts {
  /** -1 for a key without a time to live. */
  readonly ttlMs: number
  readonly mode: 'read' | 'write' | undefined
  /** By owner. Of another library's string: its text, with a count of 1. */
  readonly holds: ReadonlyMap<string, number>
  readonly isForeign: boolean
  /** '' if there is no counter. */
  readonly token: string
  /** Waiters in the queue of a fair lock. */
  readonly inLine: number
  readonly waitingWriters: number
  /** The owner that the note names, if it holds the lock. */
  readonly notedOwner: string | undefined
  readonly note?: HoldNote | undefined
}

/** Null: the lock is free, or the key is not a lock. */
export function explain(runner: ScriptRunner, given: ExplainArguments): Promise<LockFacts | null> {
  const { lockName, key, isAnything, isForeignLock } = given
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
  return {
    ...holdsIn(fields),
    ttlMs: Number(ttlMs),
    token,
    inLine: Number(inLine),
    waitingWriters: Number(writers),
    notedOwner,
    note: noteIn(note),
  }
}

/** Reads the fields of a lock, or the text of another library's string with its count. */
export function holdsIn(fields: readonly string[]): Pick<LockFacts, 'mode' | 'holds' | 'isForeign'> {
  const isForeign = isForeignCount(fields[1])
  if (isForeign) {
    return { mode: undefined, holds: new Map([[fields[0] ?? '', 1]]), isForeign }
  }
  const values = new Map<string, unknown>(pairsIn(fields))
  const mode = values.get('mode') as LockFacts['mode']
  values.delete('mode')
  return { mode, holds: new Map([...values].map(([owner, holds]) => [owner, Number(holds)])), isForeign }
}
