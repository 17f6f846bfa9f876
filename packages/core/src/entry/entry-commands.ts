import type { Answer } from '@holdfast/waiter'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ReleaseReply, RenameReply, Renaming } from '../scripts/lock.js'
import type { NoteRequest } from '../scripts/note.js'
import type { CommandStamp } from '../scripts/replay-guard.js'
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
  /** If refused, it will wait: a fair lock enqueues it, and readers stand back for it. */
  readonly waits: boolean
  /** For a lock whose line Redis bounds: how many may wait already if it has to wait; undefined: any number. */
  readonly maxWaiting?: number | undefined
  /** For callers refused meanwhile, if the client describes its holds. */
  readonly note?: NoteRequest | undefined
}

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

/** Renames the owner's field in Redis after a hold was passed on. */
export interface Renamer {
  rename(renaming: Renaming): Promise<RenameReply>
}

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
  /** Its release failed at a stranger's key: else it would still be granted the lock, for as long as it counts as alive. */
  leaveLine?(owner: string): void
  /** A release freed the lock, and its message reached no connection. */
  onUnheardRelease?(): void
}
