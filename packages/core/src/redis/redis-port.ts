import type { WakeSource } from '@holdfast/waiter'

/**
 * What core needs from a Redis client. Only the files `ioredis-*.ts` and `node-redis-*.ts` beside this one know
 * a client.
 *
 * `ready`: commands go out at once. `connecting`: they would have to wait. `ended`: the client will never
 * connect again.
 */
export type ConnectionState = 'ready' | 'connecting' | 'ended'

export interface RedisPort {
  readonly state: ConnectionState
  /** What may be wrong with a connection that does not come, for error messages: empty, or a space and a sentence. */
  readonly advice: string
  /** Calls back at every change of `state`; returns the un-listener. */
  onStateChange(listener: () => void): () => void
  /**
   * Grows whenever a connection breaks, before anybody hears of the commands that were under way. One during which
   * it grew may have run although it failed, or twice, and a copy of it may still be on its way.
   */
  readonly connectionEpoch: number
  /** Prefix that the client puts before every key; part of the lock's raw name here. */
  readonly keyPrefix: string

  /**
   * By digest. Rejects with the client's own error. Keys go out as they are, without `keyPrefix`. What was in flight
   * when the connection broke is sent again on the next one: a single try gets its answer then. Where that is up to
   * the port it asks `isWanted` first.
   */
  evalsha(
    sha1: string,
    keys: readonly string[],
    args: readonly string[],
    isWanted: () => boolean,
  ): Promise<unknown>
  /** By text. */
  eval(
    lua: string,
    keys: readonly string[],
    args: readonly string[],
    isWanted: () => boolean,
  ): Promise<unknown>
  /**
   * What Redis tells of itself in one section. Undefined while there is no connection: unlike a look at `state`
   * it never opens one.
   */
  info(section: string): Promise<unknown> | undefined
  /** Whether an error is Redis's own answer (the command had no effect), not a failure on the way. */
  isErrorReply(error: unknown): error is Error

  /** Messages, on one connection of its own that is opened with the first subscription. */
  readonly messages: WakeSource
  /** Closes what the port opened and lets go of the rest. */
  close(): Promise<void>
}
