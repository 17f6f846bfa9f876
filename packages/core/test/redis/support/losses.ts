import type { Hold, LockClient } from '../../../src/index.js'
import { nextEvent } from './behind.js'
import { soon } from './rig.js'

/** The next loss that a client reports, and when, on the clock of `performance.now`. */
export async function nextLoss(locks: LockClient, withinMs?: number) {
  const event = await nextEvent(locks, 'lost', withinMs)
  return { event, atMs: performance.now() }
}

/** How a call failed; fails itself when it did not. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  let result: unknown
  try {
    result = await soon(call)
  } catch (error) {
    return error
  }
  throw new Error(`It did not fail, but gave ${String(result)}`)
}

/** The view of a holder that looks right now. */
export function belief(hold: Hold): { trusted: boolean; ensured: boolean; aborted: boolean } {
  let ensured = true
  try {
    hold.ensure()
  } catch {
    ensured = false
  }
  return { trusted: hold.trustedForMs > 0, ensured, aborted: hold.signal.aborted }
}

export const BELIEVES = { trusted: true, ensured: true, aborted: false }
export const KNOWS_BETTER = { trusted: false, ensured: false, aborted: true }
