import type { Answer, Attempt, Place, WaitingCallers } from '@holdfast/waiter'
import { LockBusyError } from '../errors.js'
import type { CallerLine } from '../kinds/lock-protocol.js'
import type { KindServices } from '../kinds/services.js'
import { countListeners } from '../scripts/lock.js'

/** The lock or the permits that a line is for. */
export interface Wanted {
  readonly lockName: string
  readonly key: string
  /** The kind of thing that the message names. Default: "Lock". */
  readonly what?: string
  /** The holder, if it is known. */
  readonly holder?: () => LockBusyError['holder']
}

/**
 * `maxWaiting` of one call, where Redis keeps no line of all that wait. Of this client each caller counts; of the others
 * that it cannot see each connection that listens for the release counts as one. So as many wait as it says, or more.
 */
export class LineBound {
  /** Nobody of this client was there before: it tries at once, and what Redis says decides. */
  readonly isFirst: boolean
  /** Its first refusal is still to come, which decides whether it may wait. */
  decides: boolean
  /** Too many wait, and the call has left. */
  busy: LockBusyError | null = null
  private readonly here: WaitingCallers

  /** Before the call enters its queue. @throws LockBusyError */
  constructor(
    private readonly session: Pick<KindServices, 'waiter' | 'runner' | 'runtime'>,
    private readonly wanted: Wanted,
    private readonly line: CallerLine,
    private readonly maxWaiting: number,
  ) {
    const { waiter } = session
    this.isFirst = !waiter.isWaiting(line.queue)
    this.decides = this.isFirst
    this.here = waiter.lineAt(line.queue)
    if (!this.isFirst && this.here.waiting >= maxWaiting) {
      throw this.refusalFor(this.here.waiting)
    }
  }

  /** Behind callers of this client: those of others may be too many. Then the call leaves, and is `busy`. */
  async watch(place: Place<unknown>): Promise<void> {
    const refusal = await this.refusal()
    if (refusal) {
      this.busy = refusal
      place.leave()
    }
  }

  /** The answer of a first try. Rejects with LockBusyError where it was refused, and too many wait. */
  async after<T>(answer: Answer<Attempt<T>>): Promise<Attempt<T>> {
    const attempt = await answer
    if (attempt.kind === 'refused') {
      const refusal = await this.refusal()
      if (refusal) {
        throw refusal
      }
      this.decides = false
    }
    return attempt
  }

  /** undefined: the call may wait. */
  async refusal(): Promise<LockBusyError | undefined> {
    const waiting = this.here.waiting + (this.maxWaiting === 0 ? 0 : await this.waitingElsewhere())
    return waiting >= this.maxWaiting ? this.refusalFor(waiting) : undefined
  }

  private async waitingElsewhere(): Promise<number> {
    const { session, wanted } = this
    const { topic } = this.line
    if (topic === undefined) {
      return 0
    }
    // Without an answer it waits, like any call while Redis does not answer.
    const listening = await countListeners(session.runner, { ...wanted, channel: topic }).catch(() => 0)
    // While it subscribes or unsubscribes, Redis may count this client: better one too few.
    const isCounted = session.waiter.topics.isLive(topic) !== false
    return Math.max(0, listening - Number(isCounted))
  }

  private refusalFor(waiting: number): LockBusyError {
    const { wanted, maxWaiting, session } = this
    // The first here is this call itself.
    const firstStartedAt = this.isFirst ? undefined : this.here.firstStartedAt
    return tooMany(wanted, { waiting, firstStartedAt }, maxWaiting, session.runtime.now())
  }
}

/** The error of a call that would be one too many. @param now monotonic ms */
export function tooMany(
  { lockName, what, holder }: Omit<Wanted, 'key'>,
  { waiting, firstStartedAt }: WaitingCallers,
  maxWaiting: number,
  now: number,
): LockBusyError {
  const firstWaitedMs = firstStartedAt === undefined ? undefined : now - firstStartedAt
  return new LockBusyError({ lockName, waiting, maxWaiting, firstWaitedMs, holder: holder?.() }, what)
}
