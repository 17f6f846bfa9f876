interface Response {
  readonly destroyed?: boolean
  once(event: 'finish' | 'close', listener: () => void): unknown
}

/** The HTTP requests that are not answered yet. */
export class RunningRequests {
  private readonly responses = new Map<Response, Promise<void>>()

  readonly middleware = (_request: unknown, response: Response, next: () => void): void => {
    // Whose client has gone in a middleware before this one has closed already, and does not say so again.
    if (response.destroyed !== true) {
      this.keep(response)
    }
    next()
  }

  private keep(response: Response): void {
    const ended = new Promise<void>((resolve) => {
      // What has no connection, as in a function in the cloud, never closes.
      response.once('finish', resolve)
      response.once('close', resolve)
    })
    this.responses.set(
      response,
      ended.then(() => void this.responses.delete(response)),
    )
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
