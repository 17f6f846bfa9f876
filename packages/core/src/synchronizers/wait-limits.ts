import type { WaitRequest } from '@holdfast/waiter'
import { ANSWER_MS } from '../acquire/acquire-options.js'
import type { Contexts } from '../contexts.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkDuration, checkSignal } from '../arguments/validate.js'

export interface WaitOptions {
  /** How long to wait, ms. Default: no limit. 0: one attempt. */
  waitMs?: number | undefined
  /** Ends the wait; the call rejects with its reason. */
  signal?: AbortSignal | undefined
}

export const WAIT_OPTIONS: KnownKeys<WaitOptions> = { waitMs: true, signal: true }

/** The limits of a call: its own, and the signals of contexts around it. @throws InvalidArgumentError */
export function waitLimits({ waitMs, signal }: WaitOptions, contexts: Contexts): WaitOptions {
  checkDuration('waitMs', waitMs, 'zero')
  checkSignal(signal)
  return { waitMs, signal: contexts.signalBeside(signal) }
}

/** Writes the limits into a wait's request. */
export function limitWait<T>(wait: WaitRequest<T>, { waitMs, signal }: WaitOptions): WaitRequest<T> {
  if (waitMs !== undefined) {
    wait.timeoutMs = waitMs
    wait.answerMs = ANSWER_MS
  }
  if (signal) {
    wait.signal = signal
  }
  return wait
}
