/** Work that nobody waits for but `close`. Counted and not kept: most of it is releases, and a promise costs each. */
export class Background {
  private underWay = 0
  private onOver: (() => void) | null = null

  /** How much is under way. */
  get size(): number {
    return this.underWay
  }

  run(work: Promise<unknown>): void {
    this.begin()
    work.then(this.end, this.end)
  }

  /** Resolves when nothing is under way. */
  whenOver(): Promise<void> {
    return this.underWay === 0 ? Promise.resolve() : new Promise((resolve) => (this.onOver = resolve))
  }

  /** Something is under way until `end` is called. */
  begin(): void {
    this.underWay += 1
  }

  /** Of something that has begun. */
  readonly end = (): void => {
    this.underWay -= 1
    if (this.underWay === 0) {
      this.onOver?.()
    }
  }
}
