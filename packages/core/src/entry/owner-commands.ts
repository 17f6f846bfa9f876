import type { Answer } from '@holdfast/waiter'
import {
  AcquireCommand,
  ReleaseCommand,
  tellWhenKnown,
  type CountKeeper,
  type EntryCommand,
  type HoldChange,
  type ReleaseObserver,
  type ReleaseRequest,
  type AcquireTerms,
} from './entry-command.js'
import type { Background } from '../runtime/background.js'
import { RedisUnavailableError } from '../errors.js'
import type { ResolvedOptions } from '../options.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { Clock, Runtime } from '../runtime/runtime.js'
import { OwnerField, type Renamer } from './owner-field.js'
import { isQueued } from '../redis/failures.js'
import { identity, handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import {
  AFTER_A_TRANSACTION_MS,
  isRefusal,
  isWorthRetrying,
  pause,
  untilKnown,
} from '../redis/until-known.js'
import { CommandLedger, type CommandStamp } from '../scripts/replay-guard.js'
import type { AcquireReply, ReleaseReply } from '../scripts/lock.js'
import { SerialQueue } from './serial-queue.js'

/** The transitions of a kind of lock that change what one owner has in Redis. */
export interface EntryCommands {
  acquire<T>(change: HoldChange, terms: AcquireTerms, handler: ReplyHandler<AcquireReply, T>): Answer<T>
  release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T>
  /** Null where every holder has to take it in Redis. */
  readonly handover: Renamer | null
  /**
   * A release gave the lock to a waiter, perhaps of another client, and announced nothing.
   * @param forMs how long that one has it without a word of its own; undefined: nobody knows whether it was given
   */
  wentToAnother?(forMs: number | undefined): void
  /** A release freed the lock, and no connection heard of it. */
  wentUnheard?(): void
}

/** What the commands of an owner need of their client. */
export interface EntryServices {
  readonly options: ResolvedOptions
  readonly runtime: Runtime
  readonly clock: Clock
  readonly runner: Pick<ScriptRunner, 'connectionEpoch'>
  readonly background: Background
  /** Aborts when the client gives up everything that is still under way. */
  readonly abandoned: AbortSignal
}

const RELEASED: ReleaseReply = { kind: 'released' }
const STILL_HELD: ReleaseReply = { kind: 'still-held' }

const AS_REPLIED: ReleaseObserver<ReleaseReply> = {
  onReleased: (reply) => reply,
  onReleaseFailed(error) {
    throw error
  },
}

/** Of a count that is in Redis already. */
function writtenReply(holds: number): ReleaseReply {
  return holds === 0 ? RELEASED : STILL_HELD
}

/** The latest command of an owner waits for the EXEC of a transaction that somebody has opened on the connection. */
interface Queued {
  readonly error: RedisUnavailableError
  readonly isRelease: boolean
  /** What had to undo an earlier one waits, too: nothing more is sent. */
  readonly isLast: boolean
}

/**
 * The commands of one owner: one at a time, numbered, each with the absolute hold count it wants. Keeps what is
 * known of the count in Redis, so that what became uncertain can be written again until it is known (I2).
 */
export class OwnerCommands extends SerialQueue implements CountKeeper {
  /** When the latest granted request for a lease was sent: what local trust is counted from. */
  grantedAt = 0
  /** Of the acquisition; a re-entry gets none of its own. */
  token: string | undefined = undefined
  /** That had the latest grant, where replicas are waited for. */
  replicas: number | undefined = undefined
  readonly field: OwnerField
  private readonly ledger = new CommandLedger()
  /** What has the turn changes no count. */
  private countsStay = false
  private answerEndsTurn = false
  /** Hold count in Redis; null when a command without an answer may have changed it. */
  private inRedis: number | null = 0
  /** Without a hold, something in Redis says that it waits. */
  private isExpected = false
  private queued: Queued | null = null
  /** Nothing of this owner lives longer in Redis, counted from any moment, ms. */
  private longestLeaseMs: number

  constructor(
    private readonly session: EntryServices,
    private readonly protocol: EntryCommands,
    owner: string,
  ) {
    super()
    this.field = new OwnerField(owner)
    this.longestLeaseMs = session.options.lockWatchdogTimeout
  }

  /** Nothing was ever sent, or a refusal was certain: there is nothing of this owner in Redis, and none will come. */
  get hasNothingInRedis(): boolean {
    return !this.isTaken && this.inRedis === 0 && !this.isExpected
  }

  /** Nothing of this owner is in Redis, nor can anything of it still arrive there. */
  get isUntouched(): boolean {
    return this.hasNothingInRedis && !this.ledger.hasLateCopies
  }

  /** One level is in Redis for certain, and nothing that could change it is asked for. */
  get isAtRest(): boolean {
    const isQuiet = this.isTaken ? this.countsStay && !this.isQueued : this.field.inDoubt === null
    return isQuiet && this.inRedis === 1 && !this.isExpected && !this.ledger.hasLateCopies
  }

  /** It stands in line, which is all that is of it in Redis, or can still arrive there. */
  get isOnlyInLine(): boolean {
    return this.isWaiting && this.inRedis === 0 && !this.ledger.hasLateCopies
  }

  /** All that may be sent has been sent: what waits in a transaction must not become more. */
  get isGivenUp(): boolean {
    return this.queued?.isLast === true
  }

  /** The connection is in no transaction any more: what waited in one has run, or never will. */
  transactionIsOver(): void {
    this.queued = null
  }

  /** One at a time, what changes no count: meanwhile the lock may be passed on. */
  besideHolds(work: () => Promise<void>): Promise<void> {
    return this.runExclusive(async () => {
      this.countsStay = true
      try {
        await work()
      } finally {
        this.countsStay = false
      }
    })
  }

  /** What commands have to name now. @throws LockError: it is in doubt */
  async knownName(): Promise<string> {
    if (this.field.inDoubt !== null) {
      try {
        await this.field.follow(this.field.inDoubt, this.protocol.handover)
      } catch (error) {
        this.noteQueued(error, false)
        throw error
      }
    }
    return this.field.name
  }

  /** Tries to take the lock. A turn of its own, which ends with the answer. */
  acquireFirst<T>(terms: AcquireTerms, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    if (this.isTaken) {
      return this.runExclusive(async () => await this.acquireAs(1, terms, handler))
    }
    void this.takeTurn()
    this.answerEndsTurn = true
    return this.acquireAs(1, terms, handler)
  }

  /** Takes the lock (`holds` 1) or raises the count. */
  async acquire(holds: number, terms: AcquireTerms): Promise<AcquireReply> {
    return await this.acquireAs<AcquireReply>(holds, terms, identity)
  }

  private acquireAs<T>(
    holds: number,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Answer<T> {
    if (this.queued !== null) {
      this.endTurnOfTry()
      return handleReply(Promise.reject<AcquireReply>(this.queued.error), handler)
    }
    if (this.field.inDoubt !== null) {
      const acquired = this.knownName().then(() => this.acquire(holds, terms))
      return handleReply(acquired, handler)
    }
    this.longestLeaseMs = Math.max(this.longestLeaseMs, terms.leaseMs)
    const command = new AcquireCommand(this, holds, handler, this.session.clock.now())
    return this.protocol.acquire(command, terms, command)
  }

  /** It waits in Redis, and nothing is under way whose answer tells more. */
  get isWaiting(): boolean {
    return this.isExpected && !this.isTaken
  }

  /** Redis gave it the lock while it waited. */
  given(): void {
    this.isExpected = false
    this.inRedis = 1
  }

  /** Redis confirmed a lease for a request sent at `sentAt`. */
  noteLease(sentAt: number, leaseMs: number): void {
    this.grantedAt = sentAt
    this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs)
  }

  get background(): Background {
    return this.session.background
  }

  /**
   * Makes the count in Redis that of the levels, trying until it is answered. Gives up `limitMs` after `startedAt`, or
   * when nothing can be left in Redis to give back because every lease must have ended.
   */
  releaseUntilKnown(
    levels: { readonly count: number },
    limitMs: number,
    startedAt = this.session.clock.now(),
  ): Promise<ReleaseReply> {
    return this.release({ levels, limit: { limitMs, startedAt } }, AS_REPLIED)
  }

  /** The same; its observer is told where the answer arrives. */
  release<T>(request: ReleaseRequest, observer: ReleaseObserver<T>): Promise<T> {
    const holds = request.levels.count
    if (this.isWritten(holds)) {
      return Promise.resolve(observer.onReleased(writtenReply(holds)))
    }
    if (this.queued !== null || this.field.inDoubt !== null) {
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

  async retryRelease({ levels, limit }: ReleaseRequest, error: unknown): Promise<ReleaseReply> {
    if (!isWorthRetrying(error)) {
      throw error
    }
    const { runtime, abandoned } = this.session
    const { limitMs, startedAt } = limit
    const longestMs = levels.count === 0 ? Math.min(limitMs, this.longestLeaseMs) : limitMs
    const limits = { runtime, giveUpAt: startedAt + longestMs, signal: abandoned }
    return untilKnown(() => this.sendCopy(levels.count), limits)
  }

  private isWritten(holds: number): boolean {
    return this.inRedis === holds && !this.isExpected && (holds > 0 || this.field.passedTo.length === 0)
  }

  /** One release, which is not sent again. */
  private async sendCopy(holds: number): Promise<ReleaseReply> {
    if (this.isWritten(holds)) {
      return writtenReply(holds)
    }
    if (this.queued !== null) {
      await this.waitForExec(this.queued, holds)
    }
    if (this.field.inDoubt !== null) {
      await this.knownName()
    }
    const command = new ReleaseCommand(this, holds, null, AS_REPLIED)
    return this.protocol.release(command, command)
  }

  /**
   * Behind what waits in a transaction: once, so that it is undone where it runs. Copies of a release would only make the
   * transaction longer; one is sent when it may be over, because it may have been discarded.
   */
  private async waitForExec({ error, isRelease, isLast }: Queued, holds: number): Promise<void> {
    // The last level is not given back by what undid a re-entry: not sent, it would keep the lock for a whole lease.
    if (isLast && (isRelease || holds > 0)) {
      throw error
    }
    if (isRelease) {
      const { clock, abandoned } = this.session
      await pause(AFTER_A_TRANSACTION_MS, clock, abandoned)
    }
  }

  get connectionEpoch(): number {
    return this.session.runner.connectionEpoch
  }

  nextStamp(): CommandStamp {
    return this.ledger.next()
  }

  forgetCount(): number | null {
    const known = this.inRedis
    this.inRedis = null
    return known
  }

  noteTaken(command: AcquireCommand, reply: AcquireReply): void {
    this.queued = null
    this.noteLateCopy(command)
    if (reply.kind === 'acquired') {
      this.inRedis = command.holds
      this.grantedAt = command.sentAt
      this.token = reply.token ?? this.token
      this.replicas = reply.replicas
    } else if (!this.ledger.hasLateCopies) {
      this.inRedis = 0
    }
    // Refused by a try that was not to stand there, it still stands where an earlier one put it.
    this.isExpected = reply.kind === 'held' && (this.isExpected || reply.waits === true)
    this.endTurnOfTry()
  }

  noteReleased(command: ReleaseCommand, reply: ReleaseReply): ReleaseReply {
    this.queued = null
    this.noteLateCopy(command)
    this.inRedis = reply.kind === 'not-held' ? 0 : command.holds
    if (command.holds === 0) {
      this.field.haveLeft(command.passedTo.length)
    }
    this.isExpected = false
    // An earlier copy may have done it. A copy of anything else does not explain it: that is a loss (I1).
    const wasDone = reply.kind === 'not-held' && this.ledger.mayBeReleased
    // What came of an earlier copy nobody knows.
    if (reply.givenForMs !== undefined || wasDone) {
      this.protocol.wentToAnother?.(reply.givenForMs)
    }
    if (reply.heardBy === 0) {
      this.protocol.wentUnheard?.()
    }
    return wasDone ? RELEASED : reply
  }

  noteFailed(command: EntryCommand, error: unknown): void {
    const wasSentAgain = this.noteLateCopy(command)
    this.noteQueued(error, command.holds === 0)
    if (error instanceof RedisUnavailableError && error.outcome === 'unknown') {
      this.ledger.mayArriveLate(command)
    } else if (!(wasSentAgain && isRefusal(error))) {
      // Otherwise Redis refused one copy, and one before it may have run.
      this.inRedis = command.known
    }
    this.endTurnOfTry()
  }

  private noteQueued(error: unknown, isRelease: boolean): void {
    if (isQueued(error)) {
      this.queued = { error, isRelease, isLast: this.queued !== null }
    }
  }

  /** What is known is noted: whoever waits for the turn may go on from that. */
  private endTurnOfTry(): void {
    if (this.answerEndsTurn) {
      this.answerEndsTurn = false
      this.passTurn()
    }
  }

  /** Whether the connection broke meanwhile: there may be more than one copy. */
  private noteLateCopy(command: EntryCommand): boolean {
    if (this.connectionEpoch === command.epochWhenSent) {
      return false
    }
    this.ledger.mayArriveLate(command)
    return true
  }
}
