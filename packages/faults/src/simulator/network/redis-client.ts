import { EventEmitter } from 'node:events'
import { Redis } from 'ioredis'
import { asClientHasIt, ErrorReply, type Reply } from '../engine.js'
import type { Process } from '../world/process.js'
import { Link } from './link.js'
import { wordsOf } from './request.js'
import type { Server } from './server.js'
import type { Fate, Wire } from './wire.js'

const CONNECT_TIMEOUT_MS = 10_000
const RETRANSMISSION_MS = 1_000
const LOADING_PAUSE_MS = 500
const CLOSED = 'Connection is closed.'

/** Where a client connects to: whichever server is the primary then. */
export interface Endpoint {
  readonly process: Process
  readonly wire: Wire
  primary(): Server
  /** Those that are to be connected. */
  readonly connections: Set<SimulatedRedis>
  /** A server has run a command of this process. */
  heard?(words: readonly string[], reply: Reply): void
}

interface Settings {
  /** @returns the pause before this attempt, ms; null: none is made */
  readonly retryStrategy: (attempt: number) => number | null
  /** Null: as many as it takes. */
  readonly maxRetriesPerRequest: number | null
}

/** Members of a command that ioredis calls, whoever has made it. */
interface SentCommand {
  readonly promise: Promise<unknown>
  toWritable(stream: unknown): string | Buffer
  resolve(reply: unknown): unknown
  reject(error: Error): void
}

/** Those of ioredis, with one pause for every attempt. */
export const USUAL: Settings = { retryStrategy: () => 30, maxRetriesPerRequest: 20 }

const METHODS = [
  ...(['evalsha', 'eval', 'info', 'scan'] as const),
  ...(['subscribe', 'unsubscribe', 'ssubscribe', 'sunsubscribe'] as const),
] as const

/**
 * What ioredis 5 and 6 do, towards the library and in the order in which they do it: states and their events, an offline
 * queue, commands in flight sent again on the next connection, a subscriber as a duplicate. Its commands are made by
 * ioredis's own methods, or by the library, and encode themselves; below is a simulated connection in place of a socket.
 */
export class SimulatedRedis extends EventEmitter {
  declare evalsha: Redis['evalsha']
  declare eval: Redis['eval']
  declare subscribe: Redis['subscribe']
  declare unsubscribe: Redis['unsubscribe']
  declare ssubscribe: Redis['ssubscribe']
  declare sunsubscribe: Redis['sunsubscribe']
  status = 'wait'
  readonly options = {}
  private link: Link | null = null
  private inFlight: SentCommand[] = []
  /** In flight when the connection broke: the same list, until there is another connection. */
  private interrupted: SentCommand[] = []
  private offline: SentCommand[] = []
  private attempts = 0
  private retry: { cancel(): void } | null = null
  private connecting: { cancel(): void } | null = null
  private isLeaving = false

  constructor(
    private readonly endpoint: Endpoint,
    private readonly settings: Settings = USUAL,
  ) {
    super()
    this.setMaxListeners(0)
    endpoint.connections.add(this)
    void this.connect()
  }

  connect(): Promise<void> {
    const { process, wire } = this.endpoint
    this.isLeaving = false
    this.become('connecting')
    this.shakeHands(process.world.nowMs + CONNECT_TIMEOUT_MS, wire.delayMs() + wire.delayMs())
    return Promise.resolve()
  }

  /** There and back, as TCP does it: what a black hole swallows is sent again, in vain up to a time. */
  private shakeHands(untilMs: number, afterMs: number): void {
    const { process, wire } = this.endpoint
    const { world } = process
    this.connecting = world.after(afterMs, () => {
      const isSilent = wire.swallowsUp || wire.swallowsDown
      if (isSilent && world.nowMs < untilMs) this.shakeHands(untilMs, RETRANSMISSION_MS)
      else process.wake('connection', () => this.connected(isSilent))
    })
  }

  /** Its connection breaks, and what was on its way has this fate. */
  breakOff(fate: Fate): void {
    this.link?.cutWith(fate)
  }

  disconnect(): void {
    this.isLeaving = true
    this.endpoint.connections.delete(this)
    this.retry?.cancel()
    if (this.status === 'reconnecting' || this.status === 'end') return
    this.connecting?.cancel()
    this.link?.leave()
    this.link = null
    this.endpoint.process.world.afterTurn(() => this.closed())
  }

  quit(): Promise<unknown> {
    this.disconnect()
    return Promise.resolve('OK')
  }

  duplicate(override: object = {}): SimulatedRedis {
    return new SimulatedRedis(this.endpoint, { ...USUAL, ...override })
  }

  sendCommand(command: never): unknown {
    const sent = command as SentCommand
    if (this.status === 'end') sent.reject(new Error(CLOSED))
    else if (this.status === 'ready') this.write(sent)
    else this.offline.push(sent)
    return sent.promise
  }

  private write(command: SentCommand): void {
    this.inFlight.push(command)
    this.link?.send(wordsOf(command.toWritable(null)))
  }

  private become(status: string, detail?: unknown): void {
    this.status = status
    process.nextTick(() => this.emit(status, detail))
  }

  private connected(isSilent: boolean): void {
    const { endpoint } = this
    const { process, wire } = endpoint
    const server = endpoint.primary()
    if (isSilent || wire.refuses || !server.isUp) {
      const error = new Error(isSilent ? 'connect ETIMEDOUT' : 'connect ECONNREFUSED')
      if (this.listenerCount('error') > 0) this.emit('error', error)
      this.closed()
      return
    }
    const link = new Link(process, server, wire, {
      replied: (reply) => this.replied(reply),
      message: (channel, payload) => this.emit('message', channel, payload),
      ran: (words, reply) => endpoint.heard?.(words, reply),
      ended: () => {
        if (this.link === link) this.closed()
      },
    })
    this.link = link
    this.inFlight = []
    this.become('connect')
    this.checkReady(link)
  }

  /** Its own question, before anybody's commands. */
  private checkReady(link: Link): void {
    const answered = (reply: unknown): void => {
      if (this.link !== link) return
      if (reply instanceof ErrorReply && reply.message.startsWith('LOADING')) {
        this.endpoint.process.runtime.setTimer(LOADING_PAUSE_MS, () => {
          if (this.link === link) this.checkReady(link)
        })
      } else {
        this.ready()
      }
    }
    const promise = Promise.resolve()
    this.write({ promise, toWritable: () => '*1\r\n$4\r\ninfo\r\n', resolve: answered, reject: answered })
  }

  private ready(): void {
    this.attempts = 0
    this.become('ready')
    for (const command of [...this.interrupted.splice(0), ...this.offline.splice(0)]) this.write(command)
  }

  private replied(reply: Reply): void {
    const command = this.inFlight.shift()
    if (!command) throw new Error('A reply to no command.')
    if (reply instanceof ErrorReply) command.reject(reply)
    else command.resolve(asClientHasIt(reply))
  }

  private closed(): void {
    if (this.status === 'end') return
    const wasReady = this.status === 'ready'
    this.link = null
    this.connecting = null
    this.become('close')
    if (wasReady) this.interrupted = this.inFlight
    this.attempts += 1
    const { settings } = this
    const pauseMs = this.isLeaving ? null : settings.retryStrategy(this.attempts)
    if (pauseMs === null) {
      this.become('end')
      this.endpoint.connections.delete(this)
      this.refuseAll(CLOSED)
      return
    }
    this.become('reconnecting', pauseMs)
    const { maxRetriesPerRequest: most } = settings
    if (most !== null && this.attempts % (most + 1) === 0) {
      this.refuseAll(`Reached the max retries per request limit (which is ${most}).`)
    }
    const { runtime } = this.endpoint.process
    this.retry = runtime.setTimer(pauseMs, () => void this.connect())
  }

  /** Before anybody has heard of the state: its event comes with the next tick. */
  private refuseAll(why: string): void {
    const refused = [...this.offline.splice(0), ...this.inFlight.splice(0)]
    refused.forEach((command) => command.reject(new Error(why)))
  }
}

// On the prototype, as ioredis has them: the library takes another way with a client whose own they are.
for (const name of METHODS) {
  const value: unknown = Reflect.get(Redis.prototype, name)
  Object.defineProperty(SimulatedRedis.prototype, name, { value, writable: true, configurable: true })
}
