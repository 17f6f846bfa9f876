import type { ForeignRule } from '../arguments/foreign-locks.js'
import type { CallSite } from '../context/context.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { EntryCommands, ReentryRule } from '../entry/entry-commands.js'
import type { LockEntry } from '../entry/lock-entry.js'
import type { LocalPassing } from '../pass/local-pass.js'
import type { ForceOutcome, LockFacts, LockState } from '../scripts/lock.js'

/** A caller in a local queue, or one that was at its head. */
export interface QueueCandidate {
  readonly owner: string
  readonly rule: ReentryRule
}

/** The local queue for callers of an owner. */
export interface CallerLine {
  readonly queue: string
  /** The channel whose messages may let its head in. */
  readonly topic?: string | undefined
  /** Whether the head retries periodically; false: only when woken. Default true. */
  readonly ticks?: boolean | undefined
  /** Whether adjacent callers may hold the lock together. Default false. */
  readonly shared?: boolean | undefined
}

/** The commands of a kind of lock in Redis. Waiting, watching, contexts and holds are the same for all kinds. */
export interface LockProtocol extends EntryCommands {
  readonly lockName: string
  readonly kind: LockKind
  /** The lock's key in Redis. */
  readonly key: string
  /** Identifies this lock within the client. A read lock and its write lock have two scopes and one key. */
  readonly scope: string
  /** Several owners may hold it at once. */
  readonly shared: boolean
  /** The key that counts the fencing tokens of its acquisitions. Absent: they get none. */
  readonly tokenKey?: string
  /** Whether an owner that already holds it is refused. */
  readonly refusesReentry?: true
  /** How to wait for the string of another library under its name, if at all. */
  readonly foreignLocks: ForeignRule
  /** Whether its waiters stand in Redis's queue behind such a string, too, and heartbeats look. Default: each looks. */
  readonly standsBehindForeign?: true
  /** Whether Redis refuses a waiter when the line is full (`AcquireTerms.maxWaiting`). Default: the client counts. */
  readonly boundsLine?: true
  /** The channel of its releases, where clients that have had it let others come first. Default: they try at once. */
  readonly announcedOn?: string | null
  /** How long after the acquire in Redis a lock that is released may stay for the next caller, ms. Absent: never. */
  readonly lingerMs?: number | undefined
  /** Whether levels may be added and released locally before Redis is updated. */
  readonly reentersLocally: boolean
  ownerOf(threadId: number): string
  /**
   * How the call site affects a wait: what it may re-enter or overtake.
   * @throws SelfDeadlockError the wait would never end
   */
  reentryRule(site: CallSite, isEndless: boolean): ReentryRule
  lineOf(standing: QueueCandidate): CallerLine
  /** Null when every acquisition has to go through Redis. */
  readonly passing: LocalPassing | null
  /** Whether this client has a waiter for it. */
  readonly isAwaited: boolean
  /** The pauses of one caller, ms, each after one more refusal. Absent: a refused caller sleeps until woken. */
  pauses?(): () => number
  /** Makes the lease last at least this long from now, ms. */
  extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'>
  /**
   * @param holder the only owner to release; undefined: whoever has it now
   * @throws HolderChangedError another owner has the lock; WrongTypeError its name is that of something else. Neither is touched
   */
  forceRelease(holder?: string): Promise<ForceOutcome>
  inspect(timeoutMs?: number): Promise<LockState>
  /** Everything Redis stores about the lock; null: it is free. */
  explain(): Promise<LockFacts | null>
  /** Lease left of an owner according to Redis, ms, -1 without expiry; null when the owner does not hold the lock. */
  remaining(entry: LockEntry, timeoutMs?: number): Promise<number | null>
}
