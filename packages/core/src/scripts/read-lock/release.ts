import { readTimeouts, strangersTimeouts } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom } from '../../redis/shapes.js'
import { parseReleased, type ReleaseReply } from '../lock/release.js'
import type { ReadWriteKeys } from './keys.js'

export const releaseScript = defineScript('read-lock/release', numberFrom(0, 3))

export interface ReadReleaseCommand {
  readonly keys: ReadWriteKeys
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 0 gives the lock back. */
  readonly holds: number
  readonly stamp: CommandStamp
}

export function release(runner: ScriptRunner, command: ReadReleaseCommand): Promise<ReleaseReply> {
  const { keys, latchKey, owner, holds, stamp } = command
  const { lockName, lock, channel } = keys
  const strangers = strangersTimeouts(lock)
  const { sequence, latchThrough } = stamp
  return runner.run({
    script: releaseScript,
    keys: [lock, latchKey, readTimeouts(lock, owner), strangers.before],
    args: [
      ...[owner, `${holds}`, `${sequence}`, `${latchThrough}`, LATCH_TTL_MS],
      ...[channel, runner.announcementOn(channel), strangers.behind],
    ],
    parse: parseReleased,
    lockName,
  })
}
