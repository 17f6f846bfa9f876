import type { ForeignRule } from '../arguments/foreign-locks.js'
import { enclosing, heldByAncestor, type CallSite } from '../context/context.js'
import { SelfDeadlockError } from '../errors.js'
import { INBOX_PREFIX, localName, writeOwner } from '../keys.js'
import { handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import type { ForceReleaseReply, LockState, NamedOwners, ReleaseReply } from '../scripts/lock.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import {
  acquireRead,
  forceRelease,
  readWriteKeys,
  releaseRead,
  remainingRead,
  renewRead,
  shortenRead,
  shortenWrite,
  acquireWrite,
  releaseWrite,
  type ReadWriteKeys,
} from '../scripts/read-write-lock.js'
import type { ShortenReply } from '../scripts/shorten.js'
import type { KindServices } from './services.js'
import { HashProtocol, nullIfOverwritten } from './hash-protocol.js'
import type { LockEntry } from '../entry/lock-entry.js'
import { ALONE, type HoldChange, type ReentryRule, type AcquireTerms } from '../entry/entry-commands.js'
import type { CallerLine, QueueCandidate } from './lock-protocol.js'

type Mode = 'read' | 'write'

const UPGRADE =
  'the caller has its read lock, and a read lock cannot become a write lock: release it first, or take the write ' +
  'lock and then the read lock'

/**
 * Redisson's RReadWriteLock: one hash with a mode and both kinds of owners. Readers and writers share one local
 * queue, so that they are served in order of arrival; adjacent readers try together.
 */
abstract class ReadWriteProtocol extends HashProtocol {
  protected readonly keys: ReadWriteKeys
  protected readonly scopes: Record<Mode, string>

  constructor(
    session: KindServices,
    lockName: string,
    foreignLocks: ForeignRule,
    readonly kind: Mode,
  ) {
    super(session, lockName, foreignLocks)
    this.keys = readWriteKeys(lockName, this.key)
    this.scopes = { read: localName('read', this.key), write: localName('write', this.key) }
  }

  override get scope(): string {
    return this.scopes[this.kind]
  }

  get isAwaited(): boolean {
    return this.session.waiter.isWaiting(this.key)
  }

  lineOf(standing: QueueCandidate): CallerLine {
    // Queued behind a writer of its own client, it would wait for a writer that waits for it.
    const queue = standing.rule.skipsQueue ? localName('past', standing.owner) : this.key
    return { queue, topic: this.keys.channel, shared: this.kind === 'read' }
  }

  /** The owners in this mode. */
  override async inspect(timeoutMs?: number): Promise<LockState> {
    const state = await super.inspect(timeoutMs)
    const { ttlMs, holds } = state
    if (state.isForeign) {
      return state
    }
    const isMine = (field: string): boolean => field.endsWith(writeOwner('')) === (this.kind === 'write')
    const mine = new Map([...holds].filter(([field]) => isMine(field)))
    return { ttlMs: mine.size > 0 ? ttlMs : -2, holds: mine }
  }

  protected forceReleaseHash(named: NamedOwners): Promise<ForceReleaseReply> {
    const { keys, kind: mode } = this
    return forceRelease(this.session.runner, { keys, mode, inboxPrefix: INBOX_PREFIX, named })
  }

  /** @throws SelfDeadlockError the wait for what an enclosing context holds would never end */
  protected refuseEndlessWait(site: CallSite, ...scopes: readonly string[]): void {
    for (const scope of scopes) {
      const holder = heldByAncestor(site.context, scope)
      if (holder) {
        throw new SelfDeadlockError(this.lockName, holder.owner)
      }
    }
  }
}

export class ReadProtocol extends ReadWriteProtocol {
  override readonly shared = true

  constructor(
    session: KindServices,
    lockName: string,
    foreignLocks: ForeignRule,
    /** Whether new readers stand back for waiting writers. */
    private readonly standsBack: boolean,
  ) {
    super(session, lockName, foreignLocks, 'read')
  }

  /**
   * The writer may read as well. A current reader, or a context forked from one, overtakes waiting writers: they wait
   * for it.
   */
  override reentryRule(site: CallSite, isEndless: boolean): ReentryRule {
    const { read, write } = this.scopes
    const writer = enclosing(site, write)?.acquisition
    if (writer && !writer.isOver) {
      return { besideOwner: writer.owner, skipsQueue: true }
    }
    if (isEndless) {
      this.refuseEndlessWait(site, write)
    }
    const reader = enclosing(site, read)?.acquisition ?? heldByAncestor(site.context, read)
    return reader ? { besideOwner: '', skipsQueue: true } : ALONE
  }

  acquire<T>(
    change: HoldChange,
    { leaseMs, rule }: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Promise<T> {
    const { keys, session } = this
    const { besideOwner, skipsQueue } = rule
    const standsBack = this.standsBack && !skipsQueue
    const given = { ...this.argumentsOf(change), keys, leaseMs, besideOwner, standsBack }
    return handleReply(acquireRead(session.runner, given), handler)
  }

  release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { keys, session } = this
    const given = { ...this.argumentsOf(change), keys }
    return handleReply(releaseRead(session.runner, given), handler)
  }

  /** Shortens the lease of the reader alone: the lock lasts as long as the longest lease of all readers, until that one releases. */
  override remaining(entry: LockEntry, timeoutMs?: number): Promise<number | null> {
    const { keys, session } = this
    const given = { keys, owner: entry.holder.owner, timeoutMs }
    return remainingRead(session.runner, given).catch(nullIfOverwritten)
  }

  override async extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'> {
    const locks = [{ key: this.key, owner }]
    const [answer] = await renewRead(this.session.runner, { locks, leaseMs })
    return answer ?? 'lost'
  }

  override shorten(change: HoldChange, leaseMs: number | null): Promise<ShortenReply> {
    return shortenRead(this.session.runner, this.toShorten(change, leaseMs))
  }
}

export class WriteProtocol extends ReadWriteProtocol {
  readonly announcedOn = this.keys.channel

  constructor(session: KindServices, lockName: string, foreignLocks: ForeignRule) {
    super(session, lockName, foreignLocks, 'write')
  }

  override ownerOf(threadId: number): string {
    return writeOwner(super.ownerOf(threadId))
  }

  override reentryRule(site: CallSite, isEndless: boolean): ReentryRule {
    // A single try, or a limited wait, ends by itself: it is answered as if another owner held the lock.
    if (isEndless) {
      const { read, write } = this.scopes
      const reader = enclosing(site, read)?.acquisition
      if (reader && !reader.isOver) {
        throw new SelfDeadlockError(this.lockName, reader.owner, UPGRADE)
      }
      this.refuseEndlessWait(site, read, write)
    }
    return ALONE
  }

  acquire<T>(change: HoldChange, terms: AcquireTerms, handler: ReplyHandler<AcquireReply, T>): Promise<T> {
    return handleReply(this.take(change, terms), handler)
  }

  private async take(change: HoldChange, { leaseMs, waits, note }: AcquireTerms): Promise<AcquireReply> {
    const { keys, session } = this
    // Renewed by each try. A writer that tries seldom keeps readers back for as long as any other waiter lives.
    const announceForMs = waits ? 2 * session.options.heartbeatMs : 0
    const given = { ...this.argumentsOf(change), keys, leaseMs, announceForMs, note }
    const reply = await acquireWrite(session.runner, given)
    return reply.kind === 'held' && waits ? { ...reply, waits } : reply
  }

  release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { keys, session, isNoted } = this
    const given = { ...this.argumentsOf(change), keys, isNoted }
    return handleReply(releaseWrite(session.runner, given), handler)
  }

  override shorten(change: HoldChange, leaseMs: number | null): Promise<ShortenReply> {
    return shortenWrite(this.session.runner, this.toShorten(change, leaseMs))
  }
}
