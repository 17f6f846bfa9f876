import type { CallSite } from '../context.js'
import type { ReentryRule } from '../entry/entry-command.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { OwnerField } from '../entry/owner-field.js'
import type { EntryCommands } from '../entry/owner-commands.js'
import type { LocalHandover } from '../entry/handover.js'
import type { LockFacts, LockState } from '../scripts/lock.js'

/** Somebody in a local line, or who has come from there. */
export interface QueueCandidate {
  readonly owner: string
  readonly rule: ReentryRule
}

/** The local line that callers of an owner stand in. */
export interface CallerLine {
  readonly queue: string
  /** Where what may let its head in is announced. */
  readonly topic?: string
  /** Whether the head asks again from time to time; false: it is woken. Default true. */
  readonly ticks?: boolean
  /** Whether callers next to each other may have it together. Default false. */
  readonly shared?: boolean
}

/** What a kind of lock does in Redis. Waiting, watching, contexts and holds are the same for all kinds. */
export interface LockProtocol extends EntryCommands {
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
  reentryRule(place: CallSite | null, isEndless: boolean): ReentryRule
  lineOf(standing: QueueCandidate): CallerLine
  /** Null where every holder has to take it in Redis. */
  readonly handover: LocalHandover | null
  /** Whether anybody in this client waits for it. */
  readonly isAwaited: boolean
  /** How long a caller that was refused so many times waits before it asks again, ms. Absent: until it is woken. */
  pauseAfter?(refusals: number): number
  /** Makes the lease last at least this long from now, ms. */
  extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'>
  forceRelease(): Promise<boolean>
  inspect(timeoutMs?: number): Promise<LockState>
  /** All that Redis has about the lock; null: nobody has it. */
  explain(): Promise<LockFacts | null>
  /** What Redis keeps of an owner's lease, ms, -1 when it has no end; null when the owner does not have the lock. */
  remaining(owner: OwnerField, timeoutMs?: number): Promise<number | null>
}
