import { WrongTypeError } from '../errors.js'
import type { Background } from '../runtime/background.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { CommandStamp } from '../scripts/replay-guard.js'
import type { ReleaseReply } from '../scripts/lock.js'
import type { NoteRequest } from '../scripts/note.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ShortenReply } from '../scripts/shorten.js'

/** One change of an acquisition's hold count. */
export interface HoldChange {
  readonly owner: string
  /** The hold count afterwards. */
  readonly holds: number
  readonly stamp: CommandStamp
  /** Waiters it was passed on to that Redis has queued. */
  readonly passedTo: readonly string[]
}

/** The levels that the caller already holds, as far as it matters to the requested kind of lock. */
export interface ReentryRule {
  /** The owner beside which the lock may be acquired; '' for none. */
  readonly besideOwner: string
  /** Whether the caller overtakes waiters in the queue. */
  readonly skipsQueue: boolean
}

export const ALONE: ReentryRule = { besideOwner: '', skipsQueue: false }

/** How an owner wants the lock. */
export interface AcquireTerms {
  readonly rule: ReentryRule
  readonly leaseMs: number
  /** If refused, it will wait: a fair lock enqueues it, and readers yield to it. */
  readonly waits: boolean
  /** For a lock whose line Redis bounds: how many may wait already if it has to wait; undefined: any number. */
  readonly maxWaiting?: number | undefined
  /** For callers refused meanwhile, if the client describes its holds. */
  readonly note?: NoteRequest | undefined
}

const LOST: AcquireReply = { kind: 'lost' }
const NOT_HELD: ReleaseReply = { kind: 'not-held' }

/** The number of levels that Redis must have, read when a command is sent. */
export interface RemainingLevels {
  readonly levelCount: number
}

/** A release that is retried until its outcome is known. */
export interface ReleaseRequest {
  readonly levels: RemainingLevels
  /** How long to retry, ms, and from when on, monotonic ms. */
  readonly limitMs: number
  readonly startedAt: number
}

/** Receives the outcome of a release, once it is known or can no longer become known. */
export interface ReleaseObserver<T> {
  onReleased(reply: ReleaseReply): T
  onReleaseFailed(error: unknown): T | Promise<T>
}

/** Tracks one owner's count in Redis, and handles each reply before its caller. */
export interface CountKeeper {
  /** The owner's current field name. */
  readonly name: string
  /** See `HoldChange`. */
  readonly passedTo: readonly string[]
  readonly connectionEpoch: number
  readonly background: Background
  nextStamp(): CommandStamp
  /** A command that may change the count is sent: until the reply, the count is unknown. @returns the known count */
  forgetCount(): number | null
  noteTaken(command: AcquireCommand, reply: AcquireReply): void
  noteReleased(command: ReleaseCommand, reply: ReleaseReply): ReleaseReply
  noteShortened(command: ShortenCommand): void
  noteFailed(command: EntryCommand, error: unknown): void
  /** Called after a failed release: retries it, in a copy of its own. */
  retryRelease(request: ReleaseRequest, error: unknown): Promise<ReleaseReply>
}

/**
 * A command in flight that changes the count in Redis, and its reply handler. Each call has two of them: one object
 * costs less than closures.
 */
export abstract class EntryCommand<R = unknown, T = unknown> implements HoldChange, ReplyHandler<R, T> {
  readonly owner: string
  readonly stamp: CommandStamp
  readonly epochWhenSent: number
  /** The known count when it was sent. */
  readonly known: number | null

  constructor(
    protected readonly keeper: CountKeeper,
    readonly holds: number,
  ) {
    this.owner = keeper.name
    this.stamp = keeper.nextStamp()
    this.epochWhenSent = keeper.connectionEpoch
    this.known = keeper.forgetCount()
  }

  get passedTo(): readonly string[] {
    return this.keeper.passedTo
  }

  /** Whether a copy of it, should it arrive late, would shorten a lease. */
  get shortens(): boolean {
    return false
  }

  abstract onReply(reply: R): T
  abstract onError(error: unknown): T | Promise<T>
}

/** Acquires the lock, or adds a level. */
export class AcquireCommand<T = unknown> extends EntryCommand<AcquireReply, T> {
  constructor(
    keeper: CountKeeper,
    holds: number,
    private readonly handler: ReplyHandler<AcquireReply, T>,
    readonly sentAt: number,
  ) {
    super(keeper, holds)
  }

  onReply(reply: AcquireReply): T {
    this.keeper.noteTaken(this, reply)
    return this.handler.onReply(reply)
  }

  onError(error: unknown): T | Promise<T> {
    this.keeper.noteFailed(this, error)
    // A re-entry whose key was overwritten: as lost as if it had been deleted.
    return error instanceof WrongTypeError && this.holds > 1
      ? this.onReply(LOST)
      : this.handler.onError(error)
  }
}

/** Shortens the lease. The count stays, and is known again with the reply. */
export class ShortenCommand extends EntryCommand<ShortenReply, ShortenReply> {
  override get shortens(): boolean {
    return true
  }

  onReply(reply: ShortenReply): ShortenReply {
    this.keeper.noteShortened(this)
    return reply
  }

  onError(error: unknown): ShortenReply {
    this.keeper.noteFailed(this, error)
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
export class ReleaseCommand<T = unknown> extends EntryCommand<ReleaseReply, T> {
  /** No longer held, but not free yet: a client that closes meanwhile would leave the lock to its lease (I5). */
  private readonly delaysClose: boolean

  constructor(
    keeper: CountKeeper,
    holds: number,
    private readonly request: ReleaseRequest | null,
    private readonly observer: ReleaseObserver<T>,
  ) {
    super(keeper, holds)
    this.delaysClose = holds === 0 && request !== null
    if (this.delaysClose) {
      keeper.background.begin()
    }
  }

  onReply(reply: ReleaseReply): T {
    const noted = this.keeper.noteReleased(this, reply)
    if (this.delaysClose) {
      this.keeper.background.end()
    }
    return this.observer.onReleased(noted)
  }

  onError(error: unknown): T | Promise<T> {
    const { keeper, request, observer } = this
    keeper.noteFailed(this, error)
    if (error instanceof WrongTypeError) {
      return this.onReply(NOT_HELD)
    }
    if (!request) {
      return observer.onReleaseFailed(error)
    }
    const told = tellWhenKnown(keeper.retryRelease(request, error), observer)
    if (this.delaysClose) {
      keeper.background.run(told)
      keeper.background.end()
    }
    return told
  }
}

/** For a reply that is a promise already. */
export function tellWhenKnown<T>(answer: Promise<ReleaseReply>, observer: ReleaseObserver<T>): Promise<T> {
  return answer.then(
    (reply) => observer.onReleased(reply),
    (error: unknown) => observer.onReleaseFailed(error),
  )
}
