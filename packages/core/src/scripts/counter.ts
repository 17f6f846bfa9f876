import type { ScriptCall } from '../redis/script-call.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce, anyNumber } from '../redis/shapes.js'
import { REPLAY_GUARD_TTL_MS } from './replay-guard.js'

/**
 * Makes a command count once: the number of its operation among those of its client, and the floor, up to
 * which all of them are over. Redis keeps the outcome of each at `key` until its client has the answer.
 */
export interface OperationStamp {
  readonly key: string
  readonly number: number
  readonly floor: number
}

/** A command on one counter. */
export interface CounterArguments {
  readonly lockName: string
  readonly key: string
  readonly stamp: OperationStamp
}

/** A command that tells waiters. */
export interface AnnouncedArguments extends CounterArguments {
  readonly channel: string
}

/** KEYS and ARGV of a script that counts once: what all of them are given comes first. */
export function onCounter(
  { lockName, key, stamp }: CounterArguments,
  ...args: readonly string[]
): Pick<ScriptCall, 'lockName' | 'keys' | 'args'> {
  return { lockName, keys: [key, stamp.key], args: [...stampOf(stamp), ...args] }
}

export function stampOf({ number, floor }: OperationStamp): string[] {
  return [`${number}`, `${floor}`, REPLAY_GUARD_TTL_MS]
}

/** ARGV by which a script tells waiters. */
export function announcing(
  runner: ScriptRunner,
  { channel }: Pick<AnnouncedArguments, 'channel'>,
): readonly string[] {
  return [channel, runner.announcementOn(channel)]
}

/** Parses the reply of a command that answers 1 where it had its effect, and 0 or -1 where not. */
export function wasDone(reply: unknown): boolean {
  return Number(reply) === 1
}

export const trySetScript = defineScript('counter/try-set', countedOnce)

export interface TrySetArguments extends AnnouncedArguments {
  readonly value: number
  /** undefined: no end. */
  readonly ttlMs: number | undefined
  readonly message: string
}

/** False: there was a counter already. */
export function trySet(runner: ScriptRunner, given: TrySetArguments): Promise<boolean> {
  const { value, ttlMs = 0, message } = given
  const call = onCounter(given, `${value}`, `${ttlMs}`, ...announcing(runner, given), message)
  return runner.run({ script: trySetScript, ...call, parse: wasDone })
}

export const getCounterScript = defineScript('counter/get', anyNumber)

export interface GetCounterArguments {
  readonly lockName: string
  readonly key: string
  readonly operationsKey: string
}

/** 0 when there is none. */
export function getCounter(runner: ScriptRunner, given: GetCounterArguments): Promise<number> {
  const { lockName, key, operationsKey } = given
  const keys = [key, operationsKey]
  return runner.run({ script: getCounterScript, keys, args: [], parse: Number, lockName })
}

export const cancelScript = defineScript('counter/cancel', anyNumber)

export interface CancelArguments extends AnnouncedArguments {
  /** How much is released for each 1 of the operation's outcome; 0: nothing. */
  readonly unit: number
}

/** How much was released. */
export function cancel(runner: ScriptRunner, given: CancelArguments): Promise<number> {
  const call = onCounter(given, `${given.unit}`, ...announcing(runner, given))
  return runner.run({ script: cancelScript, ...call, parse: Number })
}
