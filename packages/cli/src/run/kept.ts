import type { LockClient } from '@holdfast/core'

/** What is held while the command runs: a lock, or a permit. */
export interface Kept {
  readonly owner: string
  /** Of a fenced lock. */
  readonly token: string | undefined
  readonly trustedForMs: number
  readonly signal: AbortSignal
  release(): Promise<unknown>
}

export type LockChoice = 'fenced' | 'fair' | 'read' | 'write' | { readonly permits: number }

export interface Wanted {
  readonly name: string
  readonly lock: LockChoice
  /** Undefined: as long as it takes. */
  readonly waitMs: number | undefined
  readonly signal: AbortSignal
}

/**
 * Waits for the lock or the permit.
 * @param differs is told how many permits the semaphore has, if others gave it another number
 * @throws LockTimeoutError, and the reason of the signal
 */
export async function keep(
  locks: LockClient,
  { name, lock, waitMs, signal }: Wanted,
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
    return asKept(hold, hold.owner, hold.token)
  }
  const both = locks.getReadWriteLock(name)
  const chosen =
    lock === 'fair' ? locks.getFairLock(name) : lock === 'read' ? both.readLock() : both.writeLock()
  const hold = await chosen.acquire(options)
  return asKept(hold, hold.owner, undefined)
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
