import {
  unlockChannel,
  type AcquireTerms,
  type HoldChange,
  PlainProtocol,
  type ReplyHandler,
  type AcquireReply,
  type ReleaseReply,
  type LockServices,
} from '../door.js'
import {
  enterCall,
  finishCall,
  type EnterReply,
  type FinishReply,
  type Found,
  type StoredResult,
} from './scripts.js'

/** The result that a caller takes instead of a run of its own. */
export interface Wanted {
  /** How old a kept result may be, ms. */
  readonly freshMs: number
  /** How old a result may be that is served while a run is under way, ms. */
  readonly usableMs: number
  /** Whether the end of the awaited run without a result ends the wait. */
  readonly failsOnCrash: boolean
}

/** The result that a run leaves, and for how long. */
export interface Leaving {
  readonly stored: StoredResult
  readonly freshMs: number
  readonly usableMs: number
}

/** A run that was given up before anything ran: those who wait for it look again. */
export const NOTHING_RAN: Leaving = { stored: { kind: 'n', text: '' }, freshMs: 0, usableMs: 0 }

/**
 * The plain lock of a key, for one acquisition: its acquire looks for a result first, and its release leaves one. All else,
 * the lease, its renewal, trust and late copies, is as for any lock.
 */
export class RunProtocol extends PlainProtocol {
  /** Passed on in memory, the lock would leave no result. */
  override readonly passing = null
  /** Where a result is announced: that of the lock's releases. */
  readonly doorbell: string
  /** By the latest reply. */
  found: Found | null = null
  /** The run that the caller waits for, by its owner. */
  awaited: string | undefined = undefined
  /** The result that the release leaves; null: nothing, as while it runs, because a release then is that of a lost lock. */
  leaving: Leaving | null = NOTHING_RAN
  /** Whether the run was invalidated before it ended; undefined: its finish got no answer that says so. */
  endedOutdated: boolean | undefined = undefined

  constructor(
    session: LockServices,
    lockName: string,
    private readonly wanted: Wanted,
  ) {
    super(session, lockName, 'error')
    this.doorbell = unlockChannel(this.key)
  }

  override acquire<T>(
    { owner, stamp }: HoldChange,
    { leaseMs, note }: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): ReturnType<typeof PlainProtocol.prototype.acquire<T>> {
    const { lockName, key, wanted, awaited } = this
    const call = enterCall({ ...wanted, lockName, key, owner, stamp, leaseMs, note, awaited })
    return this.session.runner.ask(call, {
      onReply: (reply: EnterReply) => {
        this.found = reply.found
        return handler.onReply(reply)
      },
      onError: (error) => handler.onError(error),
    })
  }

  override release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { leaving, lockName, key, doorbell } = this
    if (!leaving) {
      return super.release(change, handler)
    }
    const { runner } = this.session
    const { owner, stamp } = change
    const announcement = runner.announcementOn(doorbell)
    const call = finishCall({ ...leaving, lockName, key, owner, stamp, channel: doorbell, announcement })
    return runner.run(call, {
      onReply: (reply: FinishReply) => {
        if (reply.kind === 'released') {
          this.endedOutdated = reply.isOutdated
        }
        return handler.onReply(reply)
      },
      onError: (error) => handler.onError(error),
    })
  }
}
