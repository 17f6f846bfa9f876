interface Response {
  once(event: 'close', listener: () => void): unknown
}

/** The HTTP requests that are not answered yet. */
export class RunningRequests {
  private readonly responses = new Map<Response, Promise<void>>()

  readonly middleware = (_request: unknown, response: Response, next: () => void): void => {
    const closed = new Promise<void>((resolve) => response.once('close', resolve))
    this.responses.set(
      response,
      closed.then(() => void this.responses.delete(response)),
    )
    next()
  }

  /** Resolves when those that run now are answered, at the latest after `limitMs`. Later ones are not waited for. */
  async drained(limitMs: number): Promise<void> {
    if (limitMs === 0 || this.responses.size === 0) {
      return
    }
    const limit = AbortSignal.timeout(limitMs)
    const over = new Promise<void>((resolve) =>
      limit.addEventListener('abort', () => resolve(), { once: true }),
    )
    await Promise.race([Promise.all(this.responses.values()), over])
  }
}
