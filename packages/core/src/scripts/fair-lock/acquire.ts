import type { ScriptRunner } from '../../redis/script-runner.js'
import { noteKey } from '../../keys.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { acquiredOrHeld } from '../../redis/shapes.js'
import { granted, parseAcquired, type AcquireReply, type HeldReply } from '../lock/acquire.js'
import { noteIn, wantedNote, type NoteRequest } from '../lock/note.js'
import {
  callUpArguments,
  lifeIn,
  marksOf,
  type FairLine,
  type LivenessWindow,
  type SignOfLife,
} from './line.js'

export const acquireScript = defineScript('fair-lock/acquire', acquiredOrHeld(9))

export interface FairAcquireCommand {
  readonly line: FairLine
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes a free lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
  readonly alive: SignOfLife
  /** The number this owner came at; '0': none yet, '-1': it does not wait. */
  readonly arrival: string
  readonly note?: NoteRequest | undefined
}

export interface FairHeldReply extends HeldReply {
  /** '0': it does not stand in line. */
  readonly arrival: string
  /** A Java client has the lock or stands in line: it announces a release on the waiter's own channel. */
  readonly javaIsThere: boolean
  /** Of its client. */
  readonly life: LivenessWindow
}

export type FairAcquireReply = Exclude<AcquireReply, HeldReply> | FairHeldReply

export function acquire(runner: ScriptRunner, command: FairAcquireCommand): Promise<FairAcquireReply> {
  const { line, latchKey, owner, holds, leaseMs, stamp, alive, arrival, note } = command
  const args = [
    owner,
    `${holds}`,
    `${leaseMs}`,
    `${stamp.sequence}`,
    `${stamp.latchThrough}`,
    LATCH_TTL_MS,
    alive.clientId,
    `${alive.aliveForMs}`,
    line.patience,
    arrival,
    ...callUpArguments(runner, line),
    marksOf(alive),
    ...(note ? [wantedNote(note)] : []),
  ]
  const { lockName } = line
  const keys = [...line.keys, latchKey, noteKey(line.keys[0] ?? '')]
  return runner.run({ script: acquireScript, keys, args, parse, granted, lockName })
}

type Answer = [unknown, string, ...unknown[]]

function parse(reply: unknown): FairAcquireReply {
  if (!Array.isArray(reply)) {
    return parseAcquired(reply)
  }
  const [ttlMs, holder, holds, arrival, place, javaWaiters, since, until, leftMs, ...note] = reply as Answer
  const waits = Number(arrival) > 0 ? true : undefined
  return {
    kind: 'held',
    ttlMs: Number(ttlMs),
    holder,
    holds: Number(holds),
    arrival: String(arrival),
    waits,
    place: waits ? Number(place) : undefined,
    javaIsThere: Number(javaWaiters) > 0 || isJava(holder),
    life: lifeIn([since, until, leftMs]),
    note: noteIn(note),
  }
}

/** Client ids of Redisson are UUIDs; ours have the random part behind a `~`. */
export function isJava(owner: string): boolean {
  return owner !== '' && !owner.includes('~')
}
