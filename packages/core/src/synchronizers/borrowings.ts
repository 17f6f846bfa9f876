/** What a client has to give back before it is closed. */
export interface Borrowing {
  /** The client closes over it: whoever uses it is told first, and then it is given back. */
  surrender(): Promise<unknown>
}

/** Permits that this client answers for: they end with a callback or a handle. */
export class Borrowings {
  private readonly borrowed = new Set<Borrowing>()
  private onEmpty: (() => void) | null = null

  get all(): Borrowing[] {
    return [...this.borrowed]
  }

  add(borrowing: Borrowing): void {
    this.borrowed.add(borrowing)
  }

  remove(borrowing: Borrowing): void {
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
