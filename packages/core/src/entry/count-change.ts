import { WrongTypeError } from '../errors.js'
import type { OwnerField } from './owner-field.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { CommandStamp } from '../scripts/replay-guard.js'
import type { AcquireReply } from '../scripts/lock/acquire.js'
import type { NoteRequest } from '../scripts/lock/note.js'
import type { ReleaseReply } from '../scripts/lock/release.js'

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

/** Keeps what is known of the count of one owner in Redis, and hears of an answer before anybody reads it. */
export interface CountKeeper {
  /** What stands for it in Redis. */
  readonly field: Pick<OwnerField, 'name' | 'passedTo'>
  readonly connectionEpoch: number
  nextStamp(): CommandStamp
  /** A command is sent that may change the count: until its answer nobody knows it. @returns what was known */
  forgetCount(): number | null
  noteTaken(taking: AcquireCommand, reply: AcquireReply): void
  noteWritten(writing: ReleaseCommand, reply: ReleaseReply): ReleaseReply
  noteFailed(change: CountChange, error: unknown): void
  /** The answer, or that there is none, has been noted. */
  concluded(): void
}

/**
 * A command on its way that changes the count in Redis, and what its answer comes to. Each call has two of them: as one
 * object they cost less than as closures.
 */
export abstract class CountChange<R = unknown, T = unknown> implements HoldChange, ReplyHandler<R, T> {
  readonly owner: string
  readonly stamp: CommandStamp
  readonly epochWhenSent: number
  /** What was known of the count when it was sent. */
  readonly known: number | null

  constructor(
    protected readonly keeper: CountKeeper,
    readonly holds: number,
    private readonly handler: ReplyHandler<R, T>,
  ) {
    this.owner = keeper.field.name
    this.stamp = keeper.nextStamp()
    this.epochWhenSent = keeper.connectionEpoch
    this.known = keeper.forgetCount()
  }

  get passedTo(): readonly string[] {
    return this.keeper.field.passedTo
  }

  onReply(reply: R): T {
    const noted = this.note(reply)
    this.keeper.concluded()
    return this.handler.onReply(noted)
  }

  onError(error: unknown): T | Promise<T> {
    this.keeper.noteFailed(this, error)
    const gone = error instanceof WrongTypeError ? this.onWrongType : null
    const noted = gone && this.note(gone)
    this.keeper.concluded()
    return noted ? this.handler.onReply(noted) : this.handler.onError(error)
  }

  protected abstract note(reply: R): R
  /** What it comes to that something else has the name by now; null: to that error. */
  protected abstract readonly onWrongType: R | null
}

/** Takes the lock, or adds a level. */
export class AcquireCommand<T = unknown> extends CountChange<AcquireReply, T> {
  constructor(
    keeper: CountKeeper,
    holds: number,
    handler: ReplyHandler<AcquireReply, T>,
    readonly sentAt: number,
  ) {
    super(keeper, holds, handler)
  }

  protected note(reply: AcquireReply): AcquireReply {
    this.keeper.noteTaken(this, reply)
    return reply
  }

  /** A re-entry into what somebody overwrote: as gone as if it had been deleted. */
  protected get onWrongType(): AcquireReply | null {
    return this.holds > 1 ? LOST : null
  }
}

/** Gives back. */
export class ReleaseCommand<T = unknown> extends CountChange<ReleaseReply, T> {
  protected note(reply: ReleaseReply): ReleaseReply {
    return this.keeper.noteWritten(this, reply)
  }

  protected get onWrongType(): ReleaseReply {
    return NOT_HELD
  }
}
