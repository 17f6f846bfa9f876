import { readWriteChannel, waitingWriters, noteKey, readTimeouts, otherReadersTimeouts } from '../keys.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { acquiredOrHeld, anyNumber, numberFrom, numbers } from '../redis/shapes.js'
import {
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
import { REPLAY_GUARD_TTL_MS, type CommandStamp } from './replay-guard.js'
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

export interface ReadAcquireArguments {
  readonly keys: ReadWriteKeys
  readonly tombstoneKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes the lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
  /** The write owner that reads besides; '' for none. */
  readonly besideOwner: string
  /** Behind writers that wait. */
  readonly yieldsToWriters: boolean
}

export function acquireRead(runner: ScriptRunner, given: ReadAcquireArguments): Promise<AcquireReply> {
  const { keys, tombstoneKey, owner, holds, leaseMs, stamp, besideOwner, yieldsToWriters } = given
  const { lockName, lock, writers } = keys
  const { sequence, tombstoneThrough } = stamp
  return runner.run({
    script: acquireReadScript,
    keys: [lock, tombstoneKey, writers, readTimeouts(lock, owner), noteKey(lock)],
    args: [
      ...[owner, `${holds}`, `${leaseMs}`, `${sequence}`, `${tombstoneThrough}`, REPLAY_GUARD_TTL_MS],
      ...[besideOwner, yieldsToWriters ? '1' : '0'],
    ],
    parse: parseShared,
    granted,
    lockName,
  })
}

export const releaseReadScript = defineScript('read-lock/release', numberFrom(0, 3))

export interface ReadReleaseArguments {
  readonly keys: ReadWriteKeys
  readonly tombstoneKey: string
  readonly owner: string
  /** The hold count to have afterwards: 0 releases the lock. */
  readonly holds: number
  readonly stamp: CommandStamp
}

export function releaseRead(runner: ScriptRunner, given: ReadReleaseArguments): Promise<ReleaseReply> {
  const { keys, tombstoneKey, owner, holds, stamp } = given
  const { lockName, lock, channel } = keys
  const strangers = otherReadersTimeouts(lock)
  const { sequence, tombstoneThrough } = stamp
  return runner.run({
    script: releaseReadScript,
    keys: [lock, tombstoneKey, readTimeouts(lock, owner), strangers.before],
    args: [
      ...[owner, `${holds}`, `${sequence}`, `${tombstoneThrough}`, REPLAY_GUARD_TTL_MS],
      ...[channel, runner.announcementOn(channel), strangers.behind],
    ],
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

export interface WriteAcquireArguments {
  readonly keys: ReadWriteKeys
  readonly tombstoneKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes the lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
  /** How long readers stand back for it when it is refused, ms; 0: it does not wait. */
  readonly announceForMs: number
  readonly note?: NoteRequest | undefined
}

export function acquireWrite(runner: ScriptRunner, given: WriteAcquireArguments): Promise<AcquireReply> {
  const { keys, tombstoneKey, owner, holds, leaseMs, stamp, announceForMs, note } = given
  const { lockName, lock, writers } = keys
  const { sequence, tombstoneThrough } = stamp
  return runner.run({
    script: acquireWriteScript,
    keys: [lock, tombstoneKey, writers, noteKey(lock)],
    args: [
      ...[owner, `${holds}`, `${leaseMs}`, `${sequence}`, `${tombstoneThrough}`, REPLAY_GUARD_TTL_MS],
      `${announceForMs}`,
      ...(note ? [wantedNote(note)] : []),
    ],
    parse: parseShared,
    granted,
    lockName,
  })
}

export const releaseWriteScript = defineScript('write-lock/release', numberFrom(0))

export interface WriteReleaseArguments {
  readonly keys: ReadWriteKeys
  readonly tombstoneKey: string
  readonly owner: string
  /** The hold count to have afterwards: 0 releases the lock. */
  readonly holds: number
  readonly stamp: CommandStamp
  /** The hold may have a note. */
  readonly isNoted?: boolean
}

export function releaseWrite(runner: ScriptRunner, given: WriteReleaseArguments): Promise<ReleaseReply> {
  const { keys, tombstoneKey, owner, holds, stamp, isNoted } = given
  const { lockName, lock, writers, channel } = keys
  const strangers = otherReadersTimeouts(lock)
  const { sequence, tombstoneThrough } = stamp
  return runner.run({
    script: releaseWriteScript,
    keys: [lock, tombstoneKey, writers, strangers.before, ...(isNoted ? [noteKey(lock)] : [])],
    args: [
      ...[owner, `${holds}`, `${sequence}`, `${tombstoneThrough}`, REPLAY_GUARD_TTL_MS],
      ...[channel, runner.announcementOn(channel), strangers.behind],
    ],
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
