import type { ForeignRule } from '../arguments/foreign-locks.js'
import type { LockKind } from '../diagnostics/messages.js'
import { localName } from '../keys.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { ForceOutcome, ReleaseReply } from '../scripts/lock.js'
import type { KindServices } from './services.js'
import type { Backoff } from './backoff.js'
import type { HoldChange } from '../entry/entry-commands.js'
import type { CallerLine } from './lock-protocol.js'
import { SingleOwnerProtocol } from './single-owner.js'

/** Redisson's RSpinLock: an RLock without messages. The head of the local queue retries with a backoff. */
export class SpinProtocol extends SingleOwnerProtocol {
  readonly kind: LockKind = 'spin'
  // A queue of its own: behind a holder from `getLock`, the next caller would sleep until a message.
  private readonly queue: string

  constructor(
    session: KindServices,
    lockName: string,
    foreignLocks: ForeignRule,
    private readonly backoff: Backoff,
  ) {
    super(session, lockName, foreignLocks, false)
    this.queue = localName('spin', this.key)
  }

  override lineOf(): CallerLine {
    return { queue: this.queue }
  }

  override get isAwaited(): boolean {
    return this.session.waiter.isWaiting(this.queue)
  }

  pauses(): () => number {
    const { runtime } = this.session
    let refusals = 0
    return () => this.backoff((refusals += 1), () => runtime.random())
  }

  override release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const reply = super.release(change, handler)
    if (change.holds === 0) {
      // Not chained into the reply, which would delay the caller.
      reply.then(this.wakeNext, () => undefined)
    }
    return reply
  }

  override async forceRelease(holder?: string): Promise<ForceOutcome> {
    const outcome = await super.forceRelease(holder)
    this.wakeNext()
    return outcome
  }

  /** The head retries rarely while this client itself holds the lock, so the local release wakes it. */
  private readonly wakeNext = (): void => {
    this.session.waiter.wake(this.queue)
  }
}
