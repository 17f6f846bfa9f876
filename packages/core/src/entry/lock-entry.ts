import type { Answer } from '@holdfast/waiter'
import {
  AcquireCommand,
  ReleaseCommand,
  ShortenCommand,
  tellWhenKnown,
  type CountKeeper,
  type EntryCommand,
  type HoldChange,
  type ReleaseObserver,
  type ReleaseRequest,
  type RemainingLevels,
  type AcquireTerms,
} from './entry-command.js'
import { execWaitAfter, awaitExecBeforeRelease, type ExecWait } from './exec-wait.js'
import { NamedEntry, type Holder, type Renamer } from './named-entry.js'
import type { Background } from '../runtime/background.js'
import { RedisUnavailableError, WrongTypeError } from '../errors.js'
import { longestUndoMs, type LeftInRedis } from './longest-undo.js'
import type { ResolvedOptions } from '../options.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { Runtime } from '../runtime/runtime.js'
import { identity, handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import { isForbidden, isRefusal, isWorthRetrying, untilKnown } from '../redis/until-known.js'
import type { CommandStamp } from '../scripts/replay-guard.js'
import type { ReleaseReply } from '../scripts/lock.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ShortenReply } from '../scripts/shorten.js'

/** The commands of a kind of lock that change one owner's entry in Redis. */
export interface EntryCommands {
  acquire<T>(change: HoldChange, terms: AcquireTerms, handler: ReplyHandler<AcquireReply, T>): Answer<T>
  release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T>
  /** Makes the lease last at least this long from now, ms. */
  extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'>
  /** Makes the lease end at most this long from now, ms; null: only refuses late copies of commands that would. */
  shorten(change: HoldChange, leaseMs: number | null): Promise<ShortenReply>
  /** Null when every acquisition has to go through Redis. */
  readonly passing: Renamer | null
  /**
   * A release granted the lock to a waiter, possibly of another client, and published nothing.
   * @param forMs length of the grant without a command of that waiter; undefined: it is unknown whether there was a
   *   grant
   */
  onGrantedElsewhere?(forMs: number | undefined): void
  /** Its release failed at a stranger's key: else it would still be given the lock, for as long as it counts as alive. */
  leaveLine?(owner: string): void
  /** A release freed the lock, and its message reached no connection. */
  onUnheardRelease?(): void
}

/** The services of the client, as an owner's commands need them. */
export interface EntryServices {
  readonly options: ResolvedOptions
  readonly runtime: Runtime
  readonly runner: Pick<ScriptRunner, 'connectionEpoch'>
  readonly background: Background
  /** Aborts when the client abandons everything still in flight. */
  readonly abandoned: AbortSignal
}

const RELEASED: ReleaseReply = { kind: 'released' }

const AS_REPLIED: ReleaseObserver<ReleaseReply> = {
  onReleased: (reply) => reply,
  onReleaseFailed(error) {
    throw error
  },
}

/** The reply for a count that Redis already has. */
function writtenReply(holds: number): ReleaseReply {
  return holds === 0 ? RELEASED : { kind: 'still-held' }
}

/**
 * What this client has in Redis under one field of a lock's hash, from the first try to the release that ends it. It is
 * the field of the acquisition that took the lock there, or of the one that it was passed on to since.
 *
 * Its commands go one at a time. They are numbered, and each has the absolute hold count that it wants, so that one
 * whose outcome is unknown can be sent again until it is known (I2). It keeps what is known:
 *
 *    count    known ──sent──► unknown ──answered──► known        without an answer it stays unknown
 *    name     known ──rename sent──► in doubt ──answered──► known    the next command finds out first
 *    copies   none ──no answer, or the connection broke──► may arrive late    for good, and later commands say so
 *
 * test/unit/lock-entry.test.ts has a table of what follows from each of these states.
 */
export class LockEntry extends NamedEntry implements CountKeeper, LeftInRedis {
  /** When the latest granted request for a lease was sent: local trust counts from then. */
  grantedAt = 0
  /** The fencing token of the acquisition; a re-entry gets none of its own. */
  token: string | undefined = undefined
  /** Replicas that acknowledged the latest grant, if replicas count. */
  replicas: number | undefined = undefined
  /** Hold count in Redis; null if a command without a reply may have changed it. */
  private inRedis: number | null = 0
  /** Redis has it queued as a waiter, without a hold. */
  private ownerIsQueued = false
  /** The number of the latest command. */
  private sequence = 0
  /** Copies of commands up to this number may still arrive; 0: none. */
  private tombstoneThrough = 0
  /** A full release is among those: it may have run. */
  private lateCopyMayRelease = false
  /** A command that shortens the lease is among those: until a tombstone refuses it, no longer lease can be trusted. */
  private lateCopyMayShorten = false
  private execWait: ExecWait | null = null
  /** The operation that has the turn does not change the count. */
  private operationKeepsCount = false
  private answerPassesTicket = false
  longestLeaseMs: number
  redisMayGrant = false

  constructor(
    private readonly services: EntryServices,
    private readonly protocol: EntryCommands,
    holder: Holder,
  ) {
    super(holder, protocol)
    this.longestLeaseMs = services.options.lockWatchdogTimeout
  }

  get background(): Background {
    return this.services.background
  }

  get connectionEpoch(): number {
    return this.services.runner.connectionEpoch
  }

  /** Nothing was ever sent, or was certainly refused: Redis has nothing of this owner, and nothing can arrive. */
  get hasNothingInRedis(): boolean {
    return !this.isTaken && this.inRedis === 0 && !this.ownerIsQueued
  }

  /** Redis has nothing of this owner, and no late copy can arrive. */
  get isUntouched(): boolean {
    return this.hasNothingInRedis && !this.hasLateCopies
  }

  /** Redis certainly has exactly one level, and no command in flight can change that. */
  get isAtRest(): boolean {
    const isQuiet = this.isTaken ? this.operationKeepsCount && !this.isQueued : this.inDoubt === null
    return isQuiet && this.inRedis === 1 && !this.ownerIsQueued && !this.hasLateCopies
  }

  /** Redis has one level, and all that was sent has been answered: a release that arrives is the end of it. */
  get isSettled(): boolean {
    return !this.isTaken && this.execWait === null && this.isAtRest
  }

  /** Redis has it queued, and no command is in flight that tells more. */
  get isWaiting(): boolean {
    return this.ownerIsQueued && !this.isTaken
  }

  /** Its place in the queue is all that Redis has of it, and no late copy can arrive. */
  get isOnlyInLine(): boolean {
    return this.isWaiting && this.inRedis === 0 && !this.hasLateCopies
  }

  /** Everything that may be sent was sent: a transaction must not be filled further. */
  get isGivenUp(): boolean {
    return this.execWait?.isLast === true
  }

  /** Redis may have run, or may yet run, a command without a reply. */
  get hasLateCopies(): boolean {
    return this.tombstoneThrough > 0
  }

  /** The connection is no longer in a transaction: commands queued in one have run, or never will. */
  transactionIsOver(): void {
    this.execWait = null
  }

  // Commands. All but the first try need a turn.

  /** Runs an operation that does not change the count, in its turn: the lock may be passed on meanwhile. */
  besideHolds(work: () => Promise<void>): Promise<void> {
    return this.runExclusive(async () => {
      this.operationKeepsCount = true
      try {
        await work()
      } finally {
        this.operationKeepsCount = false
      }
    })
  }

  /** Tries to acquire the lock, in a turn of its own, which ends with the reply. */
  acquireFirst<T>(terms: AcquireTerms, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    if (this.isTaken) {
      return this.runExclusive(async () => await this.acquireAs(1, terms, handler))
    }
    void this.takeTicket()
    this.answerPassesTicket = true
    return this.acquireAs(1, terms, handler)
  }

  /** Acquires the lock (`holds` 1) or raises the count. */
  async acquire(holds: number, terms: AcquireTerms): Promise<AcquireReply> {
    return await this.acquireAs<AcquireReply>(holds, terms, identity)
  }

  private acquireAs<T>(
    holds: number,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Answer<T> {
    if (this.execWait !== null) {
      this.passTicketOfTry()
      return handleReply(Promise.reject<AcquireReply>(this.execWait.error), handler)
    }
    if (this.inDoubt !== null) {
      const acquired = this.knownName().then(() => this.acquire(holds, terms))
      return handleReply(acquired, handler)
    }
    this.longestLeaseMs = Math.max(this.longestLeaseMs, terms.leaseMs)
    this.redisMayGrant ||= terms.waits
    const command = new AcquireCommand(this, holds, handler, this.services.runtime.now())
    return this.protocol.acquire(command, terms, command)
  }

  /** The current field name. @throws LockError it is in doubt */
  private async knownName(): Promise<string> {
    if (this.inDoubt !== null) {
      try {
        await this.follow(this.inDoubt)
      } catch (error) {
        this.execWait = execWaitAfter(error, false, this.execWait)
        throw error
      }
    }
    return this.name
  }

  /** Makes the holder's lease last at least this long from now. @throws RedisUnavailableError, WrongTypeError */
  async extend(leaseMs: number): Promise<void> {
    const owner = await this.knownName()
    if (this.lateCopyMayShorten) {
      await this.shorten(null)
    }
    const sentAt = this.services.runtime.now()
    // The current holder: the entry may have been passed on meanwhile.
    if ((await this.protocol.extend(owner, leaseMs)) === 'lost') {
      this.holder.lose('gone')
      return
    }
    this.noteLease(sentAt, leaseMs)
    this.holder.onLeaseConfirmed(sentAt, leaseMs)
  }

  /**
   * Makes the holder's lease end at most this long from now; null: only refuses late copies of commands that would.
   * @throws RedisUnavailableError
   */
  async shorten(leaseMs: number | null): Promise<void> {
    await this.knownName()
    const command = new ShortenCommand(this, this.holder.levelCount)
    const reply = await handleReply(this.protocol.shorten(command, leaseMs), command)
    if (reply === 'lost') {
      this.holder.lose('gone')
    }
  }

  /**
   * Sets the count in Redis to that of the levels, retrying until there is a reply. Gives up after `limitMs`, or when
   * nothing can be left in Redis.
   */
  releaseUntilKnown(levels: RemainingLevels, limitMs: number): Promise<ReleaseReply> {
    return this.release({ levels, limitMs, startedAt: this.services.runtime.now() }, AS_REPLIED)
  }

  /** Like `releaseUntilKnown`; the observer is called directly from the reply. */
  release<T>(request: ReleaseRequest, observer: ReleaseObserver<T>): Promise<T> {
    const holds = request.levels.levelCount
    if (this.isWritten(holds)) {
      return Promise.resolve(observer.onReleased(writtenReply(holds)))
    }
    if (this.execWait !== null || this.inDoubt !== null) {
      const answer = this.sendCopy(holds).catch((error: unknown) => this.retryRelease(request, error))
      const told = tellWhenKnown(answer, observer)
      if (holds === 0) {
        this.background.run(told)
      }
      return told
    }
    const command = new ReleaseCommand(this, holds, request, observer)
    return this.protocol.release(command, command)
  }

  async retryRelease({ levels, limitMs, startedAt }: ReleaseRequest, error: unknown): Promise<ReleaseReply> {
    if (!isWorthRetrying(error)) {
      throw error
    }
    const { runtime, abandoned } = this.services
    const longestMs = levels.levelCount === 0 ? longestUndoMs(limitMs, this, this.services.options) : limitMs
    const limits = { runtime, giveUpAt: startedAt + longestMs, signal: abandoned }
    return untilKnown(() => this.sendCopy(levels.levelCount), limits)
  }

  private isWritten(holds: number): boolean {
    return this.inRedis === holds && !this.ownerIsQueued && (holds > 0 || this.passedTo.length === 0)
  }

  /** Sends one release, without retries. */
  private async sendCopy(holds: number): Promise<ReleaseReply> {
    if (this.isWritten(holds)) {
      return writtenReply(holds)
    }
    if (this.execWait !== null) {
      await awaitExecBeforeRelease(this.execWait, holds, this.services)
    }
    if (this.inDoubt !== null) {
      await this.knownName()
    }
    const command = new ReleaseCommand(this, holds, null, AS_REPLIED)
    return this.protocol.release(command, command)
  }

  /** Redis granted the lock while it waited. */
  given(): void {
    this.ownerIsQueued = false
    this.inRedis = 1
  }

  /** Redis confirmed a lease for a request sent at `sentAt`. */
  noteLease(sentAt: number, leaseMs: number): void {
    this.grantedAt = sentAt
    this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs)
  }

  nextStamp(): CommandStamp {
    this.sequence += 1
    return { sequence: this.sequence, tombstoneThrough: this.tombstoneThrough }
  }

  forgetCount(): number | null {
    const known = this.inRedis
    this.inRedis = null
    return known
  }

  noteTaken(command: AcquireCommand, reply: AcquireReply): void {
    this.execWait = null
    this.noteBrokenConnection(command)
    if (reply.kind === 'acquired') {
      this.refusesCopiesBefore(command)
      this.redisMayGrant = false
      this.inRedis = command.holds
      this.grantedAt = command.sentAt
      this.token = reply.token ?? this.token
      this.replicas = reply.replicas
    } else if (!this.hasLateCopies) {
      this.inRedis = 0
    }
    // A refused try that was not to wait leaves the place of an earlier one.
    this.ownerIsQueued = reply.kind === 'held' && (this.ownerIsQueued || reply.waits === true)
    this.passTicketOfTry()
  }

  noteReleased(command: ReleaseCommand, reply: ReleaseReply): ReleaseReply {
    this.execWait = null
    this.noteBrokenConnection(command)
    this.inRedis = reply.kind === 'not-held' ? 0 : command.holds
    if (command.holds === 0) {
      this.passedHaveLeftQueue(command.passedTo.length)
    }
    this.ownerIsQueued = false
    // An earlier copy may have released it. A copy of any other command does not explain it: that is a loss (I1).
    const wasDone = reply.kind === 'not-held' && this.lateCopyMayRelease
    // The reply of an earlier copy is unknown.
    if (reply.grantedForMs !== undefined || wasDone) {
      this.protocol.onGrantedElsewhere?.(reply.grantedForMs)
    }
    if (reply.heardBy === 0) {
      this.protocol.onUnheardRelease?.()
    }
    return wasDone ? RELEASED : reply
  }

  noteShortened(command: ShortenCommand): void {
    this.execWait = null
    this.refusesCopiesBefore(command)
    this.noteBrokenConnection(command)
    this.inRedis = command.known
  }

  /** Its reply tells that a tombstone is there for all commands before it that may arrive late. */
  private refusesCopiesBefore({ stamp }: EntryCommand): void {
    this.lateCopyMayShorten &&= stamp.tombstoneThrough === 0
  }

  noteFailed(command: EntryCommand, error: unknown): void {
    const wasSentAgain = this.noteBrokenConnection(command)
    this.execWait = execWaitAfter(error, command.holds === 0, this.execWait)
    const isUnknown = error instanceof RedisUnavailableError && error.outcome === 'unknown'
    // A command that undoes one that lacked rights needs no more than it must: a tombstone takes some of its own.
    if (isUnknown && !isForbidden(error)) {
      this.mayArriveLate(command)
    } else if (!isUnknown && !(wasSentAgain && isRefusal(error))) {
      // Otherwise Redis refused one copy, and one before it may have run.
      this.inRedis = command.known
    }
    if (command.holds === 0 && this.ownerIsQueued && error instanceof WrongTypeError) {
      this.protocol.leaveLine?.(command.owner)
    }
    this.passTicketOfTry()
  }

  /** The client library may have sent it again. @returns whether there may be several copies */
  private noteBrokenConnection(command: EntryCommand): boolean {
    if (this.connectionEpoch === command.epochWhenSent) {
      return false
    }
    this.mayArriveLate(command)
    return true
  }

  /** Copies of this command, and of any before it, may still arrive. */
  private mayArriveLate({ stamp, holds, shortens }: EntryCommand): void {
    this.tombstoneThrough = Math.max(this.tombstoneThrough, stamp.sequence)
    this.lateCopyMayRelease ||= holds === 0
    this.lateCopyMayShorten ||= shortens
  }

  /** The state is up to date: the next operation in the queue can build on it. */
  private passTicketOfTry(): void {
    if (this.answerPassesTicket) {
      this.answerPassesTicket = false
      this.passTicket()
    }
  }
}
