import type { ScriptRunner } from '../../redis/script-runner.js'
import { noteKey } from '../../keys.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { releasedOrGiven } from '../../redis/shapes.js'
import { parseReleased, type ReleaseReply } from '../lock/release.js'
import { callUpArguments, type FairLine } from './line.js'

export const releaseScript = defineScript('fair-lock/release', releasedOrGiven)

export interface FairReleaseCommand {
  readonly line: FairLine
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 0 gives the lock back, and the place in line. */
  readonly holds: number
  readonly stamp: CommandStamp
  /** Waiters that it was passed on to and that Redis has in line. */
  readonly passedTo: readonly string[]
  /** The hold may have a note. */
  readonly isNoted?: boolean
}

export function release(runner: ScriptRunner, command: FairReleaseCommand): Promise<ReleaseReply> {
  const { line, latchKey, owner, holds, stamp, passedTo, isNoted } = command
  const { sequence, latchThrough } = stamp
  const args = [
    owner,
    `${holds}`,
    `${sequence}`,
    `${latchThrough}`,
    LATCH_TTL_MS,
    line.patience,
    ...callUpArguments(runner, line),
    ...passedTo,
  ]
  const keys = [...line.keys, latchKey, ...(isNoted ? [noteKey(line.keys[0] ?? '')] : [])]
  return runner.run({ script: releaseScript, keys, args, parse: parseReleased, lockName: line.lockName })
}
