import { readWriteChannel, waitingWriters, noteKey, readTimeouts, otherReadersTimeouts } from '../keys.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { acquiredOrHeld, anyNumber, numberFrom, numbers } from '../redis/shapes.js'
import {
  argvOfRelease,
  argvOfTake,
  type HoldArguments,
  type TakeArguments,
  parseReleased,
  renewBy,
  parseForced,
  type NamedOwners,
  type ReleaseReply,
  type RenewArguments,
  type RenewReply,
  type ForceReleaseReply,
} from './lock.js'
import { wantedNote, type NoteRequest } from './note.js'
import { granted, parseShared, type AcquireReply } from './acquire-reply.js'
import { shortenBy, type ShortenArguments, type ShortenReply } from './shorten.js'

/** The keys that the scripts of one read-write lock share. */
export interface ReadWriteKeys {
  readonly lockName: string
  /** Hash: mode, and owner -> holds. */
  readonly lock: string
  readonly writers: string
  readonly channel: string
}

export function readWriteKeys(lockName: string, lock: string): ReadWriteKeys {
  const channel = readWriteChannel(lock)
  const writers = waitingWriters(lock)
  return { lockName, lock, writers, channel }
}

export const acquireReadScript = defineScript('read-lock/acquire', acquiredOrHeld(4))

export interface ReadAcquireArguments extends TakeArguments {
  readonly keys: ReadWriteKeys
  /** The write owner that reads besides; '' for none. */
  readonly besideOwner: string
  /** Behind writers that wait. */
  readonly standsBack: boolean
}

export function acquireRead(runner: ScriptRunner, given: ReadAcquireArguments): Promise<AcquireReply> {
  const { keys, tombstoneKey, owner, besideOwner, standsBack } = given
  const { lockName, lock, writers } = keys
  return runner.run({
    script: acquireReadScript,
    keys: [lock, tombstoneKey, writers, readTimeouts(lock, owner), noteKey(lock)],
    args: [...argvOfTake(given), besideOwner, standsBack ? '1' : '0'],
    parse: parseShared,
    granted,
    lockName,
  })
}

export const releaseReadScript = defineScript('read-lock/release', numberFrom(0, 3))

export interface ReadReleaseArguments extends HoldArguments {
  readonly keys: ReadWriteKeys
}

export function releaseRead(runner: ScriptRunner, given: ReadReleaseArguments): Promise<ReleaseReply> {
  const { keys, tombstoneKey, owner } = given
  const { lockName, lock, channel } = keys
  const strangers = otherReadersTimeouts(lock)
  return runner.run({
    script: releaseReadScript,
    keys: [lock, tombstoneKey, readTimeouts(lock, owner), strangers.before],
    args: [...argvOfRelease(given), channel, runner.announcementOn(channel), strangers.behind],
    parse: parseReleased,
    lockName,
  })
}

export const renewReadScript = defineScript('read-lock/renew', numbers(0, numberFrom(1)))

export function renewRead(runner: ScriptRunner, given: RenewArguments): Promise<RenewReply> {
  const timeouts = given.locks.map(({ key, owner }) => readTimeouts(key, owner))
  return renewBy(renewReadScript, runner, given, timeouts)
}

export const remainingReadScript = defineScript('read-lock/remaining', anyNumber)

export interface ReadRemainingArguments {
  readonly keys: ReadWriteKeys
  readonly owner: string
  readonly timeoutMs?: number | undefined
}

/** How long this reader has the lock still, ms, -1 without expiry; null: not any more. Others may have it longer, and the lock with them. */
export function remainingRead(runner: ScriptRunner, given: ReadRemainingArguments): Promise<number | null> {
  const { keys, owner, timeoutMs } = given
  const { lockName, lock } = keys
  return runner.run({
    script: remainingReadScript,
    keys: [lock, readTimeouts(lock, owner)],
    args: [owner],
    parse: parseRemaining,
    lockName,
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
}

function parseRemaining(reply: unknown): number | null {
  const ms = Number(reply)
  return ms === -2 ? null : ms
}

export const shortenReadScript = defineScript('read-lock/shorten', numberFrom(0, 2))

export function shortenRead(runner: ScriptRunner, given: ShortenArguments): Promise<ShortenReply> {
  const { key, tombstoneKey, owner } = given
  const { before, behind } = otherReadersTimeouts(key)
  const keys = [key, tombstoneKey, readTimeouts(key, owner), before]
  return shortenBy(shortenReadScript, runner, given, { keys, args: [behind] })
}

export const shortenWriteScript = defineScript('write-lock/shorten', numberFrom(0, 2))

export function shortenWrite(runner: ScriptRunner, given: ShortenArguments): Promise<ShortenReply> {
  const { key, tombstoneKey } = given
  const { before, behind } = otherReadersTimeouts(key)
  return shortenBy(shortenWriteScript, runner, given, { keys: [key, tombstoneKey, before], args: [behind] })
}

export const acquireWriteScript = defineScript('write-lock/acquire', acquiredOrHeld(4))

export interface WriteAcquireArguments extends TakeArguments {
  readonly keys: ReadWriteKeys
  /** How long readers stand back for it when it is refused, ms; 0: it does not wait. */
  readonly announceForMs: number
  readonly note?: NoteRequest | undefined
}

export function acquireWrite(runner: ScriptRunner, given: WriteAcquireArguments): Promise<AcquireReply> {
  const { keys, tombstoneKey, announceForMs, note } = given
  const { lockName, lock, writers } = keys
  return runner.run({
    script: acquireWriteScript,
    keys: [lock, tombstoneKey, writers, noteKey(lock)],
    args: [...argvOfTake(given), `${announceForMs}`, ...(note ? [wantedNote(note)] : [])],
    parse: parseShared,
    granted,
    lockName,
  })
}

export const releaseWriteScript = defineScript('write-lock/release', numberFrom(0))

export interface WriteReleaseArguments extends HoldArguments {
  readonly keys: ReadWriteKeys
  /** The hold may have a note. */
  readonly isNoted?: boolean
}

export function releaseWrite(runner: ScriptRunner, given: WriteReleaseArguments): Promise<ReleaseReply> {
  const { keys, tombstoneKey, isNoted } = given
  const { lockName, lock, writers, channel } = keys
  const strangers = otherReadersTimeouts(lock)
  return runner.run({
    script: releaseWriteScript,
    keys: [lock, tombstoneKey, writers, strangers.before, ...(isNoted ? [noteKey(lock)] : [])],
    args: [...argvOfRelease(given), channel, runner.announcementOn(channel), strangers.behind],
    parse: parseReleased,
    lockName,
  })
}

export const forceReleaseScript = defineScript('read-lock/force-release', numberFrom(-1))

export interface ReadWriteForceReleaseArguments {
  readonly keys: ReadWriteKeys
  readonly mode: 'read' | 'write'
  readonly inboxPrefix: string
  readonly named: NamedOwners
}

export function forceRelease(
  runner: ScriptRunner,
  given: ReadWriteForceReleaseArguments,
): Promise<ForceReleaseReply> {
  const { keys, mode, inboxPrefix, named } = given
  const { lockName, lock, channel } = keys
  const timeouts = otherReadersTimeouts(lock)
  const announcement = [channel, runner.announcementOn(channel), inboxPrefix]
  const args = [...announcement, mode, timeouts.behind, named.isOfCaller ? '1' : '', ...named.owners]
  return runner.run({
    script: forceReleaseScript,
    keys: [lock, timeouts.before, noteKey(lock)],
    args,
    parse: parseForced,
    lockName,
  })
}
