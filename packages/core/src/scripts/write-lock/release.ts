import type { ScriptRunner } from '../../redis/script-runner.js'
import { noteKey, strangersTimeouts } from '../../keys.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom } from '../../redis/shapes.js'
import { parseReleased, type ReleaseReply } from '../lock/release.js'
import type { ReadWriteKeys } from '../read-lock/keys.js'

export const releaseScript = defineScript('write-lock/release', numberFrom(0, 3))

export interface WriteReleaseCommand {
  readonly keys: ReadWriteKeys
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 0 gives the lock back. */
  readonly holds: number
  readonly stamp: CommandStamp
  /** The hold may have a note. */
  readonly isNoted?: boolean
}

export function release(runner: ScriptRunner, command: WriteReleaseCommand): Promise<ReleaseReply> {
  const { keys, latchKey, owner, holds, stamp, isNoted } = command
  const { lockName, lock, writers, channel } = keys
  const strangers = strangersTimeouts(lock)
  const { sequence, latchThrough } = stamp
  return runner.run({
    script: releaseScript,
    keys: [lock, latchKey, writers, strangers.before, ...(isNoted ? [noteKey(lock)] : [])],
    args: [
      ...[owner, `${holds}`, `${sequence}`, `${latchThrough}`, LATCH_TTL_MS],
      ...[channel, runner.announcementOn(channel), strangers.behind],
    ],
    parse: parseReleased,
    lockName,
  })
}
