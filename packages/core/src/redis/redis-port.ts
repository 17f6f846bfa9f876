import type { WakeSource } from '@holdfast/waiter'
import type { PublishCommand } from './announcement.js'
import type { KeyScan } from './key-scan.js'
import type { Receiver, RunBy, ScriptRun } from './script-run.js'

/**
 * What core needs from a Redis client. Only `ioredis/` and `node-redis/` know concrete clients.
 *
 * `ready`: commands are sent at once. `connecting`: they would have to wait. `ended`: the client will never connect
 * again.
 */
export type ConnectionState = 'ready' | 'connecting' | 'ended'

/** Runs scripts. */
export interface ScriptTransport {
  /**
   * Runs a script. It fails with the client's own error. Keys are sent as they are, without
   * `keyPrefix`. A command in flight when the connection breaks is sent again on the next one, so that a single try still
   * gets its reply. A port that does this itself asks first whether it is wanted.
   */
  run(run: ScriptRun, by: RunBy, receiver: Receiver): void
  /** Whether an error is Redis's own reply (the command had no effect), and not a failure of the connection. */
  isErrorReply(error: unknown): error is Error
  /** Sends everything in the callback in one write, if the port supports it. */
  inOneWrite?(send: () => void): void
  /** The slot of a key, when Redis keeps slots apart: one command's keys must share a slot. */
  readonly slotOf?: ((key: string) => number) | undefined
  /** The node of a cluster that has a key, undefined while none is known. Absent: without a cluster, or it is not told. */
  readonly nodeOf?: ((key: string) => string | undefined) | undefined
}

/** A connection reserved for writes that replicas must acknowledge. */
export interface AcknowledgedConnection {
  /** Sends ASKING: the next command is accepted although its slot is still migrating. Absent without a cluster. */
  asking?(): void
  run(run: ScriptRun, by: RunBy): Promise<unknown>
  /**
   * Resolves with the number of replicas that have all earlier writes of this connection, after `timeoutMs` at the
   * latest.
   */
  wait(replicas: number, timeoutMs: number): Promise<number>
}

/** The keys whose primary has changed; null: none. */
export type PrimaryVerdict = ((key: string) => boolean) | null
export type PrimaryListener = (verdict: PrimaryVerdict | Promise<PrimaryVerdict>) => void

export interface RedisPort extends ScriptTransport {
  readonly state: ConnectionState
  /** A hint about a connection that does not come up, for error messages: empty, or a space and a sentence. */
  readonly advice: string
  /** The connection's last error since it was last ready, as far as the client reports it. */
  readonly trouble: Error | undefined
  /** The number of its database, which Redis refuses: it is not `ready` meanwhile. */
  readonly refused?: number | string | undefined
  /** Calls the listener at every change of `state`. Returns a function that removes it. */
  onStateChange(listener: () => void): () => void
  /**
   * Increases whenever a connection breaks, before the callers of commands in flight are resumed. If it has increased
   * during a command, the command may have run although it failed, or twice, and a copy may still be on its way.
   */
  readonly connectionEpoch: number
  /**
   * Calls the listener when keys may have a new primary, whose data may be older, or missing. The verdict may take a
   * round trip; a command sent after the call is answered by the new primary in any case. Returns a function that
   * removes the listener.
   */
  onPrimary(listener: PrimaryListener): () => void
  /**
   * Calls the listener when the client loses a primary that another server may have replaced. Behind Sentinel, every
   * connection that ends may be the first sign of a fail-over. Returns a function that removes the listener. Absent:
   * the end of a connection says nothing about the primary.
   */
  onLeft?(listener: () => void): () => void
  /**
   * A command got no reply in time: its server may not be the primary any more, or its connection leads nowhere. `key`:
   * one of its keys.
   */
  unanswered?(key: string | undefined): void
  /**
   * Tells whether all that was sent so far to the node of this key has left the process: at once, or some turns of the
   * event loop later. False: it has not, or nobody can tell. Absent: nobody ever can.
   */
  whenWritten?(key: string, tell: (isWritten: boolean) => void): void
  /** The prefix that the client puts before every key; here it is part of the lock's raw name. */
  readonly keyPrefix: string

  /** The command that publishes lock messages; null until known, which is before the first `ready`. */
  readonly publishCommand: PublishCommand | null
  /**
   * The connection to the primary of the key, or to the one at `address` (`host:port`) that another node has named, which
   * says that slots move; null: none is known. Absent: the client cannot wait for replicas.
   */
  acknowledgedAt?(
    key: string,
    address?: string,
  ): AcknowledgedConnection | Promise<AcknowledgedConnection> | null
  /**
   * Asks for one section of INFO. Its answer comes before those of scripts that are sent after it.
   * @returns false: nothing is asked without a connection. Unlike reading `state`, this never opens one
   */
  info(section: string, receiver: Receiver): boolean

  /** One per node that has keys of its own. */
  scans(): readonly KeyScan[]

  /** Messages, on a connection of its own, opened with the first subscription. */
  readonly messages: WakeSource
  /**
   * Whether its connections are its own, and do not keep the process alive: the client does that while it has work.
   * Absent: the connection for commands is the caller's, and the caller decides.
   */
  readonly isUnreferenced?: boolean | undefined
  /** Closes what the port opened, and removes its listeners from the rest. */
  close(): Promise<void>
}
