interface Response {
  readonly destroyed?: boolean
  once(event: 'finish' | 'close', listener: () => void): unknown
}

/** The HTTP requests without a complete response. */
export class RunningRequests {
  private readonly responses = new Map<Response, Promise<void>>()

  readonly middleware = (_request: unknown, response: Response, next: () => void): void => {
    // If the client disconnected in an earlier middleware, the response is closed already and will not emit again.
    if (response.destroyed !== true) {
      this.keep(response)
    }
    next()
  }

  private keep(response: Response): void {
    const ended = new Promise<void>((resolve) => {
      // A response without a connection, as in a serverless function, never closes.
      response.once('finish', resolve)
      response.once('close', resolve)
    })
    this.responses.set(
      response,
      ended.then(() => void this.responses.delete(response)),
    )
  }

  /**
   * Resolves when all requests running now are answered, after `limitMs` at the latest. Later ones are not waited
   * for.
   */
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
