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
export const roundTrip = async (
  { host, port }: Endpoint,
  args: readonly CommandArgument[],
  timeoutMs = 5_000,
): Promise<unknown> => {
  const what = `${String(args[0])} to ${host}:${port}`
  const signal = AbortSignal.timeout(timeoutMs)
  const socket = connect({ host, port, noDelay: true, signal })
  socket.write(encodeCommand(args))
  let received = Buffer.alloc(0)
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk])
      const reply = parseReply(received)
      if (reply?.value instanceof RedisReplyError) throw reply.value
      if (reply !== undefined) return reply.value
    }
  } catch (error) {
    throw signal.aborted ? new Error(`${what}: no reply within ${timeoutMs} ms`) : error
  } finally {
    socket.destroy()
  }
  throw new Error(`${what}: connection closed without a reply`)
}
