import type { ScriptRunner } from '../redis/script-runner.js'
import type { Script } from '../redis/script.js'
import { REPLY_MEANINGS } from './reply-meanings.js'
import { argvOfStamp, type CommandStamp } from './replay-guard.js'

/** Makes the lease of an owner end sooner; the same for each kind of lock, whose scripts differ. */
export interface ShortenArguments {
  readonly lockName: string
  readonly key: string
  readonly tombstoneKey: string
  readonly owner: string
  /** Null: shortens nothing, and only refuses late copies of commands that would. */
  readonly leaseMs: number | null
  readonly stamp: CommandStamp
}

/** `superseded`: a late copy. */
export type ShortenReply = (typeof REPLY_MEANINGS.shorten)[number]

/** @param more KEYS in all, and ARGV after those of every kind of lock */
export function shortenBy(
  script: Script,
  runner: ScriptRunner,
  { lockName, owner, leaseMs, stamp }: ShortenArguments,
  more: { readonly keys: string[]; readonly args: readonly string[] },
): Promise<ShortenReply> {
  const lease = leaseMs === null ? '' : `${leaseMs}`
  const args = [owner, lease, ...argvOfStamp(stamp), ...more.args]
  const parse = (reply: unknown): ShortenReply => REPLY_MEANINGS.shorten[Number(reply)] ?? 'lost'
  return runner.run({ script, keys: more.keys, args, parse, lockName })
}
