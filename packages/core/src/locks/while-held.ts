import type { Acquisition } from '../acquire/acquisition.js'
import { Frame, type Context, type CallSite, type SiblingMutex } from '../context/context.js'
import { type Contexts, isThenable, started, whole } from '../context/ambient.js'
import { LockLostError } from '../errors.js'
import type { LockHold, ReleaseOutcome } from '../hold.js'
import { releaseSiblingMutex } from '../acquire/reentry.js'
import type { Leaving } from '../runtime/release-waits.js'
import type { LockServices } from './services.js'

/** One acquisition that the callback runs under. */
export interface HeldPart {
  readonly session: LockServices
  acquisition: Acquisition
  /** The frame that the callback runs in; for holds of several locks, while it runs. */
  frame?: Frame
  /** Released together with the hold: the mutex under which siblings re-enter. */
  readonly siblingMutex: SiblingMutex | null
  /** The call site of the `withLock`. */
  readonly site: CallSite
}

/** The hold that `withLock` acquired: one hold, of one lock or of several. */
export interface Entered<H> {
  /** The session of the lock whose `withLock` was called. */
  readonly session: LockServices
  readonly hold: H
  readonly parts: readonly HeldPart[]
}

/**
 * Runs the callback under the hold, then releases it. Waits for the reply to the release at most `releaseWaitMs`.
 * @param own the context opened for the callback, when the call had no context around it
 * @throws the error of the callback; LockLostError, with the callback's result
 */
export async function whileHeld<H extends LockHold & Leaving<ReleaseOutcome>, T>(
  { session, hold, parts }: Entered<H>,
  own: Context | null,
  callback: (hold: H) => Promise<T> | T,
): Promise<T> {
  const frames: Frame[] = []
  let result: T | undefined
  let failure: { readonly error: unknown } | null = null
  try {
    const entered = enter(parts, frames, () => started(callback(hold)))
    result = whole(isThenable(entered) ? await entered : entered)
  } catch (error) {
    failure = { error }
  }
  // Callbacks that fail leave calls behind that nobody awaits any more, as in a Promise.all: that is no mistake.
  if (!failure && frames.some((frame) => frame.isReentered)) {
    session.contextEnds.reentered(hold.lockName)
  }
  // A task that outlives the callback acquires nothing in its name.
  frames.forEach((frame) => (frame.alive = false))
  own?.end()
  let released: ReleaseOutcome | null = null
  try {
    released = await session.releaseWaits.leave<ReleaseOutcome>(hold)
  } catch {
    // A release that fails or gets no reply in time must not hide the callback's result or error: the work was done
    // under the lock. The release is retried in the background, and 'release-failed' reports the outcome.
  }
  parts.forEach(leave)
  if (own?.keepsAny) {
    session.contextEnds.ended(own)
  }
  if (failure) {
    throw failure.error
  }
  if (released === 'lost' || (released === null && hold.lossError)) {
    throw lostWith(hold, result)
  }
  return result as T
}

/** Enters a frame per part, and one call site per client. */
function enter<T>(parts: readonly HeldPart[], frames: Frame[], callback: () => T): T {
  const [only] = parts
  if (only && parts.length === 1) {
    // One lock, the hot path: no maps.
    const { session, site, acquisition } = only
    const frame = new Frame(site.context, site.frame, acquisition.protocol.scope, acquisition)
    frames.push(frame)
    return session.contexts.enter({ context: site.context, frame }, callback)
  }
  const innermost = new Map<Contexts, CallSite>()
  for (const part of parts) {
    const { session, site, acquisition } = part
    const outer = innermost.get(session.contexts) ?? site
    const frame = new Frame(outer.context, outer.frame, acquisition.protocol.scope, acquisition)
    frames.push(frame)
    part.frame = frame
    innermost.set(session.contexts, { context: outer.context, frame })
  }
  let run = callback
  for (const [contexts, site] of innermost) {
    const inner = run
    run = () => contexts.enter(site, inner)
  }
  return run()
}

function leave({ session, acquisition, siblingMutex }: HeldPart): void {
  acquisition.leaveToContext()
  releaseSiblingMutex(session, siblingMutex)
}

/** The callback succeeded, but not under the lock. */
function lostWith(hold: LockHold, result: unknown): LockLostError {
  const { lockName, owner, lossError } = hold
  return new LockLostError({ lockName, owner, reason: lossError?.reason ?? 'gone', result, cause: lossError })
}
