import type { Answer } from '@holdfast/waiter'
import type {
  AcquireTerms,
  EntryCommands,
  HoldChange,
  ReentryRule,
  ReleaseObserver,
  ReleaseRequest,
  RemainingLevels,
} from './entry-commands.js'
import { EntryState, type Count, type SentCommand } from './entry-state.js'
import { awaitExecBeforeRelease } from './exec-wait.js'
import { FieldName } from './field-name.js'
import { SerialQueue } from './serial-queue.js'
import { WrongTypeError, type LossReason } from '../errors.js'
import type { ResolvedOptions } from '../options.js'
import type { RedisPort } from '../redis/redis-port.js'
import { isWorthRetrying, untilKnown, type RetryServices } from '../redis/until-known.js'
import type { Background } from '../runtime/background.js'
import { identity, handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ReleaseReply } from '../scripts/lock.js'
import type { NoteRequest } from '../scripts/note.js'
import type { CommandStamp } from '../scripts/replay-guard.js'
import type { ShortenReply } from '../scripts/shorten.js'

/** The services of the client, as an owner's commands need them. */
export interface EntryServices extends RetryServices {
  readonly options: ResolvedOptions
  readonly port: Pick<RedisPort, 'connectionEpoch'>
  readonly background: Background
}

/** The lease of the acquisition that has the entry now. */
export interface LeaseOfHolder {
  /** Since when it is held, monotonic ms. */
  readonly heldSince: number
  readonly trustedForMs: number
  /** The lease that a renewal sets, ms. */
  readonly ttlMs: number
  throwIfLost(): void
  lose(reason: LossReason): void
  /** Redis confirmed a lease for a request sent at `sentAt`. */
  confirm(sentAt: number, leaseMs: number): void
}

/** The acquisition that has the entry now. */
export interface Holder extends RemainingLevels {
  readonly owner: string
  readonly rule: ReentryRule
  /** The note of the hold, stored when Redis has its name. */
  readonly note: NoteRequest | undefined
  /** Released or lost. */
  readonly isOver: boolean
  readonly lease: LeaseOfHolder
  /** The wanted lease was requested for a granted lock: the watchdog renews it from now on. */
  onGrantConfirmed(): void
}

const LOST: AcquireReply = { kind: 'lost' }
const NOT_HELD: ReleaseReply = { kind: 'not-held' }
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
 * the field of the acquisition that took the lock there, or of the one that it was passed on to since. Its commands go one
 * at a time; `EntryState` keeps what is known, `FieldName` under which name.
 *
 * test/unit/lock-entry.test.ts has a table of what follows from each state.
 */
export class LockEntry {
  /** Its commands go one at a time. All but the first try need the ticket. */
  readonly serial = new SerialQueue()
  readonly field: FieldName
  readonly state: EntryState

  /** @param holder who has it now. Written only here */
  constructor(
    readonly services: EntryServices,
    readonly protocol: EntryCommands,
    public holder: Holder,
  ) {
    this.field = new FieldName(holder.owner, protocol)
    this.state = new EntryState(services.options.lockWatchdogTimeout)
  }

  /** Nothing was ever sent, or was certainly refused: Redis has nothing of this owner, and nothing can arrive. */
  get hasNothingInRedis(): boolean {
    return !this.serial.isTaken && this.state.isExactly(0)
  }

  /** Redis has nothing of this owner, and no late copy can arrive. */
  get isUntouched(): boolean {
    return this.hasNothingInRedis && !this.state.hasLateCopies
  }

  /** Redis certainly has exactly one level, and no command in flight can change that. */
  get isAtRest(): boolean {
    const { serial, field } = this
    // A rename that is on its way changes no count.
    const isQuiet = serial.isTaken ? serial.isQuiet : field.passed.inDoubt === null
    return isQuiet && this.state.isExactly(1) && !this.state.hasLateCopies
  }

  /** Redis has one level, and all that was sent has been answered: a release that arrives is the end of it. */
  get isSettled(): boolean {
    return !this.serial.isTaken && this.state.execWait === null && this.isAtRest
  }

  /** Redis has it queued, and no command is in flight that tells more. */
  get isWaiting(): boolean {
    return this.state.isQueued && !this.serial.isTaken
  }

  /** Its place in the queue is all that Redis has of it, and no late copy can arrive. */
  get isOnlyInLine(): boolean {
    return !this.serial.isTaken && this.state.isOnlyInLine
  }

  /**
   * Passes the entry on to another acquisition of this client. @param isQueued whether that is queued in Redis
   */
  passTo(next: Holder, isQueued: boolean): void {
    this.holder = next
    if (isQueued) {
      this.field.passTo(next.owner)
    }
  }

  /** Runs an operation that does not change the count: the lock may be passed on meanwhile. */
  besideHolds(work: () => Promise<void>): Promise<void> {
    return this.serial.runExclusive(work, true)
  }

  /** Tries to acquire the lock, with a ticket of its own, which ends with the reply. */
  acquireFirst<T>(terms: AcquireTerms, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    const { serial } = this
    if (serial.isTaken || this.isBlocked) {
      return serial.runExclusive(async () => await this.acquireAs(1, terms, handler))
    }
    void serial.takeTicket()
    return this.sendAcquire(1, terms, handler, serial)
  }

  /** Acquires the lock (`holds` 1) or raises the count. */
  async acquire(holds: number, terms: AcquireTerms): Promise<AcquireReply> {
    return await this.acquireAs<AcquireReply>(holds, terms, identity)
  }

  /** The latest command is queued in a transaction, or the name is in doubt. */
  private get isBlocked(): boolean {
    return this.state.execWait !== null || this.field.passed.inDoubt !== null
  }

  private acquireAs<T>(
    holds: number,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): Answer<T> {
    const { execWait } = this.state
    if (execWait !== null) {
      return handleReply(Promise.reject<AcquireReply>(execWait.error), handler)
    }
    if (this.field.passed.inDoubt !== null) {
      const acquired = this.knownName().then(() => this.acquire(holds, terms))
      return handleReply(acquired, handler)
    }
    return this.sendAcquire(holds, terms, handler, null)
  }

  private sendAcquire<T>(
    holds: number,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
    ticketOf: SerialQueue | null,
  ): Answer<T> {
    this.state.asksFor(terms.leaseMs, terms.waits)
    const command = new AcquireCommand(this, holds, handler, ticketOf)
    return this.protocol.acquire(command, terms, command)
  }

  /** The current field name. @throws LockError it is in doubt */
  private async knownName(): Promise<string> {
    const { field } = this
    if (field.passed.inDoubt !== null) {
      try {
        await field.follow(field.passed.inDoubt)
      } catch (error) {
        this.state.renameFailed(error)
        throw error
      }
    }
    return field.name
  }

  /** Makes the holder's lease last at least this long from now. @throws RedisUnavailableError, WrongTypeError */
  async extend(leaseMs: number): Promise<void> {
    const owner = await this.knownName()
    if (this.state.copies.mayShorten) {
      await this.shorten(null)
    }
    const sentAt = this.services.runtime.now()
    // The current holder: the entry may have been passed on meanwhile.
    if ((await this.protocol.extend(owner, leaseMs)) === 'lost') {
      this.holder.lease.lose('gone')
      return
    }
    this.state.leased(leaseMs)
    this.holder.lease.confirm(sentAt, leaseMs)
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
      this.holder.lease.lose('gone')
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
    if (this.isBlocked) {
      const answer = this.sendCopy(holds).catch((error: unknown) => this.retryRelease(request, error))
      const told = tellWhenKnown(answer, observer)
      if (holds === 0) {
        this.services.background.run(told)
      }
      return told
    }
    const command = new ReleaseCommand(this, holds, request, observer)
    return this.protocol.release(command, command)
  }

  /** Called after a failed release: retries it, in a copy of its own. */
  async retryRelease({ levels, limitMs, startedAt }: ReleaseRequest, error: unknown): Promise<ReleaseReply> {
    if (!isWorthRetrying(error)) {
      throw error
    }
    const { services, state } = this
    const longestMs = levels.levelCount === 0 ? state.longestUndoMs(limitMs, services.options) : limitMs
    return untilKnown(() => this.sendCopy(levels.levelCount), services, startedAt + longestMs)
  }

  private isWritten(holds: number): boolean {
    return this.state.isExactly(holds) && (holds > 0 || this.field.passed.to.length === 0)
  }

  /** Sends one release, without retries. */
  private async sendCopy(holds: number): Promise<ReleaseReply> {
    if (this.isWritten(holds)) {
      return writtenReply(holds)
    }
    const { execWait } = this.state
    if (execWait !== null) {
      await awaitExecBeforeRelease(execWait, holds, this.services)
    }
    if (this.field.passed.inDoubt !== null) {
      await this.knownName()
    }
    const command = new ReleaseCommand(this, holds, null, AS_REPLIED)
    return this.protocol.release(command, command)
  }
}

/**
 * A command in flight that changes the count in Redis, and its reply handler: the entry learns of the reply before its
 * caller. Each call has two of them: one object costs less than closures.
 */
abstract class EntryCommand<R = unknown, T = unknown> implements HoldChange, SentCommand, ReplyHandler<R, T> {
  readonly owner: string
  readonly passedTo: readonly string[]
  /** It is its own: one object less. */
  readonly stamp: CommandStamp = this
  readonly sequence: number
  readonly tombstoneThrough: number
  readonly countBefore: Count
  private readonly epochWhenSent: number

  constructor(
    protected readonly entry: LockEntry,
    readonly holds: number,
  ) {
    const { field, state } = entry
    this.owner = field.name
    this.passedTo = field.passed.to
    this.sequence = state.nextNumber()
    this.tombstoneThrough = state.copies.through
    this.epochWhenSent = entry.services.port.connectionEpoch
    this.countBefore = state.forgetCount()
  }

  get shortens(): boolean {
    return false
  }

  /** The connection broke: the client library may have sent it again, and there may be several copies. */
  protected get wasSentAgain(): boolean {
    return this.entry.services.port.connectionEpoch !== this.epochWhenSent
  }

  abstract onReply(reply: R): T
  abstract onError(error: unknown): T | Promise<T>
}

/** Acquires the lock, or adds a level. */
class AcquireCommand<T = unknown> extends EntryCommand<AcquireReply, T> {
  private readonly sentAt: number

  /** @param ticketOf where it has a ticket that ends with the reply */
  constructor(
    entry: LockEntry,
    holds: number,
    private readonly handler: ReplyHandler<AcquireReply, T>,
    private readonly ticketOf: SerialQueue | null,
  ) {
    super(entry, holds)
    this.sentAt = entry.services.runtime.now()
  }

  onReply(reply: AcquireReply): T {
    this.entry.state.acquireAnswered(this, this.sentAt, reply, this.wasSentAgain)
    this.ticketOf?.passTicket()
    return this.handler.onReply(reply)
  }

  onError(error: unknown): T | Promise<T> {
    this.entry.state.failed(this, error, this.wasSentAgain)
    // A re-entry whose key was overwritten: as lost as if it had been deleted.
    if (error instanceof WrongTypeError && this.holds > 1) {
      return this.onReply(LOST)
    }
    this.ticketOf?.passTicket()
    return this.handler.onError(error)
  }
}

/** Shortens the lease. The count stays, and is known again with the reply. */
class ShortenCommand extends EntryCommand<ShortenReply, ShortenReply> {
  override get shortens(): boolean {
    return true
  }

  onReply(reply: ShortenReply): ShortenReply {
    this.entry.state.shortenAnswered(this, this.wasSentAgain)
    return reply
  }

  onError(error: unknown): ShortenReply {
    this.entry.state.failed(this, error, this.wasSentAgain)
    if (error instanceof WrongTypeError) {
      return 'lost'
    }
    throw error
  }
}

/**
 * Releases. Without a reply it is retried, and its caller gets the first reply; a copy (`request` null) is not
 * retried.
 */
class ReleaseCommand<T = unknown> extends EntryCommand<ReleaseReply, T> {
  /** No longer held, but not free yet: a client that closes meanwhile would leave the lock to its lease (I5). */
  private readonly delaysClose: boolean

  constructor(
    entry: LockEntry,
    holds: number,
    private readonly request: ReleaseRequest | null,
    private readonly observer: ReleaseObserver<T>,
  ) {
    super(entry, holds)
    this.delaysClose = holds === 0 && request !== null
    if (this.delaysClose) {
      entry.services.background.begin()
    }
  }

  onReply(reply: ReleaseReply): T {
    const { field, protocol, state, services } = this.entry
    const wasDone = state.releaseAnswered(this, reply, this.wasSentAgain)
    if (this.holds === 0 && this.passedTo.length > 0) {
      field.passedHaveLeftQueue(this.passedTo)
    }
    // The reply of an earlier copy is unknown.
    if (reply.grantedForMs !== undefined || wasDone) {
      protocol.onGrantedElsewhere?.(reply.grantedForMs)
    }
    if (reply.heardBy === 0) {
      protocol.onUnheardRelease?.()
    }
    if (this.delaysClose) {
      services.background.end()
    }
    return this.observer.onReleased(wasDone ? RELEASED : reply)
  }

  onError(error: unknown): T | Promise<T> {
    const { entry, request, observer } = this
    const { protocol, state, services } = entry
    state.failed(this, error, this.wasSentAgain)
    if (error instanceof WrongTypeError) {
      if (this.holds === 0 && state.isQueued) {
        protocol.leaveLine?.(this.owner)
      }
      return this.onReply(NOT_HELD)
    }
    if (!request) {
      return observer.onReleaseFailed(error)
    }
    const told = tellWhenKnown(entry.retryRelease(request, error), observer)
    if (this.delaysClose) {
      services.background.run(told)
      services.background.end()
    }
    return told
  }
}

/** For a reply that is a promise already. */
function tellWhenKnown<T>(answer: Promise<ReleaseReply>, observer: ReleaseObserver<T>): Promise<T> {
  return answer.then(
    (reply) => observer.onReleased(reply),
    (error: unknown) => observer.onReleaseFailed(error),
  )
}
