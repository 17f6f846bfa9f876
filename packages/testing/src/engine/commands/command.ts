import { parseNumber } from '../lua/numbers.js'
import type { Keyspace, ServerClock } from '../keyspace.js'
import type { PubSub } from '../pub-sub.js'
import { notFloat, notInteger, type Reply } from '../reply.js'

/** Everything that commands work on. */
export interface Data {
  readonly keyspace: Keyspace
  readonly pubSub: PubSub
  readonly clock: ServerClock
}

export type Flag =
  /** It may change keys: refused by a replica. */
  | 'write'
  /** It may need memory: refused when there is none. */
  | 'denyoom'
  /** Answered also while data is loaded. */
  | 'loading'
  /** Not from scripts. */
  | 'noscript'

/** Where a command's keys stand among its arguments, of which the first is 0. */
export type KeysOf = (args: readonly string[]) => readonly string[]

export interface Command {
  readonly name: string
  /** Fewest arguments, without the name. */
  readonly least: number
  readonly most: number
  readonly flags: ReadonlySet<Flag>
  readonly keysOf: KeysOf
  readonly channelsOf: KeysOf
  run(args: readonly string[], data: Data): Reply
}

export const noKeys: KeysOf = () => []
export const firstKey: KeysOf = (args) => args.slice(0, 1)
export const allKeys: KeysOf = (args) => args

export interface Definition {
  /** Numbers of arguments: exactly, or from and to. */
  readonly args: number | readonly [number, number]
  readonly flags?: readonly Flag[]
  readonly keys?: KeysOf
  readonly channels?: KeysOf
}

type Run = (args: readonly string[], data: Data) => Reply

export function command(name: string, definition: Definition, run: Run): Command {
  const { args, flags = [], keys = firstKey, channels = noKeys } = definition
  const [least, most] = typeof args === 'number' ? [args, args] : args
  return { name, least, most, flags: new Set(flags), keysOf: keys, channelsOf: channels, run }
}

const WHOLE = /^(?:0|-?[1-9]\d*)$/
const MOST = 2n ** 63n - 1n

/** An integer as Redis reads it: no sign but minus, no zeros in front, 64 bits. @throws ErrorReply */
export function integer(text: string | undefined, refusal = notInteger): bigint {
  if (text === undefined || !WHOLE.test(text)) {
    throw refusal()
  }
  const value = BigInt(text)
  if (!isWithin64Bits(value)) {
    throw refusal()
  }
  return value
}

export function isWithin64Bits(value: bigint): boolean {
  return value <= MOST && value >= -MOST - 1n
}

/** An integer that is a place or a count: beyond 2^53 no list is that long. @throws ErrorReply */
export function count(text: string | undefined): number {
  return Number(integer(text))
}

/** @throws ErrorReply */
export function float(text: string | undefined, refusal = notFloat): number {
  const value = text === undefined || text === '' || /^\s|\s$/.test(text) ? undefined : parseNumber(text)
  // Numbers out of range for C: infinite without saying so, or 0 with digits that are not.
  const isBeyond =
    (!Number.isFinite(value) && !/inf/i.test(text ?? '')) || (value === 0 && /^[^e]*[1-9]/i.test(text ?? ''))
  if (value === undefined || Number.isNaN(value) || isBeyond) {
    throw refusal()
  }
  return value
}

/** The part of a list between two places as LRANGE has them: from the end when negative, both included. */
export function span(length: number, from: number, to: number): readonly [number, number] {
  const begin = Math.max(from < 0 ? length + from : from, 0)
  const end = to < 0 ? length + to : Math.min(to, length - 1)
  return begin > end ? [0, 0] : [begin, end + 1]
}
