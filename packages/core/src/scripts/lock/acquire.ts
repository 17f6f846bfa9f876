import type { ScriptCall } from '../../redis/script-call.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { noteKey } from '../../keys.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { acquiredOrHeld } from '../../redis/shapes.js'
import { noteIn, wantedNote, type HoldNote, type NoteRequest } from './note.js'

export const acquireScript = defineScript('lock/acquire', acquiredOrHeld(4))

export interface AcquireCommand {
  readonly lockName: string
  readonly key: string
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes a free lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
  readonly note?: NoteRequest | undefined
  /** Refused, it is to hear what is known of the hold; always where it gets a note itself, or stands in line. */
  readonly asksForNote?: boolean
}

/** Of one owner of a client in the line of those who are given the lock. */
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

/** Somebody else has it. */
export interface HeldReply {
  readonly kind: 'held'
  /** -1: a key without a time to live; -2: nobody has it, but others are to have it first. */
  readonly ttlMs: number
  /** '' when nobody has it. */
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
  const { lockName, key, latchKey, note, asksForNote } = command
  const args = argsOf(command)
  const keys = asksForNote === true || note || place ? [key, latchKey, noteKey(key)] : [key, latchKey]
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
  return [owner, `${holds}`, `${leaseMs}`, `${stamp.sequence}`, `${stamp.latchThrough}`, LATCH_TTL_MS]
}

/** See `ScriptCall.granted`; of every kind of lock. */
export function granted<R extends { readonly kind: string }>(reply: R, replicas: number): R | undefined {
  return reply.kind === 'acquired' ? { ...reply, replicas } : undefined
}

/** A number, or who has it, and what came of standing in line. */
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
