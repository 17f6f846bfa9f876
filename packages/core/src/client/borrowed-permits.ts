import type { Background } from '../runtime/background.js'

/** The client, as needed to borrow. */
interface Lender {
  readonly background: Background
  /** @throws ClientClosedError */
  assertOpen(lockName: string): void
}

/** Something the client must release before it closes. */
export interface BorrowedPermit {
  readonly lockName: string
  /** Absent: it stays until it is released, whatever happens to Redis. */
  readonly trustedForMs?: number
  /** The client is closing: notifies the user of the permit first, then releases it. */
  releaseOnClose(): Promise<unknown>
}

/** Permits that this client must release: they end with a callback or a handle. */
export class BorrowedPermits {
  private readonly borrowed = new Set<BorrowedPermit>()
  private onEmpty: (() => void) | null = null

  get all(): BorrowedPermit[] {
    return [...this.borrowed]
  }

  get isEmpty(): boolean {
    return this.borrowed.size === 0
  }

  add(borrowing: BorrowedPermit): void {
    this.borrowed.add(borrowing)
  }

  remove(borrowing: BorrowedPermit): void {
    this.borrowed.delete(borrowing)
    if (this.isEmpty) {
      this.onEmpty?.()
    }
  }

  /** Resolves when nothing is borrowed. */
  whenEmpty(): Promise<void> {
    return this.isEmpty ? Promise.resolve() : new Promise((resolve) => (this.onEmpty = resolve))
  }
}

/** How to borrow, and how to release what no caller received. */
interface Borrow<T, B> {
  readonly lockName: string
  readonly obtain: () => Promise<T>
  /** Registers a permit as soon as it is obtained, synchronously. */
  readonly begin: (obtained: T) => B
  readonly undo: (obtained: T) => Promise<unknown>
}

/**
 * Borrows something, as background work that `close` waits for. Without that, `close` could count the borrowed
 * permits between Redis's reply and the registration, and a permit registered after that would never be released.
 * @throws ClientClosedError; what `obtain` throws
 */
export function borrow<T, B>(session: Lender, how: Borrow<T, B>): Promise<B> {
  const borrowed = beginOrUndo(session, how)
  session.background.run(borrowed)
  return borrowed
}

async function beginOrUndo<T, B>(
  lender: Lender,
  { lockName, obtain, begin, undo }: Borrow<T, B>,
): Promise<B> {
  const obtained = await obtain()
  try {
    lender.assertOpen(lockName)
  } catch (error) {
    lender.background.run(undo(obtained))
    throw error
  }
  return begin(obtained)
}
