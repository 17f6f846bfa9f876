import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Endpoint } from '@holdfast/faults/harness'
import { encodeCommand, parseReply } from '../../src/harness/network/resp.js'
import { eventually } from './support.js'

/** A connection without retries or re-sending, so that a test sees what the wire did. */
export class RawClient {
  readonly replies: unknown[] = []
  readonly closed: Promise<unknown>
  readonly #socket: Socket
  #bytes = Buffer.alloc(0)

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      let reply = parseReply(this.#bytes)
      for (; reply !== undefined; reply = parseReply(this.#bytes)) {
        this.replies.push(reply.value)
        this.#bytes = this.#bytes.subarray(reply.next)
      }
    })
    this.closed = new Promise((resolve) => void socket.once('close', resolve))
  }

  static async connect({ host, port }: Endpoint): Promise<RawClient> {
    const socket = connect({ host, port, noDelay: true })
    const client = new RawClient(socket)
    await once(socket, 'connect')
    return client
  }

  get open(): boolean {
    return !this.#socket.destroyed
  }

  /** All in one write, so most likely in one chunk. */
  send(...commands: (string | number)[][]): void {
    this.#socket.write(Buffer.concat(commands.map((command) => encodeCommand(command))))
  }

  async call(...command: (string | number)[]): Promise<unknown> {
    const earlier = this.replies.length
    this.send(command)
    await eventually(() => this.replies.length > earlier || !this.open)
    return this.replies[earlier]
  }

  leave(): void {
    this.#socket.destroy()
  }

  /** Says that nothing more will come, and still reads. */
  end(): void {
    this.#socket.end()
  }
}
