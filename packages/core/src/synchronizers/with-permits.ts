import { refuseLazy } from '../arguments/lazy-result.js'
import { ClientClosedError } from '../errors.js'
import type { SynchronizerServices } from './services.js'
import { borrow, type BorrowedPermit } from '../client/borrowed-permits.js'

/** Permits that are released when a callback has settled or when the client closes, whichever is first, once. */
class ScopedPermits implements BorrowedPermit {
  private readonly closing = new AbortController()
  private returning: Promise<unknown> | null = null

  constructor(
    readonly lockName: string,
    private readonly release: () => Promise<unknown>,
  ) {}

  get signal(): AbortSignal {
    return this.closing.signal
  }

  returned(): Promise<unknown> {
    this.returning ??= this.release()
    return this.returning
  }

  releaseOnClose(): Promise<unknown> {
    this.closing.abort(new ClientClosedError(this.lockName))
    return this.returned()
  }
}

/** The permits of one call. */
interface Permits {
  readonly lockName: string
  /** The key of the semaphore in Redis. */
  readonly key: string
  readonly acquire: () => Promise<void>
  readonly release: () => Promise<unknown>
}

/**
 * Acquires permits, runs the callback, and releases them, waiting for the reply as `withLock` does. A release that
 * fails, or gets no reply in time, hides neither the callback's result nor its error: it is retried in the
 * background, and 'release-failed' reports a final failure.
 */
export async function withPermits<T>(
  session: SynchronizerServices,
  { lockName, key, acquire, release }: Permits,
  callback: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const { borrowedPermits } = session
  const begin = (): ScopedPermits => {
    const scoped = new ScopedPermits(lockName, release)
    borrowedPermits.add(scoped)
    return scoped
  }
  const scoped = await borrow(session, { lockName, obtain: acquire, begin, undo: release })
  try {
    return refuseLazy('callback', await callback(scoped.signal))
  } finally {
    const whenWritten = scoped.signal.aborted
      ? null
      : (tell: (isWritten: boolean) => void) => session.runner.whenWritten(key, tell)
    await session.releaseWaits.leave({ whenWritten, release: () => scoped.returned() }).catch(() => undefined)
    borrowedPermits.remove(scoped)
  }
}
