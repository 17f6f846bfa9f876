import { fairQueueKeys, INBOX_PREFIX, PROTOCOL, unlockChannel, noteKey } from '../keys.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { acquiredOrHeld, releasedOrGiven, numberFrom, anyNumber, facts } from '../redis/shapes.js'
import {
  argvOfRelease,
  argvOfTake,
  type HoldArguments,
  type TakeArguments,
  parseReleased,
  parseRenamed,
  parseForced,
  type NamedOwners,
  type ReleaseReply,
  type RenameReply,
  type Renaming,
  type ForceReleaseReply,
} from './lock.js'
import { noteIn, wantedNote, type NoteRequest } from './note.js'
import { granted, parseAcquired, type AcquireReply, type HeldReply } from './acquire-reply.js'
import { isForeignCount, type NamedKey } from './foreign-lock.js'

/** The keys and settings that the scripts of one fair lock share. Durations in milliseconds. */
export interface FairLine {
  readonly lockName: string
  /** The lock hash, and the keys of the line. */
  readonly keys: readonly string[]
  /** The time that Redisson allows each waiter. */
  readonly patience: string
  /** Whether its waiters wait for the string of another library. */
  readonly waitsForForeign: boolean
  /** Where the next waiter is notified: prefix of Holdfast's client channels, Redisson's channel. */
  readonly channels: readonly [string, string]
}

/** The liveness that a client reports to the queue of its waiters. */
export interface SignOfLife {
  readonly clientId: string
  /** Proves a grant message to one of its waiters, in hexadecimal: only a client that can read the queue knows it. */
  readonly nonce: string
  /** How long the client counts as alive without another heartbeat, ms. */
  readonly aliveForMs: number
  /**
   * Whether it is subscribed to its channel, as confirmed by this very server: without a subscriber it counts as
   * gone.
   */
  readonly hears: boolean
  /** Whether its waiters use grants; otherwise a message makes them try. */
  readonly takesGrants: boolean
  /** Whether it hands a granted lock over to its own waiters directly behind. */
  readonly passesOn: boolean
}

/** The window in which Redis counts this client as alive, as its reply reported it. */
export interface LivenessWindow {
  /** Since when the client has lived without a gap: in one, others may have taken its waiters out of the line. */
  readonly since: string
  /** Until when it counts as alive, ms of Redis. */
  readonly until: number
  /** How long that was when Redis said so, ms. */
  readonly leftMs: number
}

/** From an answer. */
function lifeIn([since, until, leftMs]: readonly unknown[]): LivenessWindow {
  return { since: String(since), until: Number(until), leftMs: Number(leftMs) }
}

/** The same as marks in Redis. */
function marksOf({ hears, takesGrants, passesOn, nonce }: SignOfLife): string {
  return `${takesGrants ? 'g' : ''}${takesGrants && passesOn ? 'p' : ''}${hears ? 'h' : ''}${PROTOCOL}:${nonce}`
}

export function fairLine(
  { lockName, key }: NamedKey,
  patienceMs: number,
  waitsForForeign: boolean,
): FairLine {
  return {
    lockName,
    waitsForForeign,
    keys: [key, ...fairQueueKeys(key)],
    patience: `${Math.ceil(patienceMs)}`,
    channels: [INBOX_PREFIX, unlockChannel(key)],
  }
}

/** The arguments that let a script grant a free lock to the first waiter. */
function grantArguments(runner: ScriptRunner, { channels }: FairLine): string[] {
  return [...channels, runner.announcementOn(channels[1])]
}

export const acquireScript = defineScript('fair-lock/acquire', acquiredOrHeld(9))

export interface FairAcquireArguments extends TakeArguments {
  readonly line: FairLine
  readonly alive: SignOfLife
  /** The number this owner came at; '0': none yet, '-1': it does not wait. */
  readonly arrival: string
  readonly note?: NoteRequest | undefined
  readonly maxWaiting?: number | undefined
}

export interface FairHeldReply extends HeldReply {
  /** '0': it does not stand in the queue. */
  readonly arrival: string
  /** A Java client has the lock or stands in the queue: it announces a release on the waiter's own channel. */
  readonly javaIsThere: boolean
  /** The liveness window of the waiter's client. */
  readonly life: LivenessWindow
}

export type FairAcquireReply = Exclude<AcquireReply, HeldReply> | FairHeldReply

export function acquire(runner: ScriptRunner, given: FairAcquireArguments): Promise<FairAcquireReply> {
  const { line, tombstoneKey, alive, arrival } = given
  const args = [
    ...argvOfTake(given),
    alive.clientId,
    `${alive.aliveForMs}`,
    line.patience,
    arrival,
    ...grantArguments(runner, line),
    marksOf(alive),
    ...optionalArguments(given),
  ]
  const { lockName } = line
  const keys = [...line.keys, tombstoneKey, noteKey(line.keys[0] ?? '')]
  return runner.run({ script: acquireScript, keys, args, parse: parseAcquire, granted, lockName })
}

/** A re-entry that finds a string has lost the lock, whatever the rule. */
function optionalArguments({ line, holds, note, maxWaiting }: FairAcquireArguments): string[] {
  const wanted = note ? [wantedNote(note)] : []
  const waitsForForeign = line.waitsForForeign && holds === 1
  if (maxWaiting !== undefined) {
    return [wanted[0] ?? '', waitsForForeign ? '1' : '', `${maxWaiting}`]
  }
  return waitsForForeign ? [wanted[0] ?? '', '1'] : wanted
}

type AcquireAnswer = [unknown, string, ...unknown[]]

function parseAcquire(reply: unknown): FairAcquireReply {
  if (!Array.isArray(reply)) {
    return parseAcquired(reply)
  }
  const [ttlMs, holder, holds, arrival, place, javaWaiters, since, until, leftMs, ...note] =
    reply as AcquireAnswer
  const waits = Number(arrival) > 0 ? true : undefined
  return {
    kind: 'held',
    ttlMs: Number(ttlMs),
    ...holderIn(holder, holds),
    arrival: String(arrival),
    waits,
    place: waits ? Number(place) : undefined,
    full:
      Number(arrival) < 0 ? { waiting: Number(place) - 1, firstWaitedMs: -1 - Number(arrival) } : undefined,
    javaIsThere: Number(javaWaiters) > 0 || isJava(holder, holds),
    life: lifeIn([since, until, leftMs]),
    note: noteIn(note),
  }
}

/** Client ids of Redisson are UUIDs; ours have the random part behind a `~`. */
function isJava(owner: string, holds: unknown): boolean {
  return owner !== '' && !owner.includes('~') && !isForeignCount(holds)
}

function holderIn(holder: string, holds: unknown): Pick<HeldReply, 'holder' | 'holds' | 'isForeign'> {
  return isForeignCount(holds) ? { holder, holds: 1, isForeign: true } : { holder, holds: Number(holds) }
}

export const releaseScript = defineScript('fair-lock/release', releasedOrGiven)

/** A full release leaves the queue, too. */
export interface FairReleaseArguments extends HoldArguments {
  readonly line: FairLine
  /** Waiters that it was passed on to and that Redis has in the queue. */
  readonly passedTo: readonly string[]
  /** The hold may have a note. */
  readonly isNoted?: boolean
}

export function release(runner: ScriptRunner, given: FairReleaseArguments): Promise<ReleaseReply> {
  const { line, tombstoneKey, passedTo, isNoted } = given
  const args = [...argvOfRelease(given), line.patience, ...grantArguments(runner, line), ...passedTo]
  const keys = [...line.keys, tombstoneKey, ...(isNoted ? [noteKey(line.keys[0] ?? '')] : [])]
  return runner.run({ script: releaseScript, keys, args, parse: parseReleased, lockName: line.lockName })
}

export const renameScript = defineScript('fair-lock/rename', numberFrom(0, 2))

export interface FairRenameArguments extends Renaming {
  readonly line: FairLine
}

export function rename(
  runner: ScriptRunner,
  { line, to, from, passedTo }: FairRenameArguments,
): Promise<RenameReply> {
  const { owner, note } = to
  const keys = note ? [...line.keys, noteKey(line.keys[0] ?? '')] : line.keys
  const args = [
    owner,
    note ? wantedNote(note) : '',
    line.patience,
    ...grantArguments(runner, line),
    `${from.length}`,
    ...from,
    ...passedTo,
  ]
  return runner.run({ script: renameScript, keys, args, parse: parseRenamed, lockName: line.lockName })
}

export const withdrawScript = defineScript('fair-lock/withdraw', anyNumber)

export interface WithdrawArguments {
  readonly line: FairLine
  /** '': none. A free lock goes to the first in the queue. */
  readonly owner: string
}

/** @returns ms that a waiter has to use a lock that it was given, while others wait; 0 for nothing of that */
export function withdraw(runner: ScriptRunner, { line, owner }: WithdrawArguments): Promise<number> {
  const args = [owner, line.patience, ...grantArguments(runner, line)]
  return runner.run({ script: withdrawScript, keys: line.keys, args, parse: Number, lockName: line.lockName })
}

export const heartbeatScript = defineScript('fair-lock/heartbeat', facts(9))

export interface HeartbeatArguments {
  readonly line: FairLine
  readonly alive: SignOfLife
}

export interface HeartbeatReply {
  /** -2: the lock is free. */
  readonly ttlMs: number
  /** '' when the lock is free. */
  readonly holder: string
  readonly holds: number
  /** See `HeldReply`. */
  readonly isForeign?: true | undefined
  /** Owner of the first waiter; '' without waiters. */
  readonly first: string
  /** How long the first counts as alive, ms. */
  readonly firstAliveForMs: number
  readonly javaIsThere: boolean
  readonly life: LivenessWindow
}

export function heartbeat(runner: ScriptRunner, given: HeartbeatArguments): Promise<HeartbeatReply> {
  const { line, alive } = given
  const args = [
    alive.clientId,
    `${alive.aliveForMs}`,
    line.patience,
    ...grantArguments(runner, line),
    marksOf(alive),
  ]
  return runner.run({
    script: heartbeatScript,
    keys: line.keys,
    args,
    parse: parseHeartbeat,
    lockName: line.lockName,
  })
}

function parseHeartbeat(reply: unknown): HeartbeatReply {
  const [ttlMs, holder, holds, first, firstAliveForMs, javaWaiters, ...life] = reply as [
    unknown,
    string,
    unknown,
    string,
    ...unknown[],
  ]
  return {
    ttlMs: Number(ttlMs),
    ...holderIn(holder, holds),
    first,
    firstAliveForMs: Number(firstAliveForMs),
    javaIsThere: Number(javaWaiters) > 0 || isJava(holder, holds),
    life: lifeIn(life),
  }
}

export const forceReleaseScript = defineScript('fair-lock/force-release', numberFrom(-1))

export function forceRelease(
  runner: ScriptRunner,
  line: FairLine,
  { owners }: NamedOwners,
): Promise<ForceReleaseReply> {
  const args = [line.patience, ...grantArguments(runner, line), ...owners]
  const { lockName } = line
  const keys = [...line.keys, noteKey(line.keys[0] ?? '')]
  return runner.run({ script: forceReleaseScript, keys, args, parse: parseForced, lockName })
}
