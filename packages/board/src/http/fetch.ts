import { MOST_BUFFERED, type BoardReply, type BoardRequest } from './exchange.js'

export function requestOfFetch(request: Request): BoardRequest {
  const { pathname, searchParams, host } = new URL(request.url)
  return {
    method: request.method,
    path: pathname,
    query: searchParams,
    // A Request that a server made has the host in its URL.
    header: (name) => request.headers.get(name) ?? (name === 'host' ? host : undefined),
    original: request,
  }
}

export function responseOf({ status, headers, body }: BoardReply, isHead: boolean): Response {
  const init = { status, headers: { ...headers } }
  if (isHead) {
    return new Response(null, init)
  }
  return new Response(
    typeof body === 'function' ? streamOf(body) : (body as ConstructorParameters<typeof Response>[0]),
    init,
  )
}

function streamOf(body: Extract<BoardReply['body'], (...args: never[]) => unknown>): ReadableStream {
  const encoder = new TextEncoder()
  let stop: () => void = () => undefined
  return new ReadableStream(
    {
      start: (controller) => {
        let isOpen = true
        const close = body({
          write: (text) => {
            if (isOpen) {
              controller.enqueue(encoder.encode(text))
            }
          },
          isFull: () => (controller.desiredSize ?? 0) <= 0,
          end: () => {
            if (isOpen) {
              isOpen = false
              controller.close()
            }
          },
        })
        stop = () => {
          isOpen = false
          close()
        }
      },
      cancel: () => stop(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MOST_BUFFERED }),
  )
}
