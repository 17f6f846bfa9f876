import type { Connection } from '../engine/connection.js'
import { fromBytes, toBytes } from '../engine/bytes.js'
import { ErrorReply, Status, type Reply } from '../engine/reply.js'
import type { ChannelKind } from '../engine/pub-sub.js'
import type { Failure } from '../failures.js'
import type { Runtime } from '@holdfast/core'

/** The server at the other end. */
export interface Server {
  readonly isUp: boolean
  /** Changes when its data are no longer those from before. */
  readonly runId: string
  connect(onMessage: (kind: ChannelKind, channel: string, payload: string) => void): Connection
  failureOf(words: readonly string[]): Failure | null
  /** Calls back whenever it goes down or comes up. Returns the un-listener. */
  onChange(listener: () => void): () => void
}

export interface LineEvents {
  /** There is a connection, or there is none any more. */
  changed(): void
  message(channel: string, payload: string): void
}

/** Who is told what became of a command. */
export interface Receiver {
  isWanted(): boolean
  answered(reply: unknown): void
  failed(error: unknown): void
}

/** A command on its way. */
interface Sent {
  readonly words: readonly string[]
  readonly receiver: Receiver
}

/**
 * One connection to the server. A command arrives after the turn in which it was sent, and so does its answer, in the
 * order in which they were sent. What a break interrupts is sent again on the next connection, as long as it is wanted.
 */
export class Line {
  /** How many times the connection has broken. */
  breaks = 0
  private connection: Connection | null = null
  private sent: Sent[] = []
  private readonly interrupted: Sent[] = []
  private isScheduled = false
  private closed = false
  private readonly stopListening: () => void

  constructor(
    private readonly runtime: Runtime,
    private readonly server: Server,
    private readonly events: LineEvents,
  ) {
    this.stopListening = server.onChange(() => (server.isUp ? this.open() : this.break()))
    if (server.isUp) {
      this.connection = this.connected()
    }
  }

  get isOpen(): boolean {
    return this.connection !== null
  }

  /** Rejects with an ErrorReply when Redis refuses, and otherwise when the connection has ended. */
  command(words: readonly string[], isWanted: () => boolean = () => true): Promise<unknown> {
    return new Promise((answered, failed) => this.send(words, { isWanted, answered, failed }))
  }

  /** The same, told where the reply arrives. */
  send(words: readonly string[], receiver: Receiver): void {
    const sent = { words: words.map(toBytes), receiver }
    if (this.connection) {
      this.sent.push(sent)
      this.schedule()
    } else {
      this.refuse(sent)
    }
  }

  close(): void {
    this.closed = true
    this.stopListening()
    this.connection?.close()
    this.connection = null
    const open = [...this.sent, ...this.interrupted]
    this.sent = []
    this.interrupted.length = 0
    open.forEach((each) => this.refuse(each))
  }

  private connected(): Connection {
    return this.server.connect((_, channel, payload) => {
      const connection = this.connection
      this.runtime.afterTurn(() => {
        if (this.connection === connection) {
          this.events.message(fromBytes(channel), fromBytes(payload))
        }
      })
    })
  }

  private schedule(): void {
    if (!this.isScheduled) {
      this.isScheduled = true
      this.runtime.afterTurn(() => {
        this.isScheduled = false
        this.arrive()
      })
    }
  }

  private arrive(): void {
    while (this.sent.length > 0) {
      this.run(this.sent.shift() as Sent)
    }
  }

  private run(sent: Sent): void {
    const { connection } = this
    if (!connection) {
      this.refuse(sent)
      return
    }
    const failure = this.server.failureOf(sent.words)
    if (failure && 'error' in failure) {
      sent.receiver.failed(new ErrorReply(failure.error))
      return
    }
    if (failure && 'cut' in failure) {
      if (failure.cut === 'after') {
        connection.command(sent.words)
      }
      this.sent.unshift(sent)
      this.break()
      // A broken connection is replaced in a later turn, never in the one that sees it break.
      this.runtime.afterTurn(() => this.open())
      return
    }
    if (failure) {
      if (failure.silence === 'after') {
        connection.command(sent.words)
      }
      return
    }
    answer(sent.receiver, connection.command(sent.words))
  }

  private break(): void {
    if (!this.connection) {
      return
    }
    this.connection.close()
    this.connection = null
    this.breaks += 1
    this.interrupted.push(...this.sent.splice(0))
    this.events.changed()
  }

  private open(): void {
    if (this.connection || this.closed || !this.server.isUp) {
      return
    }
    this.connection = this.connected()
    for (const each of this.interrupted.splice(0)) {
      if (each.receiver.isWanted()) {
        this.sent.push(each)
      } else {
        this.refuse(each)
      }
    }
    if (this.sent.length > 0) {
      this.schedule()
    }
    this.events.changed()
  }

  private refuse({ receiver }: Sent): void {
    receiver.failed(
      new Error(this.closed ? 'The connection is closed.' : 'There is no connection to the server.'),
    )
  }
}

function answer(receiver: Receiver, reply: Reply): void {
  if (reply instanceof ErrorReply) {
    receiver.failed(reply)
  } else {
    receiver.answered(asClientHasIt(reply))
  }
}

/** The reply as ioredis gives it: texts for bytes and for statuses, numbers for integers, errors inside lists as they are. */
export function asClientHasIt(reply: Reply): unknown {
  if (typeof reply === 'string') {
    return fromBytes(reply)
  }
  if (reply instanceof Status) {
    return reply.text
  }
  if (typeof reply === 'bigint') {
    return Number(reply)
  }
  return Array.isArray(reply) ? (reply as readonly Reply[]).map(asClientHasIt) : reply
}
