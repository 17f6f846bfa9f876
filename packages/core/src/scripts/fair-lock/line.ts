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

/** What a client says of itself in the line of its waiters. */
export interface SignOfLife {
  readonly clientId: string
  /** How long the client counts as alive without another heartbeat, ms. */
  readonly aliveForMs: number
  /** Whether it uses a lock that its waiter is given; else the waiter is told to try. */
  readonly takesGrants: boolean
}

/** The same as a mark in Redis. */
export function markOf({ takesGrants }: SignOfLife): string {
  return takesGrants ? 'g' : ''
}

export function fairLine(lockName: string, key: string, patienceMs: number): FairLine {
  return {
    lockName,
    keys: [key, ...fairQueueKeys(key)],
    patience: `${Math.ceil(patienceMs)}`,
    channels: [INBOX_PREFIX, unlockChannel(key)],
  }
}

/** What a script needs to call up whoever is next. */
export function callUpArguments(runner: ScriptRunner, { channels }: FairLine): string[] {
  return [...channels, runner.announcementOn(channels[1])]
}
