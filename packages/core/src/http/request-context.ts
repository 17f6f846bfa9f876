import type { LockClient } from '../lock-client.js'
import { checkClient } from '../arguments/validate.js'
import { RequestAbortedError } from './http-error.js'

/** What opens contexts: a `LockClient`. */
export type ContextOpener = Pick<LockClient, 'run' | 'fork'>

/** @throws InvalidArgumentError */
export function checkOpener(locks: ContextOpener): void {
  checkClient('locks', locks, ['run', 'fork'])
}

/** What is used of Node's response, of HTTP/1 and of HTTP/2. */
export interface NodeResponse {
  readonly destroyed?: boolean
  readonly writableEnded: boolean
  readonly writableFinished?: boolean
  once(event: 'close' | 'finish', listener: () => void): unknown
}

/** Aborts when the client goes before it has its answer. */
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
 * In a context of the request's own, or in that which another middleware has opened for it. What else is around belongs
 * to whoever started the server: inside a context of theirs, all requests would be one owner.
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
 * For frameworks that only say when the answer is out: the context ends with it. Where the client goes before, it
 * never does: the handler still runs, and what it asks for is refused by the signal instead of being a call outside
 * contexts.
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

// HTTP/2 responses do not say whether all is out.
function isAnswered({ writableEnded, writableFinished = writableEnded }: NodeResponse): boolean {
  return writableFinished
}
