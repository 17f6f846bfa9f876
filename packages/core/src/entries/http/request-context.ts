import { type LockClient } from '../../index.js'
import { checkClient, followed, nativeSignal } from '../door.js'
import { RequestAbortedError } from './http-error.js'

/** The part of `LockClient` that opens contexts. */
export type ContextOpener = Pick<LockClient, 'run' | 'fork'>

/** @throws InvalidArgumentError */
export function checkOpener(locks: ContextOpener): void {
  checkClient('locks', locks, ['run', 'fork'])
}

/** The part of Node's HTTP/1 and HTTP/2 responses used here. */
export type NodeResponse = {
  readonly destroyed?: boolean
  readonly writableEnded: boolean
  readonly writableFinished?: boolean
  once(event: 'close' | 'finish' | 'unpipe', listener: () => void): unknown
  end?(...args: never[]): unknown
}

/** The signals of the requests of one middleware: each aborts when its client disconnects, and all at `ending`. */
export class RequestSignals {
  private readonly open = new Set<AbortController>()

  private readonly ending: AbortSignal | undefined

  constructor(given: AbortSignal | undefined) {
    const ending = (this.ending = nativeSignal(given))
    ending?.addEventListener('abort', () => this.open.forEach((each) => each.abort(ending.reason)), {
      once: true,
    })
  }

  /** Aborts when the client disconnects before the response is complete. */
  ofResponse(response: NodeResponse): AbortSignal {
    const request = this.begin()
    const end = (): void => {
      if (!isAnswered(response)) {
        request.abort(new RequestAbortedError())
      }
      this.open.delete(request)
    }
    if (response.destroyed === true) {
      end()
    }
    response.once('close', end)
    return request.signal
  }

  /** Follows the request's own signal, with a reason of ours. */
  ofRequest(signal: AbortSignal): { readonly signal: AbortSignal; readonly over: () => void } {
    const request = this.begin()
    followed.set(request.signal, signal)
    const end = (): void => request.abort(new RequestAbortedError())
    if (signal.aborted) {
      end()
    }
    signal.addEventListener('abort', end, { once: true })
    return { signal: request.signal, over: () => this.open.delete(request) }
  }

  private begin(): AbortController {
    const request = new AbortController()
    if (this.ending?.aborted) {
      request.abort(this.ending.reason)
    } else if (this.ending) {
      this.open.add(request)
    }
    return request
  }
}

const begun = new WeakMap<ContextOpener, WeakSet<object>>()

/**
 * Runs in the request's own context, or in the one that another middleware has opened for it. A context around the
 * whole server is left out: it would make all requests one owner.
 */
export function runForRequest<T>(
  locks: ContextOpener,
  request: object,
  callback: () => T,
  signal: AbortSignal,
): T {
  const run = (): T => locks.run(callback, { signal })
  const known = begun.get(locks) ?? new WeakSet()
  if (known.has(request)) {
    return run()
  }
  begun.set(locks, known.add(request))
  return locks.fork(run, { detached: true })
}

/**
 * For frameworks that only report the end of the response: the context ends with it. If the client disconnects first,
 * the handler still runs, and what it calls must be rejected by the signal, and not run outside any context: the context
 * ends when the handler ends its answer, which nobody reads.
 */
export function runUntilAnswered(
  locks: ContextOpener,
  response: NodeResponse,
  { next, signals }: { readonly next: () => void; readonly signals: RequestSignals },
): void {
  const run = (): Promise<void> => {
    const over = new Promise<void>((resolve) => {
      let isGone = false
      const end = (): void => {
        if (isAnswered(response)) {
          resolve()
        } else if (!isGone) {
          isGone = true
          whenHandlerEnds(response, resolve)
        }
      }
      response.once('finish', end)
      response.once('close', end)
    })
    next()
    return over
  }
  void runForRequest(locks, response, run, signals.ofResponse(response))
}

/**
 * Without a client there is no event for the end of the answer: the handler calls `end`, or the stream that it answers
 * with is taken from the response. Only where the client has gone is `end` replaced.
 */
function whenHandlerEnds(response: NodeResponse, ended: () => void): void {
  const end = response.end?.bind(response)
  if (response.writableEnded || end === undefined) {
    ended()
    return
  }
  response.once('unpipe', ended)
  response.end = (...args) => {
    ended()
    return end(...args)
  }
}

// An HTTP/2 response is finished, but not ended, when its client has gone.
function isAnswered({ writableEnded, writableFinished = writableEnded }: NodeResponse): boolean {
  return writableEnded && writableFinished
}
