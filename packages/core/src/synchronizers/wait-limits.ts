import type { WaitRequest } from '@holdfast/waiter'
import { ANSWER_MS } from '../acquire-call.js'
import { checkDuration, checkSignal } from '../validate.js'

export interface WaitOptions {
  /** How long to wait, ms. Left out: for ever. 0: one attempt. */
  waitMs?: number | undefined
  /** Ends the wait; the call rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** @throws InvalidArgumentError */
export function checkWait({ waitMs, signal }: WaitOptions): void {
  checkDuration('waitMs', waitMs, 'zero')
  checkSignal(signal)
}

/** The limits of a wait, written into its request. */
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
