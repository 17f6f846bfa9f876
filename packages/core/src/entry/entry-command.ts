import { WrongTypeError } from '../errors.js'
import type { Background } from '../runtime/background.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { CommandStamp } from '../scripts/replay-guard.js'
import type { AcquireReply, NoteRequest, ReleaseReply } from '../scripts/lock.js'

/** One change of one acquisition. */
export interface HoldChange {
  readonly owner: string
  /** The hold count to have afterwards. */
  readonly holds: number
  readonly stamp: CommandStamp
  /** Waiters that it was passed on to and that Redis has in line. */
  readonly passedTo: readonly string[]
}

/** What a caller holds already that matters to the kind of lock it asks for. */
export interface ReentryRule {
  /** The owner that it takes the lock beside; '' for none. */
  readonly besideOwner: string
  /** It does not stand behind those who wait for it. */
  readonly skipsQueue: boolean
}

export const ALONE: ReentryRule = { besideOwner: '', skipsQueue: false }

/** How an owner wants the lock. */
export interface AcquireTerms {
  readonly rule: ReentryRule
  readonly leaseMs: number
  /** Refused, it will wait: a fair lock gives it a place in line, readers stand back for it. */
  readonly waits: boolean
  /** For those who are refused meanwhile, where the client describes its holds. */
  readonly note?: NoteRequest | undefined
}

const LOST: AcquireReply = { kind: 'lost' }
const NOT_HELD: ReleaseReply = { kind: 'not-held' }

/** How many levels there are to be in Redis, by the time it is asked. */
export interface RemainingLevels {
  readonly levelCount: number
}

/** A release that is tried until it is known. */
export interface ReleaseRequest {
  readonly levels: RemainingLevels
  /** How long it is tried, ms, and from when on, monotonic ms. */
  readonly limitMs: number
  readonly startedAt: number
}

/** Is told what a release came to, once that is known or nobody can know it any more. */
export interface ReleaseObserver<T> {
  onReleased(reply: ReleaseReply): T
  onReleaseFailed(error: unknown): T | Promise<T>
}

/** Keeps what is known of the count of one owner in Redis, and hears of an answer before anybody reads it. */
export interface CountKeeper {
  /** As commands have to name it. */
  readonly name: string
  /** See `HoldChange`. */
  readonly passedTo: readonly string[]
  readonly connectionEpoch: number
  readonly background: Background
  nextStamp(): CommandStamp
  /** A command is sent that may change the count: until its answer nobody knows it. @returns what was known */
  forgetCount(): number | null
  noteTaken(command: AcquireCommand, reply: AcquireReply): void
  noteReleased(command: ReleaseCommand, reply: ReleaseReply): ReleaseReply
  noteFailed(command: EntryCommand, error: unknown): void
  /** After a release that failed: it is sent again where another copy may be answered. */
  retryRelease(request: ReleaseRequest, error: unknown): Promise<ReleaseReply>
}

/**
 * A command on its way that changes the count in Redis, and what its answer comes to. Each call has two of them: as one
 * object they cost less than as closures.
 */
export abstract class EntryCommand<R = unknown, T = unknown> implements HoldChange, ReplyHandler<R, T> {
  readonly owner: string
  readonly stamp: CommandStamp
  readonly epochWhenSent: number
  /** What was known of the count when it was sent. */
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

  abstract onReply(reply: R): T
  abstract onError(error: unknown): T | Promise<T>
}

/** Takes the lock, or adds a level. */
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
    // A re-entry into what somebody overwrote: as gone as if it had been deleted.
    return error instanceof WrongTypeError && this.holds > 1
      ? this.onReply(LOST)
      : this.handler.onError(error)
  }
}

/**
 * Gives back. Without an answer it is sent again, and its caller hears of the first answer; a copy (`request` null) is
 * not sent again.
 */
export class ReleaseCommand<T = unknown> extends EntryCommand<ReleaseReply, T> {
  /** Held no more, but not free yet: a client that closes meanwhile would leave it to the lease (I5). */
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

/** Of an answer that is a promise already. */
export function tellWhenKnown<T>(answer: Promise<ReleaseReply>, observer: ReleaseObserver<T>): Promise<T> {
  return answer.then(
    (reply) => observer.onReleased(reply),
    (error: unknown) => observer.onReleaseFailed(error),
  )
}
