import type { Answer } from '@holdfast/waiter'
import { isCallSeen } from '../diagnostics/call-publication.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { GrantedLock } from '../queue/granted-locks.js'
import { givenLine, INBOX_PREFIX, unlockChannel } from '../keys.js'
import type { HandedOverHold } from '../entry/handover.js'
import { handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import {
  acquire,
  acquireCall,
  announce,
  forceRelease,
  rename,
  releaseCall,
  type AcquireCommand,
  type AcquireReply,
  type RenameReply,
  type Renaming,
  type ReleaseReply,
} from '../scripts/lock.js'
import type { Session } from '../client/session.js'
import { HashProtocol } from './hash-protocol.js'
import type { HoldChange, AcquireTerms } from '../entry/entry-command.js'
import type { CallerLine } from './lock-protocol.js'
import type { LocalHandover } from '../entry/handover.js'

/** Redisson's RLock: one hash, `owner -> holds`, and a message on the unlock channel. */
export class ReentrantProtocol extends HashProtocol implements LocalHandover, GrantedLock {
  readonly kind: LockKind = 'reentrant'
  /** Where releases are announced; null: nowhere. */
  private readonly channel: string | null
  private readonly line: CallerLine
  /** Who waits and is given it. */
  private readonly lineKey: string
  override readonly reentersLocally: boolean
  private readonly passesOn: boolean
  /** Nobody but Holdfast clients uses it. */
  private readonly isOurs: boolean

  constructor(session: Session, lockName: string, isAnnounced = true) {
    super(session, lockName)
    const topic = unlockChannel(this.key)
    this.channel = isAnnounced ? topic : null
    this.line = { queue: this.key, topic }
    this.lineKey = givenLine(this.key)
    const { localPassing, localReentry, replicas, interop } = session.options
    this.isOurs = interop === 'none'
    // What only the primary has would be a loss after a fail-over: where replicas count, Redis is asked.
    this.passesOn = isAnnounced && localPassing && !replicas
    this.reentersLocally = localReentry && !replicas
  }

  /** One line for all callers of this client: a release lets one of them in. */
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
    const latchKey = this.latchKey(owner)
    const asksForNote = !waits || this.isNoteWanted
    const command = { lockName, key, latchKey, owner, holds, leaseMs, stamp, note, asksForNote }
    return waits && session.plainQueue.mayEnter(key, owner) && this.isGiven
      ? handleReply(this.acquireOrStand(command), handler)
      : session.runner.ask(acquireCall(command), handler)
  }

  /**
   * Whether anybody is told of the note of whoever has it, should the lock be refused now. A caller that waits asks again
   * before it can tell of it in an error: the first time only those want it who look on.
   */
  private get isNoteWanted(): boolean {
    const { lastHolders, events } = this.session
    return lastHolders.isKnown(this.key) || isCallSeen() || events.hasListeners('waiting')
  }

  /** Whether a release gives it to the first in line. Where nobody can count who listens, it is announced to all. */
  protected get isGiven(): boolean {
    const { channel, key } = this
    const { runner } = this.session
    return (
      channel !== null && (runner.slotOf(key) === undefined || runner.announcementOn(channel) === 'SPUBLISH')
    )
  }

  private async acquireOrStand(command: AcquireCommand): Promise<AcquireReply> {
    const { key, session, lineKey } = this
    const { plainQueue, runner, clock } = session
    const { owner } = command
    const { aliveForMs } = plainQueue
    const stoodBefore = plainQueue.ownerAt(key) === owner
    const { liveness, nonce } = plainQueue.enter(key, owner)
    const sentAt = clock.now()
    try {
      const reply = await acquire(runner, command, { lineKey, aliveForMs, nonce })
      if (reply.kind === 'held' && reply.aliveUntil !== undefined) {
        liveness.add({ until: reply.aliveUntil, leftMs: aliveForMs }, sentAt)
      } else {
        plainQueue.leave(key, owner)
      }
      return reply
    } catch (error) {
      if (!stoodBefore) {
        plainQueue.leave(key, owner)
      }
      throw error
    }
  }

  release<T>({ owner, holds, stamp }: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { lockName, key, channel, isNoted, lineKey } = this
    const { runner } = this.session
    const latchKey = this.latchKey(owner)
    const unseated = holds === 0 ? this.unseatedWithout(owner) : undefined
    // Each name by itself: to spread one object into another takes longer than all the rest of a release.
    const tellsLineAlone = this.isOurs && this.isGiven
    const command = {
      lockName,
      key,
      latchKey,
      lineKey,
      channel,
      owner,
      holds,
      stamp,
      isNoted,
      unseated,
      tellsLineAlone,
    }
    return runner.run(releaseCall(runner, command), handler)
  }

  /** How many connections of this client hear of the release and stand not in line; undefined: nobody is given it. */
  private unseatedWithout(owner: string): number | undefined {
    const { key, channel, session } = this
    session.plainQueue.leave(key, owner)
    return channel !== null && this.isGiven
      ? session.plainQueue.listenersNotInLineAt(key, channel)
      : undefined
  }

  /** Somebody elsewhere was given the lock, and nothing was announced: the head here stands in line from now on. */
  wentToAnother(forMs: number | undefined): void {
    const { session, key } = this
    if (!this.isOurs) {
      session.grantedLocks.watch(this, forMs ?? session.plainQueue.aliveForMs)
    }
    if (session.plainQueue.ownerAt(key) === undefined) {
      session.waiter.standBack(key, 0)
    }
  }

  async lookAgain(): Promise<number> {
    const { lockName, key, channel, session } = this
    if (channel !== null) {
      await announce(session.runner, { lockName, key, channel })
    }
    return 0
  }

  /** The release was announced to nobody, so nobody here heard of it: the head looks for itself. */
  wentUnheard(): void {
    const { waiter } = this.session
    if (this.isOurs && waiter.isWaiting(this.key)) {
      waiter.wake(this.key)
    }
  }

  override get handover(): LocalHandover | null {
    return this.passesOn ? this : null
  }

  get localQueue(): string {
    return this.key
  }

  offer(passed: HandedOverHold): boolean {
    return this.session.waiter.offer(this.key, passed)
  }

  rename({ to, from }: Renaming): Promise<RenameReply> {
    const { lockName, key } = this
    return rename(this.session.runner, { lockName, key, to, from })
  }

  async forceRelease(): Promise<boolean> {
    const { lockName, key, channel } = this
    const command = { lockName, key, channel, inboxPrefix: INBOX_PREFIX }
    return (await forceRelease(this.session.runner, command)).kind === 'released'
  }
}
