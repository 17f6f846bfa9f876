import type { ScriptRunner } from '../../redis/script-runner.js'
import { fairQueueKeys, INBOX_PREFIX, PROTOCOL, unlockChannel } from '../../keys.js'

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
  /** What proves a message that one of its waiters was given a lock, in hexadecimal. Nobody learns it who cannot read. */
  readonly nonce: string
  /** How long the client counts as alive without another heartbeat, ms. */
  readonly aliveForMs: number
  /** Whether it listens to its inbox, as this very server confirmed: where nobody does any more, it is gone. */
  readonly hears: boolean
  /** Whether it uses a lock that its waiter is given; else the waiter is told to try. */
  readonly takesGrants: boolean
  /** Whether it passes what its waiter is given on to those of its own that stand directly behind. */
  readonly passesOn: boolean
}

/** What Redis made of it. */
export interface LivenessWindow {
  /** Since when the client has lived without a gap: in one, others may have taken its waiters out of the line. */
  readonly since: string
  /** Until when it counts as alive, ms of Redis. */
  readonly until: number
  /** How long that was when Redis said so, ms. */
  readonly leftMs: number
}

/** From an answer. */
export function lifeIn([since, until, leftMs]: readonly unknown[]): LivenessWindow {
  return { since: String(since), until: Number(until), leftMs: Number(leftMs) }
}

/** The same as marks in Redis. */
export function marksOf({ hears, takesGrants, passesOn, nonce }: SignOfLife): string {
  return `${takesGrants ? 'g' : ''}${takesGrants && passesOn ? 'p' : ''}${hears ? 'h' : ''}${PROTOCOL}:${nonce}`
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
