import { EventEmitter } from 'node:events'
import type { Runtime } from '../../runtime/runtime.js'
import { Listeners } from '../listeners.js'
import { reconnectPause } from '../message-links.js'
import type { SuspectConnection } from '../silent-connections.js'
import { duplicateForOnce, OwnNodeRedis, type NodeRedisClient } from './client.js'
import type { Carrier } from './port.js'
import type { Origin } from './origins.js'
import type { NodeAddress } from './several.js'

const REPLICA = /^role:slave\r?$/m
const MASTER_HOST = /^master_host:(\S+)/m
const MASTER_PORT = /^master_port:(\d+)/m

/**
 * A connection of our own in place of a client of several connections: a pool, or one that follows a primary. A lost
 * connection is replaced by another one, to where the origin says then. It looks to the port like a client of one
 * connection, which connects again by itself.
 */
export class OwnCarrier extends EventEmitter implements Carrier, SuspectConnection {
  /** How often it has been ready. */
  socketEpoch = 0
  private own: OwnNodeRedis | null = null
  private model: NodeRedisClient | null = null
  /** Where `own` leads, or did last; undefined: where the model does. */
  private address: NodeAddress | undefined
  /** A replica's view of its primary: known before node-redis asks a Sentinel again, which may take seconds. */
  private hint: NodeAddress | null = null
  private ready = false
  private dialing = false
  private closed = false
  private failures = 0
  private retry: { cancel(): void } | null = null
  private readonly left = new Listeners()
  private readonly moved = new Listeners()
  private readonly stopWatching: () => void

  constructor(
    private readonly runtime: Runtime,
    private readonly origin: Origin,
  ) {
    super()
    // Node throws for an 'error' without a listener; ports use `errorMonitor`.
    this.on('error', () => undefined)
    this.stopWatching = origin.watch({
      moved: this.leave,
      changed: () => {
        this.dialNow()
        this.emit('connect')
      },
      trouble: (error) => (this.own ? undefined : this.emit('error', error)),
    })
    void this.dial()
  }

  get isOpen(): boolean {
    return this.origin.isOpen
  }

  get isReady(): boolean {
    return this.ready
  }

  get isConnected(): boolean {
    return this.own?.isConnected === true
  }

  get socket(): unknown {
    return this.own
  }

  ping(): Promise<unknown> {
    return this.own?.ping() ?? Promise.resolve()
  }

  /** The connection leads nowhere: another takes its place. */
  drop(): void {
    if (this.own) {
      this.lost(this.own.client, new Error('The connection is half-open: the server answers others.'))
    }
  }

  get options(): object | undefined {
    const { model, address } = this
    const { socket } = (model?.options ?? {}) as { readonly socket?: object }
    // A URL would be preferred to the address.
    return address ? { ...model?.options, url: undefined, socket: { ...socket, ...address } } : model?.options
  }

  duplicate(overrides: object): NodeRedisClient | null {
    const { model, address, origin } = this
    if (!model || (origin.isMoving && !address)) {
      return null
    }
    return model.duplicate(address ? { url: undefined, ...overrides } : overrides)
  }

  sendCommand(args: string[], options?: object): Promise<unknown> {
    return this.own && this.ready
      ? this.own.client.sendCommand(args, options)
      : Promise.reject(new Error('There is no connection.'))
  }

  /** The server has answered that it is a replica. */
  demoted(): void {
    const { own, origin } = this
    if (own && this.ready && origin.isMoving) {
      void this.check(own.client)
    }
  }

  /** The connection follows a primary, so each end may be the first sign of a fail-over. */
  onLeft(listener: () => void): () => void {
    return this.left.add(listener)
  }

  onMoved(listener: () => void): () => void {
    return this.moved.add(listener)
  }

  end(): void {
    this.closed = true
    this.ready = false
    this.retry?.cancel()
    this.stopWatching()
    this.left.clear()
    this.moved.clear()
    this.own?.end()
    this.own = null
    this.removeAllListeners()
    this.on('error', () => undefined)
  }

  /** The origin says that the primary is, or may be, elsewhere. */
  private readonly leave = (why: string, named: string): void => {
    const { own, hint } = this
    this.hint = null
    if (own && hint && named === `${hint.host}:${hint.port}`) {
      // A replica has said so before.
      return
    }
    this.address = undefined
    this.failures = 0
    if (own) {
      this.lost(own.client, new Error(why))
      this.moved.tell()
    } else {
      this.dialNow()
    }
  }

  private dialNow(): void {
    if (!this.own && !this.dialing && !this.closed) {
      this.retry?.cancel()
      void this.dial()
    }
  }

  private async dial(): Promise<void> {
    this.retry = null
    this.dialing = true
    this.model ??= this.origin.isOpen ? await this.origin.template() : null
    this.dialing = false
    // Not known now: it may be where it was.
    this.address = this.hint ?? this.origin.address() ?? this.address
    const client = this.origin.isOpen && !this.closed ? duplicateForOnce(this) : null
    if (client) {
      client.on('ready', () => void this.check(client))
      client.on('error', (error: unknown) => this.lost(client, error))
      client.on('end', () => this.lost(client, new Error('The connection was closed.')))
      this.own = new OwnNodeRedis(client)
    } else {
      this.dialLater()
    }
  }

  private dialLater(): void {
    if (!this.closed) {
      this.failures += 1
      const pauseMs = reconnectPause(this.failures, this.runtime.random())
      this.retry = this.runtime.setTimer(pauseMs, () => void this.dial())
    }
  }

  /** A former primary that has become a replica accepts connections all the same. */
  private async check(client: NodeRedisClient): Promise<void> {
    const replication = this.origin.isMoving ? await replicationOf(client) : ''
    if (this.own?.client !== client) {
      return
    }
    if (REPLICA.test(replication)) {
      const [, host] = MASTER_HOST.exec(replication) ?? []
      const [, port] = MASTER_PORT.exec(replication) ?? []
      // Once: replicas may name each other.
      const wasHint = this.hint !== null
      this.lost(client, new Error('The server is a replica.'))
      this.moved.tell()
      if (host !== undefined && !wasHint) {
        this.hint = { host, port: Number(port) }
        this.dialNow()
      }
    } else if (!this.ready) {
      this.failures = 0
      this.ready = true
      this.socketEpoch += 1
      this.emit('ready')
    }
  }

  /** node-redis reports the error before it rejects what is in flight. One failure may emit several errors. */
  private lost(client: NodeRedisClient, error: unknown): void {
    const { own } = this
    if (own?.client !== client) {
      return
    }
    const wasReady = this.ready
    this.own = null
    // It has led nowhere, or not for long.
    this.hint = null
    this.ready = false
    if (wasReady && this.origin.isMoving) {
      this.left.tell()
    }
    this.emit('error', error)
    own.end()
    this.dialLater()
  }
}

/** Where the user may not ask (ACL), the scripts are refused by a replica. */
async function replicationOf(client: NodeRedisClient): Promise<string> {
  const asked = client.sendCommand(['INFO', 'replication'])
  // A connection that has ended meanwhile reports that itself.
  return String(await asked.catch(() => ''))
}
