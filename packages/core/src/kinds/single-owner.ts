import type { Answer } from '@holdfast/waiter'
import type { ForeignRule } from '../arguments/foreign-locks.js'
import { grantQueueKey, INBOX_PREFIX, unlockChannel } from '../keys.js'
import type { AcquireTerms, HoldChange } from '../entry/entry-commands.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import {
  acquireCall,
  forceRelease,
  releaseCall,
  type AcquireArguments,
  type ForceReleaseReply,
  type NamedOwners,
  type ReleaseReply,
} from '../scripts/lock.js'
import { HashProtocol } from './hash-protocol.js'
import type { CallerLine } from './lock-protocol.js'
import type { KindServices } from './services.js'

/** The locks of Redisson that one owner holds at a time: a hash `owner -> holds`, and perhaps an unlock channel. */
export abstract class SingleOwnerProtocol extends HashProtocol {
  /** The channel on which releases are published; null: none. */
  readonly announcedOn: string | null
  override readonly reentersLocally: boolean
  protected readonly line: CallerLine
  /** The queue of waiters that a release can grant the lock to. */
  protected readonly queueKey: string
  /** Only Holdfast clients use it. */
  protected readonly holdfastOnly: boolean

  constructor(session: KindServices, lockName: string, foreignLocks: ForeignRule, isAnnounced = true) {
    super(session, lockName, foreignLocks)
    const topic = unlockChannel(this.key)
    this.announcedOn = isAnnounced ? topic : null
    this.line = { queue: this.key, topic }
    this.queueKey = grantQueueKey(this.key)
    const { localReentry, replicas, interop } = session.options
    this.holdfastOnly = interop === 'none'
    // A lease known only to the primary could be lost in a fail-over: with replicas, every level goes through Redis.
    this.reentersLocally = localReentry && !replicas
  }

  /** One queue for all callers of this client: a release lets one of them in. */
  lineOf(): CallerLine {
    return this.line
  }

  get isAwaited(): boolean {
    return this.session.waiter.isWaiting(this.key)
  }

  acquire<T>(change: HoldChange, terms: AcquireTerms, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    return this.session.runner.ask(acquireCall(this.toAcquire(change, terms)), handler)
  }

  protected toAcquire(
    { owner, holds, stamp }: HoldChange,
    { leaseMs, note, waits }: AcquireTerms,
  ): AcquireArguments {
    const { lockName, key } = this
    // A caller that waits tries again before it can name the holder in an error.
    const asksForNote = !waits || this.session.reports.wantsNote(key)
    return {
      lockName,
      key,
      tombstoneKey: this.tombstoneKey(owner),
      owner,
      holds,
      leaseMs,
      stamp,
      note,
      asksForNote,
    }
  }

  /**
   * @param unqueuedListeners connections of this client that would hear the release but are not queued; undefined: it
   *   grants the lock to no waiter
   * @param tellsQueueAlone only Holdfast clients listen: with a queue nobody else has to be told
   */
  release<T>(
    { owner, holds, stamp }: HoldChange,
    handler: ReplyHandler<ReleaseReply, T>,
    unqueuedListeners?: number,
    tellsQueueAlone = false,
  ): Promise<T> {
    const { lockName, key, announcedOn: channel, isNoted, queueKey } = this
    const { runner } = this.session
    // Copied field by field: object spread would cost more than the rest of a release.
    const given = {
      lockName,
      key,
      tombstoneKey: this.tombstoneKey(owner),
      queueKey,
      channel,
      owner,
      holds,
      stamp,
      isNoted,
      unqueuedListeners,
      tellsQueueAlone,
    }
    return runner.run(releaseCall(runner, given), handler)
  }

  /**
   * The release was published to no subscriber, so no message reached this client either: its head tries by itself.
   */
  onUnheardRelease(): void {
    const { waiter } = this.session
    if (this.holdfastOnly && waiter.isWaiting(this.key)) {
      waiter.wake(this.key)
    }
  }

  protected forceReleaseHash(named: NamedOwners): Promise<ForceReleaseReply> {
    const { lockName, key, announcedOn: channel } = this
    const given = { lockName, key, channel, inboxPrefix: INBOX_PREFIX, named }
    return forceRelease(this.session.runner, given)
  }
}
