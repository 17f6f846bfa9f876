import { errorMonitor } from 'node:events'
import { isNativeError } from 'node:util/types'

/** The part of a client that tells of its connection. */
interface Connecting {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as an EventEmitter has it; nothing stricter fits
  on(event: any, listener: (...args: any[]) => void): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see `on`
  off(event: any, listener: (...args: any[]) => void): unknown
  listeners?(event: 'error'): readonly unknown[]
}

// By its registered symbol: there may be two copies of this package, each with a client on the same connection.
const OURS = Symbol.for('holdfast.connection-trouble')

/**
 * What a connection that does not come fails with, for error messages. Its user may have no listener of 'error', and
 * shall hear of that as if there were none of ours.
 *
 * - node-redis emits its errors whether or not anybody listens. A listener would hide that nobody else does, so ours is
 *   one of `errorMonitor`.
 * - ioredis looks for listeners first. Where it finds none it prints the error, and no monitor hears of it. So ours is a
 *   listener of 'error', and prints the error where it is alone.
 */
export class ConnectionTrouble {
  private error: Error | undefined = undefined
  private readonly event: string | symbol
  private readonly listener: (error: unknown) => void

  constructor(
    private readonly client: Connecting,
    kind: 'ioredis' | 'node-redis',
    /** Runs when there is something new. */
    private readonly onTrouble: () => void = () => undefined,
  ) {
    this.event = kind === 'ioredis' ? 'error' : errorMonitor
    this.listener = kind === 'ioredis' ? this.noteAndPrint() : this.note
    client.on(this.event, this.listener)
    client.on('ready', this.forget)
  }

  /** Undefined: nothing since it was last ready. */
  get latest(): Error | undefined {
    return this.error
  }

  close(): void {
    this.client.off(this.event, this.listener)
    this.client.off('ready', this.forget)
  }

  private readonly note = (error: unknown): void => {
    this.error = isNativeError(error) ? error : undefined
    this.onTrouble()
  }

  private noteAndPrint(): (error: unknown) => void {
    const listener = (error: unknown): void => {
      this.note(error)
      const listeners = this.client.listeners?.('error') ?? []
      if (listeners[0] === listener && listeners.every(isOurs) && isNativeError(error)) {
        // As ioredis itself does.
        console.error('[ioredis] Unhandled error event:', error.stack)
      }
    }
    return Object.assign(listener, { [OURS]: true })
  }

  private readonly forget = (): void => {
    this.error = undefined
  }
}

function isOurs(listener: unknown): boolean {
  return typeof listener === 'function' && OURS in listener
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

// What Redis answers to whoever it does not let in, or does not let do what is needed. In one word, wherever a client puts it.
const REFUSED = /\b(WRONGPASS|NOAUTH|NOPERM|DENIED) |^ERR AUTH /
// It is no Redis that answers, or one that speaks TLS where the client does not, or the other way round.
const NO_REDIS = /^Protocol error, got |^Unknown RESP type |SSL routines|wrong version number/
// What a server says of itself, such as a proxy that has no certificate yet, or one that ends in the middle of a handshake.
const PASSING_TLS = /alert internal error|unexpected eof while reading/
const CERTIFICATE =
  /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)$)/

/**
 * Whether the next attempt to connect would fail alike, because of what the client was told: a user, a password, a host,
 * a certificate, a port of something else. A host that DNS does not know (ENOTFOUND) is such a one; one that DNS could
 * not be asked about (EAI_AGAIN) is not.
 */
export function lastsForGood(trouble: OfSeveral): boolean {
  const { code, message } = trouble as OfSeveral & { readonly code?: unknown }
  if (code === 'ENOTFOUND') {
    return true
  }
  if (PASSING_TLS.test(message)) {
    return false
  }
  if (REFUSED.test(message) || NO_REDIS.test(message) || CERTIFICATE.test(String(code))) {
    return true
  }
  const { lastNodeError } = trouble
  // Of a cluster one node is told: another may have a name that is known.
  return lastNodeError !== undefined && !isUnknownHost(lastNodeError) && lastsForGood(lastNodeError)
}

function isUnknownHost(error: Error & { readonly code?: unknown }): boolean {
  return error.code === 'ENOTFOUND'
}
