import type { WaitRequest } from '@holdfast/waiter'
import { ANSWER_MS } from '../acquire/acquire-options.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { nativeSignal } from '../arguments/native-signal.js'
import { checkMaxWaiting, checkWait } from '../arguments/validate.js'

/** The limits of a wait. */
export interface WaitOptions {
  /** How long to wait, ms. Default: the client's `waitMs`, else no limit; of a latch no limit. 0: one attempt. Infinity: no limit. */
  waitMs?: number | undefined
  /** Ends the wait; the call rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** The limits of a call for permits, and their number. */
export interface PermitOptions extends WaitOptions {
  /**
   * The call rejects with LockBusyError at once, instead of waiting, where so many wait for permits already: callers of this
   * client, and each other client that waits as one. 0: it never waits. Default: the client's `maxWaiting`, else no bound.
   */
  maxWaiting?: number | undefined
  /** Number of permits, all or none. Default 1. */
  permits?: number | undefined
}

export type PermitWaitOptions = Omit<PermitOptions, 'permits'>

export const WAIT_OPTIONS: KnownKeys<WaitOptions> = { waitMs: true, signal: true }

export const PERMIT_WAIT_OPTIONS: KnownKeys<PermitWaitOptions> = { ...WAIT_OPTIONS, maxWaiting: true }

/** The limits of a wait. */
export interface WaitLimits {
  /** undefined: no limit. */
  readonly waitMs: number | undefined
  readonly signal: AbortSignal | undefined
  /** It waits without a limit that was asked for. */
  readonly isUnlimited: boolean
}

/** The limits of a wait for permits. */
export interface PermitLimits extends WaitLimits {
  /** undefined: no bound. */
  readonly maxWaiting: number | undefined
}

/** The contexts around a call. */
export interface ContextsAround {
  signalBeside(signal: AbortSignal | undefined): AbortSignal | undefined
}

/** The limits of a call: its own, and the signals of contexts around it. @throws InvalidArgumentError */
export function waitLimits(
  { waitMs: given, signal }: WaitOptions,
  contexts: ContextsAround,
  defaultWaitMs?: number,
): WaitLimits {
  // null is a mistake, and not a limit that was left out.
  const waitMs = given === undefined ? defaultWaitMs : given
  checkWait('waitMs', waitMs)
  const limitMs = waitMs === Infinity ? undefined : waitMs
  return {
    waitMs: limitMs,
    signal: contexts.signalBeside(nativeSignal(signal)),
    isUnlimited: waitMs === undefined,
  }
}

/** The limits of a call for permits: its own, else the client's. @throws InvalidArgumentError */
export function permitLimits(
  options: PermitWaitOptions,
  contexts: ContextsAround,
  defaults: Pick<PermitLimits, 'waitMs' | 'maxWaiting'>,
): PermitLimits {
  const { maxWaiting = defaults.maxWaiting } = options
  checkMaxWaiting(maxWaiting)
  return { ...waitLimits(options, contexts, defaults.waitMs), maxWaiting }
}

/** Writes the limits into a wait's request. */
export function limitWait<T>(wait: WaitRequest<T>, { waitMs, signal }: WaitLimits): WaitRequest<T> {
  if (waitMs !== undefined) {
    wait.timeoutMs = waitMs
    wait.answerMs = ANSWER_MS
  }
  if (signal) {
    wait.signal = signal
  }
  return wait
}
