/**
 * Work that no caller waits for, only `close`. Counted instead of kept: most of it is releases, and a promise for
 * each is a cost.
 */
export class Background {
  private underWay = 0
  private onOver: (() => void) | null = null

  /** How many tasks are under way. */
  get size(): number {
    return this.underWay
  }

  run(work: Promise<unknown>): void {
    this.begin()
    work.then(this.end, this.end)
  }

  /** Resolves when no task is under way. */
  whenOver(): Promise<void> {
    return this.underWay === 0 ? Promise.resolve() : new Promise((resolve) => (this.onOver = resolve))
  }

  /** A task is under way until `end` is called. */
  begin(): void {
    this.underWay += 1
  }

  /** Ends a task that has begun. */
  readonly end = (): void => {
    this.underWay -= 1
    if (this.underWay === 0) {
      this.onOver?.()
    }
  }
}
