import type { ScriptCall } from '../../redis/script-call.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { INBOX_PREFIX, noteKey } from '../../keys.js'
import { LATCH_TTL_MS, type CommandStamp } from '../replay-guard.js'
import { defineScript } from '../../redis/script.js'
import { anyNumber } from '../../redis/shapes.js'

export const releaseScript = defineScript('lock/release', anyNumber)

export interface ReleaseCommand {
  readonly lockName: string
  readonly key: string
  readonly latchKey: string
  /** Where it is announced; null: nowhere. */
  readonly channel: string | null
  readonly owner: string
  /** The hold count to have afterwards: 0 gives the lock back. */
  readonly holds: number
  readonly stamp: CommandStamp
  /** The hold may have a note. */
  readonly isNoted?: boolean
  /** The line of those who are given the lock. */
  readonly lineKey: string
  /** Connections of this client that hear of the release and stand not in line. Absent: nobody is given the lock. */
  readonly unseated?: number | undefined
  /** Who waits and is not told otherwise stands in line: while nobody does, nothing is announced. */
  readonly tellsLineAlone?: boolean
}

export interface ReleaseReply {
  readonly kind: 'released' | 'still-held' | 'superseded' | 'not-held'
  /** Connections to that server that listened to the unlock channel, where that is known. */
  readonly heardBy?: number
  /** Somebody who waited has it now, for so long without a word of its own, ms; not everybody was told. */
  readonly givenForMs?: number
}

const RELEASED_UNHEARD: ReleaseReply = { kind: 'released', heardBy: 0 }

const REPLIES: readonly ReleaseReply[] = [
  { kind: 'not-held' },
  { kind: 'released' },
  { kind: 'still-held' },
  { kind: 'superseded' },
]

export function releaseCall(
  runner: Pick<ScriptRunner, 'announcementOn'>,
  command: ReleaseCommand,
): ScriptCall<ReleaseReply> {
  const {
    lockName,
    key,
    latchKey,
    channel,
    owner,
    holds,
    stamp,
    isNoted,
    lineKey,
    unseated,
    tellsLineAlone,
  } = command
  const args = [
    owner,
    `${holds}`,
    `${stamp.sequence}`,
    `${stamp.latchThrough}`,
    LATCH_TTL_MS,
    channel ?? '',
    channel === null ? '' : runner.announcementOn(channel),
    unseated === undefined ? '' : `${unseated}`,
    INBOX_PREFIX,
  ]
  if (tellsLineAlone === true) {
    args.push('1')
  }
  const keys = [key, lineKey]
  // Most releases have neither: what is not named costs nothing.
  if (holds > 0 || stamp.latchThrough > 0 || isNoted === true) {
    keys.push(latchKey)
  }
  if (isNoted === true) {
    keys.push(noteKey(key))
  }
  return { script: releaseScript, keys, args, parse: parseReleased, lockName }
}

export function parseReleased(reply: unknown): ReleaseReply {
  const number = Number(reply)
  if (number < 0) {
    return { kind: 'released', givenForMs: -number }
  }
  if (number <= REPLIES.length) {
    return number === REPLIES.length ? RELEASED_UNHEARD : (REPLIES[number] as ReleaseReply)
  }
  return { kind: 'released', heardBy: number - REPLIES.length }
}
