import type { Answer } from '@holdfast/waiter'
import type { ForeignRule } from '../arguments/foreign-locks.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { AcquireTerms, HoldChange } from '../entry/entry-commands.js'
import type { GrantedLock } from '../pass/granted-locks.js'
import { lingeringOwnerField } from '../keys.js'
import type { LocalPassing, PassedHold } from '../pass/local-pass.js'
import { handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import { leave } from '../scripts/foreign-lock.js'
import { announce, rename, type ReleaseReply, type RenameReply, type Renaming } from '../scripts/lock.js'
import type { KindServices } from './services.js'
import { SingleOwnerProtocol } from './single-owner.js'

/** Redisson's RLock. Its releases may grant it to a waiter in Redis's queue, and its client may pass it on. */
export class PlainProtocol extends SingleOwnerProtocol implements LocalPassing, GrantedLock {
  readonly kind: LockKind = 'reentrant'
  readonly localQueue = this.key
  override readonly passing: LocalPassing | null

  constructor(
    session: KindServices,
    lockName: string,
    foreignLocks: ForeignRule,
    readonly lingerMs?: number,
  ) {
    super(session, lockName, foreignLocks)
    const { localPassing, replicas } = session.options
    this.passing = localPassing && !replicas ? this : null
  }

  override ownerOf(threadId: number): string {
    return this.lingerMs === undefined
      ? super.ownerOf(threadId)
      : lingeringOwnerField(this.session.clientId, threadId)
  }

  override acquire<T>(
    change: HoldChange,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Answer<T> {
    const { key, queueKey } = this
    const { plainQueue } = this.session
    return plainQueue && terms.waits && plainQueue.mayEnter(key, change.owner) && this.canGrant
      ? handleReply(plainQueue.acquire(this.toAcquire(change, terms), queueKey), handler)
      : super.acquire(change, terms, handler)
  }

  override release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { canGrant } = this
    const listeners = change.holds === 0 ? this.leaveQueue(change.owner) : undefined
    return super.release(change, handler, canGrant ? listeners : undefined, this.holdfastOnly && canGrant)
  }

  /**
   * Whether a release grants the lock to the first waiter. If the channel's subscribers cannot be counted (unsharded
   * messages on a cluster), every release is published to all.
   */
  private get canGrant(): boolean {
    return this.announcedOn !== null && this.session.runner.countsSubscribers(this.announcedOn)
  }

  /**
   * The owner waits no more. @returns the connections of this client that would hear a release without being queued;
   * undefined while it subscribes or unsubscribes, when it is unknown whether Redis counts the connection
   */
  private leaveQueue(owner: string): number | undefined {
    const { key, announcedOn, session } = this
    if (session.plainQueue?.leave(key, owner) === true || announcedOn === null) {
      return 0
    }
    const isLive = session.waiter.topics.isLive(announcedOn)
    return isLive === undefined ? undefined : Number(isLive)
  }

  /**
   * The lock was granted to another client and nothing was published: the head here must enter the queue from now on.
   */
  onGrantedElsewhere(forMs: number | undefined): void {
    const { session, key } = this
    if (!this.holdfastOnly) {
      session.grantedLocks.watch(this, forMs)
    }
    if (!session.plainQueue?.has(key)) {
      session.waiter.standBack(key, 0)
    }
  }

  async lookAgain(): Promise<number> {
    const { lockName, key, announcedOn: channel, session } = this
    if (channel !== null) {
      await announce(session.runner, { lockName, key, channel })
    }
    return 0
  }

  leaveLine(owner: string): void {
    this.session.background.run(leave(this.session.runner, this, owner))
  }

  offer(passed: PassedHold): boolean {
    return this.session.waiter.offer(this.key, passed)
  }

  rename({ to, from }: Renaming): Promise<RenameReply> {
    const { lockName, key } = this
    return rename(this.session.runner, { lockName, key, to, from })
  }
}
