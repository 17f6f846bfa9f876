import { errorMonitor } from 'node:events'
import { isNativeError } from 'node:util/types'
import { placeOf, wordsAtClosing } from './words-at-closing.js'

/** The part of a client that reports on its connection. */
interface Connecting {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as an EventEmitter has it; nothing stricter fits
  on(event: any, listener: (...args: any[]) => void): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see `on`
  off(event: any, listener: (...args: any[]) => void): unknown
  listeners?(event: 'error'): readonly unknown[]
  readonly options?: object | undefined
}

// A registered symbol: two copies of this package may each have a client on the same connection.
const OURS = Symbol.for('holdfast.connection-trouble')

/**
 * Records why a connection does not come up, for error messages, without hiding that the user has no 'error' listener
 * of their own:
 *
 * - node-redis always emits 'error', and Node throws if there is no listener. A listener of ours would hide that, so
 *   we use `errorMonitor`.
 * - ioredis checks for listeners first. If there are none, it prints the error, and no monitor is called. So we add
 *   an 'error' listener, and print the error ourselves if there are no others.
 */
export class ConnectionTrouble {
  private error: Error | undefined = undefined
  /** The last attempt found no address of the host. */
  private wasUnknown = false
  /** The last attempt. */
  private wasReady = false
  /** The server's words to connections that it does not take. */
  private said: Error | undefined = undefined
  /** Ends the question why. */
  private asking: (() => void) | undefined = undefined
  private readonly event: string | symbol
  private readonly listener: (error: unknown) => void

  constructor(
    private readonly client: Connecting,
    kind: 'ioredis' | 'node-redis',
    /** Called when there is a new error. */
    private readonly onTrouble: () => void = () => undefined,
  ) {
    this.event = kind === 'ioredis' ? 'error' : errorMonitor
    this.listener = kind === 'ioredis' ? this.noteAndPrint() : this.note
    client.on(this.event, this.listener)
    client.on('ready', this.forget)
    client.on('close', this.askWhy)
    client.on('reconnecting', this.again)
  }

  /** The last error since the connection was last ready, if any. */
  get latest(): Error | undefined {
    return this.error && !isOfClosing(this.error) ? this.error : (this.said ?? this.error)
  }

  close(): void {
    this.client.off(this.event, this.listener)
    this.client.off('ready', this.forget)
    this.client.off('close', this.askWhy)
    this.client.off('reconnecting', this.again)
    this.asking?.()
  }

  private readonly note = (error: unknown): void => {
    const isUnknown = isUnknownHost(error)
    const hadAddress = this.error !== undefined && 'address' in this.error
    // iovalkey tries IPv4 and IPv6 in turns: there a host that has addresses of one of them only is not unknown.
    const isOfOtherFamily = hadAddress || (!this.wasUnknown && triesFamiliesInTurns(this.client))
    this.wasUnknown = isUnknown
    if (!isUnknown || !isOfOtherFamily) {
      this.error = isNativeError(error) ? error : undefined
    }
    if (isOfClosing(error)) {
      this.askWhy()
    }
    this.onTrouble()
  }

  /** A connection was closed before it was ready. ioredis does not always emit an error for that. */
  private readonly askWhy = (): void => {
    const { error } = this
    const place = error && !isOfClosing(error) ? null : placeOf(this.client.options)
    if (place && !this.wasReady) {
      this.asking ??= wordsAtClosing(place, (said) => {
        this.asking = undefined
        this.said = said ?? this.said
        this.onTrouble()
      })
    }
  }

  private readonly again = (): void => {
    this.wasReady = false
  }

  private noteAndPrint(): (error: unknown) => void {
    const listener = (error: unknown): void => {
      this.note(error)
      const listeners = this.client.listeners?.('error') ?? []
      if (listeners[0] === listener && listeners.every(isOurs) && isNativeError(error)) {
        // The same output as ioredis's own.
        console.error('[ioredis] Unhandled error event:', error.stack)
      }
    }
    return Object.assign(listener, { [OURS]: true })
  }

  private readonly forget = (): void => {
    this.error = undefined
    this.said = undefined
    this.wasUnknown = false
    this.wasReady = true
  }
}

/** iovalkey, whose first attempts at a host are for its addresses of IPv4, and then of IPv6. */
function triesFamiliesInTurns({ options }: Connecting): boolean {
  const { familyFallback } = (options ?? {}) as { readonly familyFallback?: { readonly enabled?: boolean } }
  return familyFallback?.enabled === true
}

/** The server has closed the connection, and the client does not say more. */
function isOfClosing(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return code === 'EPIPE' || code === 'ECONNRESET' || message === 'Socket closed unexpectedly'
}

function isOurs(listener: unknown): boolean {
  return typeof listener === 'function' && OURS in listener
}

/** An error for several addresses or nodes: its own message says little. */
type OfSeveral = Error & { readonly errors?: readonly Error[]; readonly lastNodeError?: Error }

/** The error as one sentence without a full stop. */
export function troubleInWords(error: OfSeveral): string {
  const inner = error.errors?.[0] ?? error.lastNodeError
  const parts = inner ? [error.message, troubleInWords(inner)] : [error.message]
  return parts
    .filter((part) => part !== '')
    .map((part) => part.replace(/\.$/, ''))
    .join(': ')
}

// Redis denies access or a permission. Matched anywhere: clients wrap the reply differently.
const REFUSED = /\b(WRONGPASS|NOAUTH|NOPERM|DENIED) |^ERR AUTH /
// The server is not Redis, or only one of the two sides uses TLS.
const NO_REDIS = /^Protocol error, got |^Unknown RESP type |SSL routines|wrong version number/
// A server's temporary failure: a proxy without a certificate yet, or one that closes during the handshake.
const PASSING_TLS = /alert internal error|unexpected eof while reading/
const CERTIFICATE =
  /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)$)/

/**
 * Whether every attempt to connect would fail alike because of the configuration: a user, a password, a host, a
 * certificate, the port of another service. That includes a host unknown to DNS (ENOTFOUND), but not a DNS that could
 * not be asked (EAI_AGAIN).
 */
export function lastsForGood(trouble: OfSeveral): boolean {
  const { code, message } = trouble as OfSeveral & { readonly code?: unknown }
  if (isUnknownHost(trouble)) {
    return true
  }
  if (PASSING_TLS.test(message)) {
    return false
  }
  if (REFUSED.test(message) || NO_REDIS.test(message) || CERTIFICATE.test(String(code))) {
    return true
  }
  const { lastNodeError } = trouble
  // A cluster reports one node's error: the host names of others may be known.
  return lastNodeError !== undefined && !isUnknownHost(lastNodeError) && lastsForGood(lastNodeError)
}

function isUnknownHost(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'ENOTFOUND'
}
