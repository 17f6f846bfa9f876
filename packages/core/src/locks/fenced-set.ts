import { InvalidArgumentError } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import type { IoredisScripting } from '../redis/ioredis/client.js'
import type { NodeRedisScripting } from '../redis/node-redis/client.js'
import { systemRuntime } from '../runtime/runtime.js'
import { scriptingOf } from '../redis/scripting.js'
import { withoutScripting } from '../redis/unusable-client.js'
import { setFenced } from '../scripts/fenced-value.js'
import { checkInteger, checkOptions } from '../arguments/validate.js'

/** One write under a fenced lock. */
export interface FencedWrite {
  /** The key. The client's own `keyPrefix`, if any, is put before it, as before any key. */
  readonly key: string
  /** `hold.token`. */
  readonly token: string
  readonly value: string
  /** Lifetime, in ms, of the value and of the record of its tokens. Default: none, as with SET. */
  readonly pxMs?: number | undefined
}

const FENCED_WRITE: KnownKeys<FencedWrite> = { key: true, token: true, value: true, pxMs: true }

/** The result of `fencedSet`. */
export interface FencedWriteResult {
  /** False: a larger token has written already, and nothing was changed. */
  readonly accepted: boolean
  /** The largest token accepted so far, this one included. */
  readonly highestToken: string
}

// Writer and sequence number tell a late copy of a write from its successors; one process is one writer.
// It belongs to no client, so no injected runtime can make its id.
const writer = systemRuntime.id()
let writes = 0

/**
 * Writes a value in Redis unless a larger fencing token has written it: the holder of a fenced lock uses this instead
 * of SET. A holder that has lost the lock is rejected once the next holder has written. The same token may write
 * repeatedly; its writes count in call order, even if a copy of one arrives late.
 *
 * Value and token are kept in one hash at the key: read it with `HGET key value`, delete it with `DEL`.
 * @param redis an ioredis client or Cluster, or any node-redis client; not necessarily the one the locks use
 * @throws InvalidArgumentError; otherwise the client's own error, as when the key has another type (WRONGTYPE)
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
