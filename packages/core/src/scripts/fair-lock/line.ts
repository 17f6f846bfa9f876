import type { ScriptRunner } from '../../redis/script-runner.js'
import { fairQueueKeys, INBOX_PREFIX, unlockChannel } from '../../keys.js'

/** What the scripts of one fair lock share. Durations in milliseconds. */
export interface FairLine {
  readonly lockName: string
  /** The lock hash, and the keys of the line. */
  readonly keys: readonly string[]
  /** What Redisson gives each waiter. */
  readonly patience: string
  /** Where whoever is next is told: prefix of our inboxes, Redisson's channel. */
  readonly channels: readonly [string, string]
}

export function fairLine(lockName: string, key: string, patienceMs: number): FairLine {
  return {
    lockName,
    keys: [key, ...fairQueueKeys(key)],
    patience: `${Math.ceil(patienceMs)}`,
    channels: [INBOX_PREFIX, unlockChannel(key)],
  }
}

/** The same with the command for Redisson's channel. */
export function channelsOf(runner: ScriptRunner, { channels }: FairLine): string[] {
  return [...channels, runner.announcementOn(channels[1])]
}
