import type { Answer } from '@holdfast/waiter'
import type { ForeignRule } from '../arguments/foreign-locks.js'
import { isCallSeen } from '../diagnostics/call-publication.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { GrantedLock } from '../pass/granted-locks.js'
import { grantQueueKey, INBOX_PREFIX, unlockChannel } from '../keys.js'
import type { PassedHold, LocalPassing } from '../pass/local-pass.js'
import { handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import {
  acquire,
  acquireCall,
  announce,
  forceRelease,
  rename,
  releaseCall,
  type AcquireArguments,
  type ForceReleaseReply,
  type NamedOwners,
  type RenameReply,
  type Renaming,
  type ReleaseReply,
} from '../scripts/lock.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import { leave } from '../scripts/foreign-lock.js'
import type { KindServices } from './services.js'
import { HashProtocol } from './hash-protocol.js'
import type { HoldChange, AcquireTerms } from '../entry/entry-command.js'
import type { CallerLine } from './lock-protocol.js'

/** Redisson's RLock: one hash, `owner -> holds`, and a message on the unlock channel. */
export class PlainProtocol extends HashProtocol implements LocalPassing, GrantedLock {
  readonly kind: LockKind = 'reentrant'
  /** The channel on which releases are published; null: none. */
  readonly announcedOn: string | null
  private readonly line: CallerLine
  /** The queue of waiters that a release can grant the lock to. */
  private readonly queueKey: string
  override readonly reentersLocally: boolean
  private readonly passesOn: boolean
  /** Only Holdfast clients use it. */
  private readonly holdfastOnly: boolean

  constructor(session: KindServices, lockName: string, foreignLocks: ForeignRule, isAnnounced = true) {
    super(session, lockName, foreignLocks)
    const topic = unlockChannel(this.key)
    this.announcedOn = isAnnounced ? topic : null
    this.line = { queue: this.key, topic }
    this.queueKey = grantQueueKey(this.key)
    const { localPassing, localReentry, replicas, interop } = session.options
    this.holdfastOnly = interop === 'none'
    // A lease known only to the primary could be lost in a fail-over: with replicas, every level goes through Redis.
    this.passesOn = isAnnounced && localPassing && !replicas
    this.reentersLocally = localReentry && !replicas
  }

  /** One queue for all callers of this client: a release lets one of them in. */
  lineOf(): CallerLine {
    return this.line
  }

  get isAwaited(): boolean {
    return this.session.waiter.isWaiting(this.key)
  }

  acquire<T>(
    { owner, holds, stamp }: HoldChange,
    { leaseMs, note, waits }: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Answer<T> {
    const { lockName, key, session } = this
    const tombstoneKey = this.tombstoneKey(owner)
    const asksForNote = !waits || this.isNoteWanted
    const command = { lockName, key, tombstoneKey, owner, holds, leaseMs, stamp, note, asksForNote }
    return waits && session.plainQueue.mayEnter(key, owner) && this.canGrant
      ? handleReply(this.acquireOrEnqueue(command), handler)
      : session.runner.ask(acquireCall(command), handler)
  }

  /**
   * Whether a refused try should return the holder's note. A caller that waits tries again before it can name the
   * holder in an error: on its first try only observers need the note.
   */
  private get isNoteWanted(): boolean {
    const { lastHolders, events } = this.session
    return lastHolders.isKnown(this.key) || isCallSeen() || events.hasListeners('waiting')
  }

  /**
   * Whether a release grants the lock to the first waiter. If the channel's subscribers cannot be counted (unsharded
   * messages on a cluster), every release is published to all.
   */
  protected get canGrant(): boolean {
    return this.announcedOn !== null && this.session.runner.countsSubscribers(this.announcedOn)
  }

  private async acquireOrEnqueue(command: AcquireArguments): Promise<AcquireReply> {
    const { key, session, queueKey } = this
    const { plainQueue, runner, runtime } = session
    const { owner } = command
    const { aliveForMs } = plainQueue
    const wasQueued = plainQueue.ownerAt(key) === owner
    const { liveness, nonce } = plainQueue.enter(key, owner)
    const sentAt = runtime.now()
    try {
      const reply = await acquire(runner, command, { queueKey, aliveForMs, nonce })
      if (reply.kind === 'held' && reply.aliveUntil !== undefined) {
        liveness.add({ until: reply.aliveUntil, leftMs: aliveForMs }, sentAt)
      } else {
        plainQueue.leave(key, owner)
      }
      return reply
    } catch (error) {
      if (!wasQueued) {
        plainQueue.leave(key, owner)
      }
      throw error
    }
  }

  release<T>({ owner, holds, stamp }: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { lockName, key, announcedOn: channel, isNoted, queueKey } = this
    const { runner } = this.session
    // Copied field by field: object spread would cost more than the rest of a release.
    const command = {
      lockName,
      key,
      tombstoneKey: this.tombstoneKey(owner),
      queueKey,
      channel,
      owner,
      holds,
      stamp,
      isNoted,
      unqueuedListeners: holds === 0 ? this.unqueuedListenersWithout(owner) : undefined,
      tellsQueueAlone: this.holdfastOnly && this.canGrant,
    }
    return runner.run(releaseCall(runner, command), handler)
  }

  /**
   * Connections of this client that would hear the release but are not queued; undefined: the release grants to no
   * waiter.
   */
  private unqueuedListenersWithout(owner: string): number | undefined {
    const { key, announcedOn: channel, session } = this
    session.plainQueue.leave(key, owner)
    return channel !== null && this.canGrant
      ? session.plainQueue.listenersNotInLineAt(key, channel)
      : undefined
  }

  /**
   * The lock was granted to another client and nothing was published: the head here must enter the queue from now on.
   */
  onGrantedElsewhere(forMs: number | undefined): void {
    const { session, key } = this
    if (!this.holdfastOnly) {
      session.grantedLocks.watch(this, forMs ?? session.plainQueue.aliveForMs)
    }
    if (session.plainQueue.ownerAt(key) === undefined) {
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

  /**
   * The release was published to no subscriber, so no message reached this client either: its head tries by itself.
   */
  onUnheardRelease(): void {
    const { waiter } = this.session
    if (this.holdfastOnly && waiter.isWaiting(this.key)) {
      waiter.wake(this.key)
    }
  }

  leaveLine(owner: string): void {
    this.session.background.run(leave(this.session.runner, this, owner))
  }

  override get passing(): LocalPassing | null {
    return this.passesOn ? this : null
  }

  get localQueue(): string {
    return this.key
  }

  offer(passed: PassedHold): boolean {
    return this.session.waiter.offer(this.key, passed)
  }

  rename({ to, from }: Renaming): Promise<RenameReply> {
    const { lockName, key } = this
    return rename(this.session.runner, { lockName, key, to, from })
  }

  protected forceReleaseHash(named: NamedOwners): Promise<ForceReleaseReply> {
    const { lockName, key, announcedOn: channel } = this
    const command = { lockName, key, channel, inboxPrefix: INBOX_PREFIX, named }
    return forceRelease(this.session.runner, command)
  }
}
