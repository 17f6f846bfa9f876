import type { Socket } from 'node:net'
import type { Connection, OnMessage } from '../engine/connection.js'
import { ErrorReply, OK, Status, type Reply } from '../engine/reply.js'
import { VERSION } from '../engine/scripting.js'
import { ProtocolError, RequestReader } from './request-reader.js'
import { map, pushed, written, writtenReply, type Protocol } from './resp-writer.js'

/** A client that does not read what it is sent is sent away, as by Redis. */
const MOST_UNSENT = 16 * 1024 * 1024

const SUBSCRIBING = /^[ps]?(un)?subscribe$/
/** Commands that RESP2 allows on a subscribed connection: any reply would stand among the messages. */
const AMONG_MESSAGES = new Set([
  ...['subscribe', 'unsubscribe', 'psubscribe', 'punsubscribe', 'ssubscribe', 'sunsubscribe'],
  ...['ping', 'quit', 'reset'],
])

/** One client of another process, until its socket is closed. */
export class ClientSession {
  private readonly reader = new RequestReader()
  private readonly connection: Connection
  private protocol: Protocol = 2
  private subscriptions = { global: 0, sharded: 0 }
  /** Answers to the requests of one read, sent at once. */
  private answers: string[] | null = null

  constructor(
    private readonly socket: Socket,
    connect: (onMessage: OnMessage) => Connection,
  ) {
    this.connection = connect((kind, channel, payload, pattern) => {
      const found =
        pattern === undefined ? [kind === 'sharded' ? 'smessage' : 'message'] : ['pmessage', pattern]
      this.send(pushed([...found, channel, payload], this.protocol))
    })
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.receive(bytes))
    socket.on('drain', () => socket.resume())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.connection.close())
  }

  private receive(bytes: Buffer): void {
    this.answers = []
    let end = false
    try {
      for (const words of this.reader.read(bytes)) {
        this.answer(words)
        end ||= words[0]?.toLowerCase() === 'quit'
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) {
        throw error
      }
      this.answers.push(`-ERR Protocol error: ${error.message}\r\n`)
      end = true
    }
    const text = this.answers.join('')
    this.answers = null
    this.send(text)
    if (end) {
      this.socket.removeAllListeners('data')
      this.socket.destroySoon()
    }
  }

  private send(text: string): void {
    if (this.answers) {
      this.answers.push(text)
      return
    }
    if (text === '' || this.socket.destroyed || this.socket.writableEnded) {
      return
    }
    if (!this.socket.write(text, 'latin1')) {
      // It gets no more answers before it has read these.
      this.socket.pause()
    }
    if (this.socket.writableLength > MOST_UNSENT) {
      this.socket.destroy()
    }
  }

  private answer(words: readonly string[]): void {
    const name = (words[0] ?? '').toLowerCase()
    const isAmongMessages = this.protocol === 2 && this.subscriptions.global + this.subscriptions.sharded > 0
    if (isAmongMessages && !AMONG_MESSAGES.has(name)) {
      this.send(written(notNow(name), this.protocol))
    } else if (isAmongMessages && name === 'ping') {
      this.send(written(['pong', words[1] ?? ''], this.protocol))
    } else if (name === 'hello') {
      this.hello(words.slice(1))
    } else if (name === 'quit') {
      this.send(written(OK, this.protocol))
    } else {
      this.run(name, words)
    }
  }

  private run(name: string, words: readonly string[]): void {
    const reply = this.replyTo(words)
    if (SUBSCRIBING.test(name) && Array.isArray(reply)) {
      this.confirm(name, reply as readonly (readonly Reply[])[])
      return
    }
    if (name === 'reset' && reply instanceof Status) {
      this.protocol = 2
      this.subscriptions = { global: 0, sharded: 0 }
    }
    this.send(writtenReply(reply, words, this.protocol))
  }

  private replyTo(words: readonly string[]): Reply {
    try {
      return this.connection.command(words)
    } catch (error) {
      // A request of one client must not end the process, with its locks and its other clients.
      return new ErrorReply(`ERR The engine for tests has failed: ${String(error)}`)
    }
  }

  /** One confirmation for each channel, with how many there are now. */
  private confirm(name: string, confirmations: readonly (readonly Reply[])[]): void {
    const kind = name.startsWith('s') && name !== 'subscribe' ? 'sharded' : 'global'
    for (const confirmation of confirmations) {
      this.subscriptions[kind] = Number(confirmation[2])
      this.send(pushed(confirmation, this.protocol))
    }
  }

  private hello([version, ...words]: readonly string[]): void {
    const refused = version === undefined ? null : refusedHello(version, words)
    if (refused) {
      this.send(written(refused, this.protocol))
      return
    }
    this.protocol = version === '3' ? 3 : version === '2' ? 2 : this.protocol
    const name = words.findIndex((word) => word.toLowerCase() === 'setname')
    const named = name < 0 ? OK : this.connection.command(['client', 'setname', words[name + 1] ?? ''])
    if (named instanceof ErrorReply) {
      this.send(written(named, this.protocol))
      return
    }
    const id = this.connection.id
    const told: Reply[] = ['server', 'redis', 'version', VERSION, 'proto', this.protocol, 'id', id]
    told.push('mode', 'standalone', 'role', 'master', 'modules', [])
    this.send(map(told, this.protocol))
  }
}

function notNow(name: string): ErrorReply {
  return new ErrorReply(
    `ERR Can't execute '${name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
  )
}

function refusedHello(version: string, words: readonly string[]): ErrorReply | null {
  if (!/^-?\d+$/.test(version)) {
    return new ErrorReply('ERR Protocol version is not an integer or out of range')
  }
  if (version !== '2' && version !== '3') {
    return new ErrorReply('NOPROTO unsupported protocol version')
  }
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] as string
    const isKnown = /^auth$/i.test(word)
      ? words.length > i + 2
      : /^setname$/i.test(word) && words.length > i + 1
    if (!isKnown) {
      return new ErrorReply(`ERR Syntax error in HELLO option '${word.slice(0, 128)}'`)
    }
    // Whoever says who they are is believed: there is no other user.
    i += /^auth$/i.test(word) ? 2 : 1
  }
  return null
}
