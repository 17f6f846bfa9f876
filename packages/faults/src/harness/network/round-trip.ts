import { connect } from 'node:net'
import { RedisReplyError, encodeCommand, parseReply } from './resp.js'

/** Where a TCP server listens. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** An argument of a command; numbers are sent as decimal text. */
export type CommandArgument = string | number | Buffer

/**
 * Sends one command on a connection of its own and gives the reply.
 * Rejects with `RedisReplyError` when Redis answers an error, and with an ordinary error when the
 * connection fails or no reply came within `timeoutMs` (in ms).
 */
export const roundTrip = (
  { host, port }: Endpoint,
  args: readonly CommandArgument[],
  timeoutMs = 5_000,
): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const what = `${String(args[0])} to ${host}:${port}`
    let received = Buffer.alloc(0)
    const socket = connect({ host, port, noDelay: true })
    const timer = setTimeout(
      () => void socket.destroy(new Error(`${what}: no reply within ${timeoutMs} ms`)),
      timeoutMs,
    )
    socket.on('connect', () => void socket.write(encodeCommand(args)))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      try {
        const reply = parseReply(received)
        if (reply === undefined) return
        if (reply.value instanceof RedisReplyError) throw reply.value
        resolve(reply.value)
      } catch (error) {
        reject(error)
      }
      socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      clearTimeout(timer)
      // Has no effect when a reply or an error came first.
      reject(new Error(`${what}: connection closed without a reply`))
    })
  })
