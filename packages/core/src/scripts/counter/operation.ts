import { LATCH_TTL_MS } from '../replay-guard.js'

/**
 * What makes a command count once: the number of its operation among those of its client, and the floor, up to
 * which all of them are over. In Redis what came of each is kept at `key` until its client has the answer.
 */
export interface OperationStamp {
  readonly key: string
  readonly number: number
  readonly floor: number
}

/** A command on one counter. */
export interface CounterCommand {
  readonly lockName: string
  readonly key: string
  readonly stamp: OperationStamp
}

/** A command that tells waiters. */
export interface AnnouncedCommand extends CounterCommand {
  readonly channel: string
}

/** KEYS and the first ARGV of every script that counts once. */
export function keysOf({ key, stamp }: CounterCommand): string[] {
  return [key, stamp.key]
}

export function stampOf({ stamp }: CounterCommand): string[] {
  return [`${stamp.number}`, `${stamp.floor}`, LATCH_TTL_MS]
}
