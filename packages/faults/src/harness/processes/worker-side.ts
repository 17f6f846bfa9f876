import { packError } from './worker-protocol.js'
import type { Call, WorkerMessage } from './worker-protocol.js'

type Handlers = Readonly<Record<string, (...args: never[]) => unknown>>

const send = (message: WorkerMessage): void => {
  // A parent that has gone cannot be told anything.
  if (process.connected) process.send?.(message)
}

const answer = async (handlers: Handlers, { id, name, args }: Call): Promise<void> => {
  try {
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined
    if (handler === undefined) throw new Error(`this worker has no '${name}'`)
    send({ kind: 'result', id, value: await handler(...(args as never[])) })
  } catch (error) {
    send({ kind: 'error', id, error: packError(error) })
  }
}

/**
 * Makes the module a worker: the parent's `call(name, ...args)` runs the function of that name. Arguments and
 * results travel as JSON. The process ends when its parent is gone.
 */
export const serveWorker = (handlers: Handlers): void => {
  if (process.send === undefined) throw new Error('not a worker: start this module with WorkerProcess.start')
  process.on('message', (call: Call) => void answer(handlers, call))
  process.on('disconnect', () => process.exit())
  send({ kind: 'ready' })
}

/** Tells the parent's `on(event)` and `once(event)`; `data` travels as JSON. */
export const emit = (event: string, data?: unknown): void => send({ kind: 'event', event, data })
