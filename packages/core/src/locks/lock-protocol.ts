import type { Answer } from '@holdfast/waiter'
import type { Place } from '../context.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { OwnerField } from '../owner-field.js'
import type { PassedHold } from '../possession.js'
import type { Reading } from '../redis/script-call.js'
import type { CommandStamp } from '../scripts/command-stamp.js'
import type { AcquireReply } from '../scripts/lock/acquire.js'
import type { LockFacts } from '../scripts/lock/explain.js'
import type { LockState } from '../scripts/lock/inspect.js'
import type { RenameReply, Renaming } from '../scripts/lock/rename.js'
import type { NoteWish } from '../scripts/lock/note.js'
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
export interface Surroundings {
  /** The owner that it takes the lock beside; '' for none. */
  readonly joins: string
  /** It does not stand behind those who wait for it. */
  readonly passes: boolean
}

export const ALONE: Surroundings = { joins: '', passes: false }

/** How an owner wants the lock. */
export interface Wish {
  readonly around: Surroundings
  readonly leaseMs: number
  /** Refused, it will wait: a fair lock gives it a place in line, readers stand back for it. */
  readonly waits: boolean
  /** For those who are refused meanwhile, where the client describes its holds. */
  readonly note?: NoteWish | undefined
}

/** Somebody in a local line, or who has come from there. */
export interface Standing {
  readonly owner: string
  readonly around: Surroundings
}

/** The local line that callers of an owner stand in. */
export interface LocalLine {
  readonly queue: string
  /** Where what may let its head in is announced. */
  readonly topic?: string
  /** Whether the head asks again from time to time; false: it is woken. Default true. */
  readonly ticks?: boolean
  /** Whether callers next to each other may have it together. Default false. */
  readonly shared?: boolean
}

/** How a hold is passed on to the next caller of this client without Redis. */
export interface LocalPassing {
  /**
   * The line of this client along which it goes. Null: the line that Redis keeps; whoever it is passed on to has a place
   * there, which ends with the name of the one before.
   */
  readonly localQueue: string | null
  /** @param behind who comes next in Redis's line; those who are past are taken out @returns whether somebody took it */
  offer(passed: PassedHold, behind: string[]): boolean
  /** Lets the owner's name in Redis follow. */
  rename(renaming: Renaming): Promise<RenameReply>
}

/** What a kind of lock does in Redis. Waiting, watching, contexts and holds are the same for all kinds. */
export interface LockProtocol {
  readonly lockName: string
  readonly kind: LockKind
  /** The lock's key in Redis. */
  readonly key: string
  /** What tells this lock from every other in the client. A read lock and its write lock are two, of one key. */
  readonly scope: string
  /** Several owners may have it at once. */
  readonly shared: boolean
  /** Whether every acquisition gets a fencing token. */
  readonly givesTokens?: true
  /** Whether who has it already is refused it. */
  readonly refusesReentry?: true
  /** Whether levels may be added and given back before Redis hears of them. */
  readonly reentersLocally: boolean
  ownerOf(threadId: number): string
  /**
   * What the caller's place means for its wait.
   * @throws SelfDeadlockError the wait would never end
   */
  surroundings(place: Place | null, isEndless: boolean): Surroundings
  lineOf(standing: Standing): LocalLine
  /** Null where every holder has to take it in Redis. */
  readonly passing: LocalPassing | null
  /** Whether anybody in this client waits for it. */
  readonly isAwaited: boolean
  /** How long a caller that was refused so many times waits before it asks again, ms. Absent: until it is woken. */
  pauseAfter?(refusals: number): number
  acquire<T>(change: HoldChange, wish: Wish, reading: Reading<AcquireReply, T>): Answer<T>
  release<T>(change: HoldChange, reading: Reading<ReleaseReply, T>): Promise<T>
  /**
   * A release gave the lock to a waiter, perhaps of another client, and announced nothing.
   * @param forMs how long that one has it without a word of its own; undefined: nobody knows whether it was given
   */
  wentToAnother?(forMs: number | undefined): void
  /** A release freed the lock, and no connection heard of it. */
  wentUnheard?(): void
  /** Makes the lease last at least this long from now, ms. */
  extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'>
  forceRelease(): Promise<boolean>
  inspect(timeoutMs?: number): Promise<LockState>
  /** All that Redis has about the lock; null: nobody has it. */
  explain(): Promise<LockFacts | null>
  /** What Redis keeps of an owner's lease, ms, -1 when it has no end; null when the owner does not have the lock. */
  remaining(owner: OwnerField, timeoutMs?: number): Promise<number | null>
}
