import { connect } from 'node:net'

/** Where to ask. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string }

const LONGEST_MS = 1_000

/**
 * Where a client connects; null: it is not known, or the connection is encrypted, and Redis then says nothing before it
 * closes. Options of node-redis have a `socket`.
 */
export function placeOf(options: object | undefined): Place | null {
  const { socket } = (options ?? {}) as { readonly socket?: object }
  const given: Record<string, unknown> = {
    ...(socket ? { host: 'localhost', port: 6379, ...socket } : options),
  }
  const { path, host, port, tls, sentinels } = given
  if (tls || sentinels) {
    return null
  }
  if (typeof path === 'string') {
    return { path }
  }
  return typeof host === 'string' && Number(port) > 0 ? { host, port: Number(port) } : null
}

/**
 * Asks what a server says to a connection that it closes at once: that it has too many, or that it is protected. Clients
 * write first, and an error of that ("write EPIPE") hides what is there to be read. So one connection is opened that
 * only reads, for a second at most.
 * @param heard called once, with undefined if the server says nothing. @returns a function that ends it
 */
export function wordsAtClosing(place: Place, heard: (said: Error | undefined) => void): () => void {
  let text = ''
  const socket = connect({ ...place, timeout: LONGEST_MS })
    .unref()
    .setEncoding('utf8')
  const end = (): void => void socket.destroy()
  socket.on('data', (chunk: string) => {
    text += chunk
    if (text.includes('\n')) {
      end()
    }
  })
  socket.on('timeout', end)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    const [, said] = /^-([A-Z]+ [^\r\n]*)/.exec(text) ?? []
    heard(said === undefined ? undefined : new Error(said))
  })
  return end
}
