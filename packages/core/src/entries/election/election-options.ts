import { InvalidArgumentError } from '../../index.js'
import {
  checkDuration,
  checkFunction,
  checkLease,
  checkOneOf,
  type LockServices,
  warn,
  type KnownKeys,
  checkOptions,
} from '../door.js'

/** All durations in milliseconds. */
export interface ElectionOptions {
  /** Tells others of this candidate while it leads: any JSON value of at most 4 KiB. Default: nothing. */
  readonly data?: unknown
  /**
   * The lease of a term, renewed every third of it: how long a leader that has died keeps the next one out. Default: the
   * client's `leaseMs`, else its `lockWatchdogTimeout`.
   */
  readonly leaseMs?: number | undefined
  /**
   * How long a callback has, from `term.ending` to `term.signal`, when its term ends on purpose. Default 0: both abort at
   * once.
   */
  readonly graceMs?: number | undefined
  /**
   * The same for a term whose lease cannot be renewed. It is taken out of the trusted time: `term.ending` aborts so much
   * earlier, and the term ends then even if a renewal succeeds after all. At most a third of the lease. Default 0.
   */
  readonly lossGraceMs?: number | undefined
  /** How tokens are counted, as for `getFencedLock`. All candidates should have the same. Default `'counter'`. */
  readonly tokens?: 'counter' | 'time' | undefined
  /**
   * Is told of what a campaign survives: a callback that threw, and Redis out of reach. Default: a process warning
   * HOLDFAST_ELECTION.
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

const ELECTION_OPTIONS: KnownKeys<ElectionOptions> = {
  data: true,
  leaseMs: true,
  graceMs: true,
  lossGraceMs: true,
  tokens: true,
  onError: true,
}

const LONGEST_DATA = 4_096

/** Validated, with defaults. */
export interface ElectionRules {
  /** JSON; '' for none. */
  readonly data: string
  readonly leaseMs: number
  readonly graceMs: number
  readonly lossGraceMs: number
  readonly tokens: 'counter' | 'time'
  /** Never throws. */
  readonly report: (error: unknown) => void
}

/** @throws InvalidArgumentError */
export function checkElectionOptions(options: ElectionOptions): void {
  checkOptions('options', options, ELECTION_OPTIONS)
  const { leaseMs, graceMs, lossGraceMs, tokens, onError } = options
  checkLease('leaseMs', leaseMs)
  checkDuration('graceMs', graceMs, 'zero')
  checkDuration('lossGraceMs', lossGraceMs, 'zero')
  checkOneOf('tokens', tokens, [undefined, 'counter', 'time'])
  if (onError !== undefined) {
    checkFunction('onError', onError)
  }
}

/** @throws InvalidArgumentError */
export function rulesOf(
  name: string,
  options: ElectionOptions,
  { options: client }: LockServices,
): ElectionRules {
  const {
    data,
    leaseMs = client.leaseMs ?? client.lockWatchdogTimeout,
    graceMs = 0,
    lossGraceMs = 0,
    tokens = 'counter',
    onError,
  } = options
  if (lossGraceMs > leaseMs / 3) {
    const rule = `at most a third of the lease of ${leaseMs} ms: renewals need the rest`
    throw new InvalidArgumentError('lossGraceMs', lossGraceMs, rule)
  }
  return { data: jsonOf(data), leaseMs, graceMs, lossGraceMs, tokens, report: reporter(name, onError) }
}

/** @throws InvalidArgumentError */
function jsonOf(data: unknown): string {
  if (data === undefined) {
    return ''
  }
  let text: string | undefined
  try {
    text = JSON.stringify(data)
  } catch {
    text = undefined
  }
  const bytes = text === undefined ? 0 : Buffer.byteLength(text)
  if (text === undefined || bytes > LONGEST_DATA) {
    const size = text === undefined ? '' : `; this has ${bytes}`
    throw new InvalidArgumentError('data', data, `a JSON value of at most ${LONGEST_DATA} bytes${size}`)
  }
  return text
}

function reporter(name: string, onError: ((error: unknown) => void) | undefined): (error: unknown) => void {
  return (error) => {
    try {
      if (onError) {
        onError(error)
      } else {
        const hint = 'The campaign goes on. Handle it: getElection(locks, name, { onError }).'
        warn('HOLDFAST_ELECTION', `Election "${name}": ${String(error)}. ${hint}`)
      }
    } catch (thrown) {
      warn('HOLDFAST_LISTENER', `onError of the election "${name}" threw: ${String(thrown)}.`)
    }
  }
}
