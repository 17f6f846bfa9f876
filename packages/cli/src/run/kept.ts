import type { LockClient, LockHold } from '@holdfast/core'

/** The lock or permit that is held while the command runs. */
export interface Kept {
  readonly owner: string
  /** The token of a fenced lock. */
  readonly token: string | undefined
  readonly trustedForMs: number
  readonly signal: AbortSignal
  release(): Promise<unknown>
}

export type LockChoice = 'fenced' | 'fair' | 'read' | 'write' | { readonly permits: number }

export interface Wanted {
  readonly name: string
  readonly lock: LockChoice
  /** That of the client. */
  readonly leaseMs: number
  /** Undefined: as long as it takes. */
  readonly waitMs: number | undefined
  readonly signal: AbortSignal
}

/**
 * Waits for the lock or the permit, until it has its whole lease.
 * @param differs is told how many permits the semaphore has, if others gave it another number
 * @throws LockTimeoutError, LockLostError, and the reason of the signal
 */
export async function keep(
  locks: LockClient,
  { name, lock, leaseMs, waitMs, signal }: Wanted,
  differs: (permits: number) => void,
): Promise<Kept> {
  const options = { signal, ...(waitMs !== undefined && { waitMs }) }
  if (typeof lock === 'object') {
    const semaphore = locks.getPermitExpirableSemaphore(name)
    if (!(await semaphore.trySetPermits(lock.permits))) {
      const permits = await semaphore.getPermits()
      if (permits !== lock.permits) {
        differs(permits)
      }
    }
    const permit = await semaphore.acquirePermit({ ...options, renew: true })
    return asKept(permit, permit.id, undefined)
  }
  if (lock === 'fenced') {
    const hold = await locks.getFencedLock(name).acquire(options)
    await confirm(hold, leaseMs)
    return asKept(hold, hold.owner, hold.token)
  }
  const both = locks.getReadWriteLock(name)
  const chosen =
    lock === 'fair' ? locks.getFairLock(name) : lock === 'read' ? both.readLock() : both.writeLock()
  const hold = await chosen.acquire(options)
  await confirm(hold, leaseMs)
  return asKept(hold, hold.owner, undefined)
}

/**
 * A lock that another client's release granted is trusted for a second or two, until its own lease is asked for: for less
 * than the grace that a command has before the end of the trust.
 */
async function confirm(
  hold: Pick<LockHold, 'trustedForMs' | 'extend' | 'release'>,
  leaseMs: number,
): Promise<void> {
  if (hold.trustedForMs >= leaseMs / 2) {
    return
  }
  try {
    await hold.extend(leaseMs)
  } catch (error) {
    // Nothing runs under it: whoever is next need not wait for its end.
    await hold.release().catch(() => undefined)
    throw error
  }
}

function asKept(
  held: Pick<Kept, 'signal' | 'trustedForMs' | 'release'>,
  owner: string,
  token: string | undefined,
): Kept {
  return {
    owner,
    token,
    signal: held.signal,
    get trustedForMs() {
      return held.trustedForMs
    },
    release: () => held.release(),
  }
}
