import { nanoid } from 'nanoid'
import { InvalidArgumentError } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import type { IoredisScripting } from '../redis/ioredis/client.js'
import type { NodeRedisScripting } from '../redis/node-redis/client.js'
import { scriptingOf } from '../redis/scripting.js'
import { withoutScripting } from '../redis/unusable-client.js'
import { setFenced } from '../scripts/fenced-value.js'
import { checkInteger, checkOptions } from '../arguments/validate.js'

/** One write under a fenced lock. */
export interface FencedWrite {
  /** The client's own `keyPrefix`, if it has one, is put before it as before any key. */
  readonly key: string
  /** `hold.token`. */
  readonly token: string
  readonly value: string
  /** Lifetime of the value, and of what is known of its tokens, in ms. Left out: no end, as with SET. */
  readonly pxMs?: number | undefined
}

const FENCED_WRITE: KnownKeys<FencedWrite> = { key: true, token: true, value: true, pxMs: true }

export interface FencedWriteResult {
  /** False: somebody with a larger token has written, and nothing was changed. */
  readonly accepted: boolean
  /** The largest token that was accepted, this one included. */
  readonly highestToken: string
}

// Copies of a write are told from its successors by who wrote and in which order; one process is one writer.
const writer = nanoid()
let writes = 0

/**
 * Writes a value in Redis unless somebody with a larger fencing token has written it: what the holder of a fenced
 * lock uses instead of SET. Whoever lost the lock meanwhile is refused once the next holder has written. The same
 * token may write often; its writes count in the order of the calls, also when a copy of one arrives late.
 *
 * Value and token are kept in one hash at the key: read it with `HGET key value`, delete it with `DEL`.
 * @param redis an ioredis client or Cluster, or any of node-redis's clients; not necessarily the one that the locks are on
 * @throws InvalidArgumentError; else the client's own error, as when the key is something else (WRONGTYPE)
 */
export async function fencedSet(
  redis: IoredisScripting | NodeRedisScripting,
  write: FencedWrite,
): Promise<FencedWriteResult> {
  const rule = withoutScripting(redis)
  const scripting = rule === null ? scriptingOf(redis) : null
  if (!scripting) {
    throw new InvalidArgumentError('redis', redis, rule ?? 'a client or Cluster of ioredis or node-redis')
  }
  checkOptions('write', write, FENCED_WRITE)
  const { key, token, value, pxMs } = write
  checkText('key', key, /[^]/, 'a non-empty string')
  checkText('token', token, /^(0|[1-9]\d*)$/, 'a decimal number as text, such as hold.token')
  checkText('value', value, /^/, 'a string')
  if (pxMs !== undefined) {
    checkInteger('pxMs', pxMs, 1)
  }
  writes += 1
  return setFenced(scripting, { key, token, value, ttlMs: pxMs, writer, sequence: writes })
}

function checkText(argument: string, text: unknown, form: RegExp, rule: string): void {
  if (typeof text !== 'string' || !form.test(text)) {
    throw new InvalidArgumentError(argument, text, rule)
  }
}
