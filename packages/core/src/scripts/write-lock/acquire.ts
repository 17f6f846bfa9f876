import type { ScriptRunner } from '../../redis/script-runner.js'
import { noteKey } from '../../keys.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { acquiredOrHeld } from '../../redis/shapes.js'
import { granted, parseShared, type AcquireReply } from '../lock/acquire.js'
import { wantedNote, type NoteRequest } from '../lock/note.js'
import type { ReadWriteKeys } from '../read-lock/keys.js'

export const acquireScript = defineScript('write-lock/acquire', acquiredOrHeld(4))

export interface WriteAcquireCommand {
  readonly keys: ReadWriteKeys
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes the lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
  /** How long readers stand back for it when it is refused, ms; 0: it does not wait. */
  readonly announceForMs: number
  readonly note?: NoteRequest | undefined
}

export function acquire(runner: ScriptRunner, command: WriteAcquireCommand): Promise<AcquireReply> {
  const { keys, latchKey, owner, holds, leaseMs, stamp, announceForMs, note } = command
  const { lockName, lock, writers } = keys
  const { sequence, latchThrough } = stamp
  return runner.run({
    script: acquireScript,
    keys: [lock, latchKey, writers, noteKey(lock)],
    args: [
      ...[owner, `${holds}`, `${leaseMs}`, `${sequence}`, `${latchThrough}`, LATCH_TTL_MS],
      `${announceForMs}`,
      ...(note ? [wantedNote(note)] : []),
    ],
    parse: parseShared,
    granted,
    lockName,
  })
}
