import type { LockKind } from '../diagnostics/messages.js'
import { localName } from '../keys.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { ReleaseReply } from '../scripts/lock.js'
import type { Session } from '../client/session.js'
import type { Backoff } from './backoff.js'
import type { HoldChange } from '../entry/entry-command.js'
import type { CallerLine } from './lock-protocol.js'
import { ReentrantProtocol } from './reentrant.js'

/** Redisson's RSpinLock: an RLock without messages. The head of the local line asks again after pauses. */
export class SpinProtocol extends ReentrantProtocol {
  override readonly kind: LockKind = 'spin'
  // A line of its own: behind a caller of `getLock` that has it, the next would sleep until a message.
  private readonly queue: string

  constructor(
    session: Session,
    lockName: string,
    private readonly backoff: Backoff,
  ) {
    super(session, lockName, false)
    this.queue = localName('spin', this.key)
  }

  override lineOf(): CallerLine {
    return { queue: this.queue }
  }

  override get isAwaited(): boolean {
    return this.session.waiter.isWaiting(this.queue)
  }

  pauseAfter(refusals: number): number {
    return this.backoff(refusals, this.session.options.random)
  }

  override release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const reply = super.release(change, handler)
    if (change.holds === 0) {
      // Beside the answer's way to the caller, which is not to become longer by it.
      reply.then(this.wakeNext, () => undefined)
    }
    return reply
  }

  override async forceRelease(): Promise<boolean> {
    const released = await super.forceRelease()
    this.wakeNext()
    return released
  }

  /** It asks rarely while another caller of this client has the lock: whoever ends that tells it. */
  private readonly wakeNext = (): void => {
    this.session.waiter.wake(this.queue)
  }
}
