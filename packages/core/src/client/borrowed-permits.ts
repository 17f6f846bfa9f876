import type { Background } from '../runtime/background.js'

/** What borrowing needs of its client. */
interface Lender {
  readonly background: Background
  /** @throws ClientClosedError */
  assertOpen(lockName: string): void
}

/** What a client has to give back before it is closed. */
export interface BorrowedPermit {
  /** The client closes over it: whoever uses it is told first, and then it is given back. */
  releaseOnClose(): Promise<unknown>
}

/** Permits that this client answers for: they end with a callback or a handle. */
export class BorrowedPermits {
  private readonly borrowed = new Set<BorrowedPermit>()
  private onEmpty: (() => void) | null = null

  get all(): BorrowedPermit[] {
    return [...this.borrowed]
  }

  add(borrowing: BorrowedPermit): void {
    this.borrowed.add(borrowing)
  }

  remove(borrowing: BorrowedPermit): void {
    this.borrowed.delete(borrowing)
    if (this.borrowed.size === 0) {
      this.onEmpty?.()
    }
  }

  /** Resolves when nothing is borrowed. */
  whenEmpty(): Promise<void> {
    return this.borrowed.size === 0 ? Promise.resolve() : new Promise((resolve) => (this.onEmpty = resolve))
  }
}

/** How something is borrowed, and how it goes back that nobody was given. */
interface Borrow<T, B> {
  readonly lockName: string
  readonly obtain: () => Promise<T>
  /** Adds to what is borrowed, in its turn. */
  readonly begin: (obtained: T) => B
  readonly giveBack: (obtained: T) => Promise<unknown>
}

/**
 * Borrows something. Work that `close` waits for: between the answer of Redis and what is made of it `close` may look at
 * what is borrowed, and nobody would give back what is added after that.
 * @throws ClientClosedError; what `obtain` throws
 */
export function borrow<T, B>(session: Lender, how: Borrow<T, B>): Promise<B> {
  const borrowed = beginOrGiveBack(session, how)
  session.background.run(borrowed)
  return borrowed
}

async function beginOrGiveBack<T, B>(
  lender: Lender,
  { lockName, obtain, begin, giveBack }: Borrow<T, B>,
): Promise<B> {
  const obtained = await obtain()
  try {
    lender.assertOpen(lockName)
  } catch (error) {
    lender.background.run(giveBack(obtained))
    throw error
  }
  return begin(obtained)
}
