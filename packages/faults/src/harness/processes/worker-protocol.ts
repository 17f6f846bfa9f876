/** A message of the parent to a worker, as JSON. */
export interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

/** An error as it travels. */
export interface RemoteError {
  readonly name: string
  readonly message: string
  readonly code?: unknown
  readonly stack?: string | undefined
}

/** A message of a worker to its parent, as JSON. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'result'; readonly id: number; readonly value?: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: RemoteError }
  | { readonly kind: 'event'; readonly event: string; readonly data?: unknown }

/** Takes an error apart for the journey. */
export const packError = (error: unknown): RemoteError => {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message, stack, code } = error as NodeJS.ErrnoException
  return { name, message, stack, code }
}

/** Puts it together again: an `Error` with the same name, message and code, whatever its class was. */
export const unpackError = ({ name, message, stack, code }: RemoteError): Error => {
  const error = new Error(message)
  Object.assign(error, { name, stack: `${stack ?? message}\n    (thrown in a worker process)` })
  return code === undefined ? error : Object.assign(error, { code })
}
