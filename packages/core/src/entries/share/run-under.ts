import { detached, type Hold, type ReleaseOutcome, type LockClient } from '../../index.js'
import { refuseLazy, type LockServices } from '../door.js'
import type { SharedRun, Task } from './caller.js'
import { detailsOf } from './error-details.js'
import type { Leaving, RunProtocol } from './run-protocol.js'
import { callInside } from './run-waits.js'

export interface RunPlace {
  readonly locks: LockClient
  readonly session: LockServices
  /** `share:<name>:<key>`, and its key in Redis. */
  readonly lockName: string
  readonly lockKey: string
  readonly key: string
}

/** Calls the function as a logical thread of its own. */
export async function callTask<T>(place: RunPlace, task: Task<T>, run: SharedRun): Promise<T> {
  const inside = async (): Promise<T> => refuseLazy('task', await task(run))
  return detached(() => place.locks.fork(() => callInside(place, inside)))
}

/** The outcome of a run. */
export type RunEnd =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'error'; readonly error: unknown }
  /** It lost its lock: what it did does not count. */
  | { readonly kind: 'lost'; readonly error: unknown }

/** The value that a run leaves if it succeeds, and its text. */
export interface Made {
  readonly text: string
  readonly freshMs: number
  readonly usableMs: number
}

/**
 * Runs under the lock, and leaves the result while it is held: one script compares the owner, stores the result, releases
 * the lock and wakes those who wait. Waits for its reply as `withLock` does; without one it is sent on in the background,
 * and the result counts here.
 */
export async function runUnder(
  hold: Hold,
  protocol: RunProtocol,
  { releaseWaits }: LockServices,
  { make, finishing }: { readonly make: () => Promise<Made>; readonly finishing: () => void },
): Promise<RunEnd> {
  // From here on a release is that of a lock that was lost, or whose client closes.
  protocol.leaving = null
  const made = make().then(
    (result) => ({ kind: 'value' as const, ...result }),
    (error: unknown) => ({ kind: 'error' as const, error }),
  )
  const end = await Promise.race([made, whenLost(hold)])
  // Asked again: after a pause of the process the result may be there before the end of the lease is noticed.
  if (end.kind === 'lost' || hold.lossError) {
    return { kind: 'lost', error: hold.lossError }
  }
  protocol.leaving = leavingOf(end)
  finishing()
  const released = await releaseWaits.leave<ReleaseOutcome>(hold).catch(() => null)
  if (released !== null && released !== 'released') {
    return { kind: 'lost', error: hold.lossError }
  }
  return end
}

function leavingOf(
  end: ({ readonly kind: 'value' } & Made) | { readonly kind: 'error'; readonly error: unknown },
): Leaving {
  return end.kind === 'value'
    ? { stored: { kind: 'v', text: end.text }, freshMs: end.freshMs, usableMs: end.usableMs }
    : {
        stored: { kind: 'e', text: JSON.stringify(detailsOf(end.error)) },
        freshMs: 0,
        usableMs: 0,
      }
}

function whenLost(hold: Hold): Promise<{ readonly kind: 'lost' }> {
  const { signal } = hold
  return new Promise((resolve) => {
    const lost = (): void => resolve({ kind: 'lost' })
    signal.addEventListener('abort', lost, { once: true })
    if (signal.aborted) {
      lost()
    }
  })
}
