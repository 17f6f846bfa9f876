import type { Hold, LockClient, LockEvents } from '../../../src/index.js'
import { eventually, soon, type Rig } from './rig.js'

// Waits of callers, and the ends of their calls and holds.

/** A caller that waits for a lock that is held, once it has subscribed. */
export async function waitBehind<T = Hold>(
  rig: Pick<Rig, 'heard'>,
  name: string,
  wait: () => Promise<T>,
): Promise<{ readonly waiting: Promise<T> }> {
  const waiting = wait()
  // A test that fails before it looks closes the client over it.
  waiting.catch(() => undefined)
  await rig.heard(name)
  return { waiting }
}

// A machine that is busy takes its time; what never comes is a clear failure.
const WITHIN_MS = 10_000

/** The next event of a client. A test that fails before it awaits it has one failure, not a second one of the file. */
export const nextEvent = <E extends keyof LockEvents>(locks: LockClient, event: E, withinMs = WITHIN_MS) => {
  const next = soon(new Promise<LockEvents[E]>((resolve) => locks.on(event, resolve)), withinMs)
  next.catch(() => undefined)
  return next
}

/** The reason of a signal, once it has aborted. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    const tell = (): void => resolve(signal.reason)
    if (signal.aborted) tell()
    else signal.addEventListener('abort', tell, { once: true })
  })
}

/** When a hold was lost, on the clock of `performance.now()`; at once if that was before. */
export function lostAt({ signal }: Pick<Hold, 'signal'>): Promise<number> {
  const lost = new Promise<number>((resolve) => {
    const tell = (): void => resolve(performance.now())
    if (signal.aborted) tell()
    else signal.addEventListener('abort', tell, { once: true })
  })
  return soon(lost, WITHIN_MS)
}

/** Resolves when what is left of a lease is more than it was: it has been renewed. */
export async function rises(read: () => number | Promise<number>, withinMs?: number): Promise<void> {
  let before = await read()
  await eventually(async () => {
    const now = await read()
    const has = now > before
    before = now
    return has
  }, withinMs)
}

/** Resolves when a lease has been renewed: only an answer to that makes trust grow. Rejects when the hold is lost. */
export const renewed = (hold: Pick<Hold, 'lossError' | 'trustedForMs'>): Promise<void> =>
  rises(() => {
    if (hold.lossError) throw hold.lossError
    return hold.trustedForMs
  }, WITHIN_MS)

/** The end of a call: its result or its error. */
export function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return soon(call).catch((error: unknown) => error)
}

/** The next loss that a client reports, and when, on the clock of `performance.now`. */
export async function nextLoss(locks: LockClient, withinMs?: number) {
  const event = await nextEvent(locks, 'lost', withinMs)
  return { event, atMs: performance.now() }
}

/** How a call failed; fails itself when it did not. */
export async function failureOf(call: Promise<unknown>, withinMs?: number): Promise<unknown> {
  let result: unknown
  try {
    result = await soon(call, withinMs)
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
