import { MOST_BUFFERED, type BoardReply, type BoardRequest } from './exchange.js'

/** The part of Node's IncomingMessage used here. `originalUrl` is Express's. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  resume(): unknown
}

/** The part of Node's ServerResponse used here. */
export interface NodeResponse {
  readonly writableLength: number
  readonly destroyed: boolean
  writeHead(status: number, headers: Record<string, string>): unknown
  write(text: string): unknown
  end(body?: string | Uint8Array): unknown
  on(event: 'close', listener: () => void): unknown
}

export function requestOfNode(request: NodeRequest): BoardRequest {
  const { pathname, searchParams } = new URL(`http://board${request.originalUrl ?? request.url ?? '/'}`)
  return {
    method: request.method ?? 'GET',
    path: pathname,
    query: searchParams,
    header: (name) => {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    original: request,
  }
}

export function writeToNode(response: NodeResponse, reply: BoardReply, isHead: boolean): void {
  const { status, headers, body } = reply
  response.writeHead(status, { ...headers })
  if (isHead || typeof body !== 'function') {
    response.end(isHead || typeof body === 'function' ? undefined : body)
    return
  }
  const stop = body({
    write: (text) => response.write(text),
    isFull: () => response.writableLength > MOST_BUFFERED,
    end: () => response.end(),
  })
  response.on('close', stop)
  if (response.destroyed) {
    stop()
  }
}
