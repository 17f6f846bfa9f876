import type { ReplyHandler } from './reply-handler.js'

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

  /** What has been asked for is under way until its answer has been read, and what its failure leads to has ended. */
  until<R, T>(handler: ReplyHandler<R, T>): ReplyHandler<R, T> {
    this.begin()
    return new CountedReading(this, handler)
  }

  /** Resolves when nothing is under way. */
  whenOver(): Promise<void> {
    return this.underWay === 0 ? Promise.resolve() : new Promise((resolve) => (this.onOver = resolve))
  }

  private begin(): void {
    this.underWay += 1
  }

  /** @internal Of something that `until` or `run` has begun. */
  readonly end = (): void => {
    this.underWay -= 1
    if (this.underWay === 0) {
      this.onOver?.()
    }
  }
}

class CountedReading<R, T> implements ReplyHandler<R, T> {
  constructor(
    private readonly background: Background,
    private readonly handler: ReplyHandler<R, T>,
  ) {}

  onReply(value: R): T {
    this.background.end()
    return this.handler.onReply(value)
  }

  onError(error: unknown): T | Promise<T> {
    try {
      const result = this.handler.onError(error)
      this.background.run(Promise.resolve(result))
      return result
    } finally {
      this.background.end()
    }
  }
}
