import { errorMonitor } from 'node:events'
import { isNativeError } from 'node:util/types'

/** The part of a client that tells of its connection. */
interface Connecting {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as an EventEmitter has it; nothing stricter fits
  on(event: any, listener: (...args: any[]) => void): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see `on`
  off(event: any, listener: (...args: any[]) => void): unknown
}

/**
 * What a connection that does not come fails with, for error messages. Not a listener of 'error': that would hide
 * from the client that its user has none, which it then complains about.
 */
export class ConnectionTrouble {
  private error: Error | undefined = undefined

  constructor(private readonly client: Connecting) {
    client.on(errorMonitor, this.note)
    client.on('ready', this.forget)
  }

  /** Undefined: nothing since it was last ready. */
  get latest(): Error | undefined {
    return this.error
  }

  close(): void {
    this.client.off(errorMonitor, this.note)
    this.client.off('ready', this.forget)
  }

  private readonly note = (error: unknown): void => {
    this.error = isNativeError(error) ? error : undefined
  }

  private readonly forget = (): void => {
    this.error = undefined
  }
}

/** Several addresses failed, or several nodes: their error has little to say itself. */
type OfSeveral = Error & { readonly errors?: readonly Error[]; readonly lastNodeError?: Error }

/** As one sentence without its end. */
export function troubleInWords(error: OfSeveral): string {
  const inner = error.errors?.[0] ?? error.lastNodeError
  const parts = inner ? [error.message, troubleInWords(inner)] : [error.message]
  return parts
    .filter((part) => part !== '')
    .map((part) => part.replace(/\.$/, ''))
    .join(': ')
}
