import type { LockClient } from '../lock-client.js'
import { checkClient } from '../validate.js'
import { RequestAbortedError } from './http-error.js'

/** What opens contexts: a `LockClient`. */
export type ContextOpener = Pick<LockClient, 'run'>

/** @throws InvalidArgumentError */
export function checkOpener(locks: ContextOpener): void {
  checkClient('locks', locks, ['run'])
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
  void locks.run(run, { signal: signalOf(response) })
}

// HTTP/2 responses do not say whether all is out.
function isAnswered({ writableEnded, writableFinished = writableEnded }: NodeResponse): boolean {
  return writableFinished
}
