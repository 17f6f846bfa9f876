import { InvalidArgumentError } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'

/** The action that `authorize` is asked about. */
export type BoardAction =
  | { readonly type: 'view' }
  /** Release the lock, if `holder` still has it. */
  | { readonly type: 'break'; readonly lockName: string; readonly holder: string }

/** False: refused. An object allows it, and names the user in the log. */
export type BoardPermission = boolean | { readonly user: string }

/** One attempt to break a lock. */
export interface BoardLogEntry {
  readonly action: 'break'
  /**
   * `released`; `changed`: another owner has the lock by now, and keeps it; `not-held`: nobody had it; `denied`, with the
   * reason in `detail`; `failed`: Redis did not answer, or refused.
   */
  readonly outcome: 'released' | 'changed' | 'not-held' | 'denied' | 'failed'
  readonly lockName: string
  readonly holder: string
  /** The name that `authorize` gave. */
  readonly user: string | undefined
  readonly detail: string
  readonly at: Date
}

/** Where the board is, who may do what, and how much it asks of Redis. */
export interface BoardOptions {
  /** The path that the board is mounted at, as the browser sees it: `/locks`. Default `/`. */
  readonly basePath?: string | undefined
  /**
   * Who may do what. `request` is what the framework gave, and you give it its type: an IncomingMessage for `handle`, a
   * Request for `fetch`. It is asked at every request, and for every break. One that throws refuses. Without it everybody
   * who reaches the board may look, and nobody may break a lock.
   */
  readonly authorize?:
    ((request: never, action: BoardAction) => BoardPermission | Promise<BoardPermission>) | undefined
  /** Receives every attempt to break a lock. Default: a line of JSON on the standard output. */
  readonly log?: ((entry: BoardLogEntry) => void) | undefined
  /** Shown at the top of the page. Default `Locks`. */
  readonly title?: string | undefined
  /**
   * Names of hosts that the board answers to, without a port. For a board without `authorize` on a private address: a page
   * elsewhere can make a browser send requests there under a name of its own. Default: any.
   */
  readonly allowedHosts?: readonly string[] | undefined
  /** Signs the tokens of forms. Give the same to all processes behind one address. Default: random. */
  readonly secret?: string | undefined
  /** Keys of Redis that are searched for locks each second, at most. Default 1,000, the most. Less: new locks show later. */
  readonly scanKeysPerSecond?: number | undefined
  /** Locks whose state is asked for each second, at most. Default 500; at most 1,000. Less: rows are older. */
  readonly looksPerSecond?: number | undefined
}

const OPTIONS: KnownKeys<BoardOptions> = {
  basePath: true,
  authorize: true,
  log: true,
  title: true,
  allowedHosts: true,
  secret: true,
  scanKeysPerSecond: true,
  looksPerSecond: true,
}

export interface Settings {
  /** Without a slash at its end: '' for the root. */
  readonly basePath: string
  readonly authorize:
    ((request: unknown, action: BoardAction) => BoardPermission | Promise<BoardPermission>) | null
  /** It may return a promise, which may fail. */
  readonly log: (entry: BoardLogEntry) => unknown
  readonly title: string
  readonly allowedHosts: ReadonlySet<string> | null
  readonly secret: string | null
  readonly scanKeysPerSecond: number
  readonly looksPerSecond: number
}

const MOST_A_SECOND = 1_000
const USUAL_LOOKS_A_SECOND = 500
const SHORTEST_SECRET = 16

/** @throws InvalidArgumentError */
export function settingsOf(options: BoardOptions): Settings {
  checkOptions('options', options, OPTIONS)
  const { authorize, log, title = 'Locks', allowedHosts, secret } = options
  const { basePath = '/', scanKeysPerSecond = MOST_A_SECOND, looksPerSecond = USUAL_LOOKS_A_SECOND } = options
  check('basePath', basePath, isPath(basePath), "a path that begins with '/', without '?' and '#'")
  check('authorize', authorize, isFunctionOrNothing(authorize), 'a function of a request and an action')
  check('log', log, isFunctionOrNothing(log), 'a function of a log entry')
  check(
    'title',
    title,
    typeof title === 'string' && title.length <= 100,
    'a string of at most 100 characters',
  )
  check('allowedHosts', allowedHosts, areHosts(allowedHosts), 'a list of host names without ports')
  const isSecret = secret === undefined || (typeof secret === 'string' && secret.length >= SHORTEST_SECRET)
  if (!isSecret) {
    // Not the secret itself: messages are logged.
    throw new InvalidArgumentError(
      'secret',
      typeof secret,
      `a string of at least ${SHORTEST_SECRET} characters`,
    )
  }
  const rule = `a whole number from 1 to ${MOST_A_SECOND}`
  check('scanKeysPerSecond', scanKeysPerSecond, isRate(scanKeysPerSecond), rule)
  check('looksPerSecond', looksPerSecond, isRate(looksPerSecond), rule)
  return {
    basePath: basePath.replace(/\/+$/, ''),
    authorize: (authorize as Settings['authorize'] | undefined) ?? null,
    log: log ?? printEntry,
    title,
    allowedHosts: allowedHosts ? new Set(allowedHosts.map((host) => host.toLowerCase())) : null,
    secret: secret ?? null,
    scanKeysPerSecond,
    looksPerSecond,
  }
}

function check(argument: string, value: unknown, isRight: boolean, rule: string): void {
  if (!isRight) {
    throw new InvalidArgumentError(argument, value, rule)
  }
}

function isPath(value: unknown): boolean {
  return typeof value === 'string' && /^\/[^?#]*$/.test(value)
}

function isFunctionOrNothing(value: unknown): boolean {
  return value === undefined || typeof value === 'function'
}

function areHosts(value: unknown): boolean {
  return (
    value === undefined ||
    (Array.isArray(value) &&
      value.length > 0 &&
      value.every((host) => typeof host === 'string' && /^([\w.-]+|\[[\da-f:]+\])$/i.test(host)))
  )
}

function isRate(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_A_SECOND
}

function printEntry(entry: BoardLogEntry): void {
  console.info(JSON.stringify({ holdfast: 'board', ...entry }))
}
