import type { WakeSource } from '@holdfast/waiter'
import type { PublishCommand } from './announcement.js'
import type { KeyScan } from './key-scan.js'

/**
 * What core needs from a Redis client. Only the files `ioredis-*.ts` and `node-redis-*.ts` beside this one know
 * a client.
 *
 * `ready`: commands go out at once. `connecting`: they would have to wait. `ended`: the client will never
 * connect again.
 */
export type ConnectionState = 'ready' | 'connecting' | 'ended'

/** What runs scripts. */
export interface ScriptTransport {
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
  /** Whether an error is Redis's own answer (the command had no effect), not a failure on the way. */
  isErrorReply(error: unknown): error is Error
  /** What `send` sends leaves the process in one write, where the port can do that. */
  inOneWrite?(send: () => void): void
  /** The slot of a key, where Redis keeps slots apart: keys of two are never in one command. */
  readonly slotOf?: ((key: string) => number) | undefined
}

/** A connection that carries what replicas have to acknowledge, and nothing else. */
export interface AcknowledgedConnection {
  /** The next command is served although its slot has not arrived yet. Absent: not of a cluster. */
  asking?(): void
  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  eval(lua: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** So many replicas have all that was sent before on this connection, at the latest when the time is over. */
  wait(replicas: number, timeoutMs: number): Promise<number>
}

/** Which keys have another primary than before; null: none. */
export type PrimaryVerdict = ((key: string) => boolean) | null
export type PrimaryListener = (verdict: PrimaryVerdict | Promise<PrimaryVerdict>) => void

export interface RedisPort extends ScriptTransport {
  readonly state: ConnectionState
  /** What may be wrong with a connection that does not come, for error messages: empty, or a space and a sentence. */
  readonly advice: string
  /** What the connection failed with since it was last ready, as far as the client tells. */
  readonly trouble: Error | undefined
  /** Calls back at every change of `state`; returns the un-listener. */
  onStateChange(listener: () => void): () => void
  /**
   * Grows whenever a connection breaks, before anybody hears of the commands that were under way. One during which
   * it grew may have run although it failed, or twice, and a copy of it may still be on its way.
   */
  readonly connectionEpoch: number
  /**
   * Calls back when keys may have another primary than before, whose data may be older, or none. Who it is may take
   * a round trip: what is sent after the call is answered by it in any case. Returns the un-listener.
   */
  onPrimary(listener: PrimaryListener): () => void
  /** A command had no answer in time: whoever should have answered may not be the primary any more. */
  unanswered?(): void
  /** Prefix that the client puts before every key; part of the lock's raw name here. */
  readonly keyPrefix: string

  /** What messages of locks are published with; null until it is known, which is before the first `ready`. */
  readonly publishCommand: PublishCommand | null
  /**
   * To the primary that has the key, or to the one at `place` (`host:port`), which another node has named; null: none is
   * known. Absent: the client cannot wait for replicas.
   */
  acknowledgedAt?(key: string, place?: string): AcknowledgedConnection | null
  /**
   * What Redis tells of itself in one section. Undefined while there is no connection: unlike a look at `state`
   * it never opens one.
   */
  info(section: string): Promise<unknown> | undefined

  /** One for each node that has keys of its own. */
  scans(): readonly KeyScan[]

  /** Messages, on one connection of its own that is opened with the first subscription. */
  readonly messages: WakeSource
  /** Closes what the port opened and lets go of the rest. */
  close(): Promise<void>
}
