import { ClientClosedError } from '../errors.js'
import type { Borrowing, Borrowings } from './borrowings.js'

/** Permits that go back when a callback has settled, or when its client closes over it: once, whoever is first. */
class ScopedPermits implements Borrowing {
  private readonly closing = new AbortController()
  private returning: Promise<unknown> | null = null

  constructor(
    private readonly lockName: string,
    private readonly giveBack: () => Promise<unknown>,
  ) {}

  get signal(): AbortSignal {
    return this.closing.signal
  }

  returned(): Promise<unknown> {
    this.returning ??= this.giveBack()
    return this.returning
  }

  surrender(): Promise<unknown> {
    this.closing.abort(new ClientClosedError(this.lockName))
    return this.returned()
  }
}

/**
 * Runs the callback and gives back. A giving back that fails hides neither its result nor its error: it is tried on in
 * the background, and 'release-failed' tells if it never came through.
 */
export async function withPermits<T>(
  borrowings: Borrowings,
  permits: { readonly lockName: string; readonly giveBack: () => Promise<unknown> },
  callback: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const scoped = new ScopedPermits(permits.lockName, permits.giveBack)
  borrowings.add(scoped)
  try {
    return await callback(scoped.signal)
  } finally {
    await scoped.returned().catch(() => undefined)
    borrowings.remove(scoped)
  }
}
