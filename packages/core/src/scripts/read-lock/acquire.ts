import { noteKey, readTimeouts } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { acquiredOrHeld } from '../../redis/shapes.js'
import { granted, parseShared, type AcquireReply } from '../lock/acquire.js'
import type { ReadWriteKeys } from './keys.js'

export const acquireScript = defineScript('read-lock/acquire', acquiredOrHeld(4))

export interface ReadAcquireCommand {
  readonly keys: ReadWriteKeys
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes the lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
  /** The write owner that reads besides; '' for none. */
  readonly besideOwner: string
  /** Behind writers that wait. */
  readonly standsBack: boolean
}

export function acquire(runner: ScriptRunner, command: ReadAcquireCommand): Promise<AcquireReply> {
  const { keys, latchKey, owner, holds, leaseMs, stamp, besideOwner, standsBack } = command
  const { lockName, lock, writers } = keys
  const { sequence, latchThrough } = stamp
  return runner.run({
    script: acquireScript,
    keys: [lock, latchKey, writers, readTimeouts(lock, owner), noteKey(lock)],
    args: [
      ...[owner, `${holds}`, `${leaseMs}`, `${sequence}`, `${latchThrough}`, LATCH_TTL_MS],
      ...[besideOwner, standsBack ? '1' : '0'],
    ],
    parse: parseShared,
    granted,
    lockName,
  })
}
