import { AsyncLocalStorage } from 'node:async_hooks'
import type { Session } from '../client/session.js'
import { SelfDeadlockError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { LockClient } from '../lock-client.js'
import { oncePerProcess } from '../runtime/once-per-process.js'
import type { SharedRun, Task } from './caller.js'
import { detailsOf } from './error-details.js'
import type { Leaving, RunProtocol } from './run-protocol.js'

/** The runs around a caller, each by its client and key. */
const around = oncePerProcess('share-runs', () => new AsyncLocalStorage<ReadonlySet<string>>())

export interface RunPlace {
  readonly locks: LockClient
  readonly session: Session
  /** `share:<name>:<key>`, and its key in Redis. */
  readonly lockName: string
  readonly lockKey: string
  readonly key: string
}

function nameOf({ session, lockName }: RunPlace): string {
  return `${session.clientId} ${lockName}`
}

/** @throws SelfDeadlockError the call is made by the run that it would wait for */
export function refuseInside(place: RunPlace): void {
  if (around.getStore()?.has(nameOf(place)) === true) {
    const why = 'the run of this key makes the call. Call what it needs directly'
    throw new SelfDeadlockError(place.lockName, place.session.clientId, why)
  }
}

/** Calls the function as a logical thread of its own. */
export async function callTask<T>(place: RunPlace, task: Task<T>, run: SharedRun): Promise<T> {
  const inside = new Set([...(around.getStore() ?? []), nameOf(place)])
  return place.locks.fork(async () => around.run(inside, async () => task(run)), { detached: true })
}

/** What became of a run. */
export type RunEnd =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'error'; readonly error: unknown }
  /** It lost its lock: what it did does not count. */
  | { readonly kind: 'lost'; readonly error: unknown }

/** What a run leaves if it succeeds, and its text. */
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
  { releaseWaits }: Session,
  make: () => Promise<Made>,
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
  const released = await releaseWaits.outcomeOf(hold.release()).catch(() => null)
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
