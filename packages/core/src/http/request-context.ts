import type { LockClient } from '../lock-client.js'
import { checkClient } from '../arguments/validate.js'
import { RequestAbortedError } from './http-error.js'

/** The part of `LockClient` that opens contexts. */
export type ContextOpener = Pick<LockClient, 'run' | 'fork'>

/** @throws InvalidArgumentError */
export function checkOpener(locks: ContextOpener): void {
  checkClient('locks', locks, ['run', 'fork'])
}

/** The part of Node's HTTP/1 and HTTP/2 responses used here. */
export interface NodeResponse {
  readonly destroyed?: boolean
  readonly writableEnded: boolean
  readonly writableFinished?: boolean
  once(event: 'close' | 'finish', listener: () => void): unknown
}

/** Aborts when the client disconnects before the response is complete. */
export function signalOf(response: NodeResponse): AbortSignal {
  const controller = new AbortController()
  const end = (): void => {
    if (!isAnswered(response)) {
      controller.abort(new RequestAbortedError())
    }
  }
  if (response.destroyed === true) {
    end()
  }
  response.once('close', end)
  return controller.signal
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
 * the context stays open: the handler still runs, and the signal must reject its calls, which would otherwise run
 * outside any context.
 */
export function runUntilAnswered(locks: ContextOpener, response: NodeResponse, next: () => void): void {
  const run = (): Promise<void> => {
    const answered = new Promise<void>((resolve) => {
      const end = (): void => {
        if (isAnswered(response)) {
          resolve()
        }
      }
      response.once('finish', end)
      response.once('close', end)
    })
    next()
    return answered
  }
  void runForRequest(locks, response, run, signalOf(response))
}

// HTTP/2 responses have no `writableFinished`.
function isAnswered({ writableEnded, writableFinished = writableEnded }: NodeResponse): boolean {
  return writableFinished
}
