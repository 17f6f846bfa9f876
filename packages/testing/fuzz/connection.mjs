import { Buffer } from 'node:buffer'
import { connect } from 'node:net'

/**
 * What a server answers. Texts have a character for each byte, integers are bigint. A status and an error are objects,
 * so that they are told from texts.
 *
 * @typedef {{ status: string } | { error: string } | string | bigint | null | Reply[]} Reply
 */

/** The bytes of commands, whose words have a character for each byte. @param {string[][]} commands */
const encoded = (commands) =>
  Buffer.from(
    commands
      .map((words) => `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`)
      .join(''),
    'latin1',
  )

/** Reads RESP2 from a text of bytes. */
class Reader {
  text = ''
  at = 0

  /** @returns {Reply | undefined} undefined: it is not complete */
  next() {
    const begin = this.at
    const reply = this.#read()
    if (reply === undefined) this.at = begin
    return reply
  }

  add(chunk) {
    this.text = this.text.slice(this.at) + chunk.toString('latin1')
    this.at = 0
  }

  #read() {
    const end = this.text.indexOf('\r\n', this.at)
    if (end < 0) return undefined
    const [type, line] = [this.text[this.at], this.text.slice(this.at + 1, end)]
    this.at = end + 2
    if (type === '+') return { status: line }
    if (type === '-') return { error: line }
    if (type === ':') return BigInt(line)
    if (type === '$') return this.#bulk(Number(line))
    if (type !== '*') {
      throw new Error(
        `not RESP2: ${JSON.stringify(this.text.slice(Math.max(0, this.at - 300), this.at + 100))}`,
      )
    }
    return this.#list(Number(line))
  }

  #bulk(length) {
    if (length < 0) return null
    const begin = this.at
    this.at += length + 2
    return this.at > this.text.length ? undefined : this.text.slice(begin, begin + length)
  }

  #list(length) {
    if (length < 0) return null
    const list = []
    for (let i = 0; i < length; i += 1) {
      const reply = this.#read()
      if (reply === undefined) return undefined
      list.push(reply)
    }
    return list
  }
}

const SILENCE_MS = 20_000

/** A connection to a real server, which sends many commands at once. */
export class Connection {
  #socket
  #reader = new Reader()
  #replies = []
  /** @type {{ isComplete: (replies: Reply[]) => boolean, resolve: (replies: Reply[]) => void, reject: (error: Error) => void } | null} */
  #waiting = null
  #failure = null

  /** @param {{ host: string, port: number }} server */
  static async to({ host, port }) {
    const socket = connect({ host, port, noDelay: true })
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new Connection(socket)
  }

  constructor(socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('close', () => this.#fail(new Error('the server has closed the connection')))
    socket.on('error', (error) => this.#fail(error))
    socket.setTimeout(SILENCE_MS, () => {
      if (this.#waiting) this.#fail(new Error(`the server has not answered in ${SILENCE_MS} ms`))
    })
  }

  /** One reply to each. @param {string[][]} commands @returns {Promise<Reply[]>} */
  send(commands) {
    return this.sendUntil(commands, (replies) => replies.length >= commands.length)
  }

  /** @param {string[][]} commands @param {(replies: Reply[]) => boolean} isComplete of what came since the last call */
  sendUntil(commands, isComplete) {
    if (this.#failure) return Promise.reject(this.#failure)
    if (commands.length > 0) this.#socket.write(encoded(commands))
    return new Promise((resolve, reject) => {
      this.#waiting = { isComplete, resolve, reject }
      this.#tell()
    })
  }

  close() {
    this.#socket.destroy()
  }

  #receive(chunk) {
    this.#reader.add(chunk)
    for (let reply = this.#reader.next(); reply !== undefined; reply = this.#reader.next()) {
      this.#replies.push(reply)
    }
    this.#tell()
  }

  #tell() {
    const waiting = this.#waiting
    if (!waiting?.isComplete(this.#replies)) return
    this.#waiting = null
    waiting.resolve(this.#replies.splice(0))
  }

  #fail(error) {
    this.#failure ??= error
    this.#waiting?.reject(error)
    this.#waiting = null
    this.#socket.destroy()
  }
}
