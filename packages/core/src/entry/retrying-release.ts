import { handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import type { ReleaseReply } from '../scripts/lock/release.js'

/** How long a write is tried, from when on (monotonic ms). */
export interface RetryLimit {
  readonly limitMs: number
  readonly startedAt: number
}

interface Persistent {
  insist(levels: { readonly count: number }, retryLimit: RetryLimit, error: unknown): Promise<ReleaseReply>
}

/** Reads the answer to a write of the hold count. Where there is none, it is tried on. */
export class RetryingRelease<T> implements ReplyHandler<ReleaseReply, T> {
  constructor(
    private readonly writer: Persistent,
    private readonly levels: { readonly count: number },
    private readonly retryLimit: RetryLimit,
    private readonly handler: ReplyHandler<ReleaseReply, T>,
  ) {}

  onReply(reply: ReleaseReply): T {
    return this.handler.onReply(reply)
  }

  onError(error: unknown): Promise<T> {
    return handleReply(this.writer.insist(this.levels, this.retryLimit, error), this.handler)
  }
}
