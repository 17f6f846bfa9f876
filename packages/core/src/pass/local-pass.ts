import type { Waiter } from '@holdfast/waiter'
import { trustMarginMs, type Watch } from '@holdfast/watchdog'
import { isWellTrusted } from '../entry/well-trusted.js'
import type { EntryServices, Holder, LockEntry } from '../entry/lock-entry.js'
import type { Renamer } from '../entry/entry-commands.js'
import { untilKnown } from '../redis/until-known.js'
import type { ReleaseReply } from '../scripts/lock.js'

// Passing a lock on inside a client is lock cohorting (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): a process's entry in Redis
// goes from one of its callers to the next in memory. Waiters in other processes leave no trace that could be
// queried, so the bounds apply whether or not there are any.
const MOST_PASSES = 100
const LONGEST_MS = 5
/** How long the callers of a client that has used up its bounds stand back, for other clients, ms. */
const STAND_BACK_MS = 5
/** In place of a timer that has fired: one that fires a little early, under a holder, would never end the next time. */
const LINGERED = { cancel: (): void => undefined }

/** For how long a lock that this client has had since then may go from caller to caller, ms. */
export function passesForMs(since: number, now: number): number {
  return Math.max(0, since + LONGEST_MS - now)
}

/** A hold being passed on from one caller of this client to the next. */
export interface PassedHold {
  readonly kind: 'passed'
  readonly localPass: LocalPass
  /** Monotonic ms. */
  readonly passedAt: number
  /** When a grant equivalent to the remaining trust would have been sent. */
  readonly sentAt: number
  /** How long that grant lasts, ms. */
  readonly ttlMs: number
  readonly renew: boolean
  /** Ends the hold of the previous caller. */
  readonly end: () => void
}

/** How a hold is passed on to the next caller of this client without Redis. */
export interface LocalPassing extends Renamer {
  /**
   * The local queue along which it goes. Null: Redis's queue; the next caller has a place in it, which ends when the
   * field is renamed.
   */
  readonly localQueue: string | null
  /**
   * @param behind the next waiters in Redis's queue; those that have left are removed @returns whether one accepted
   */
  offer(passed: PassedHold, behind: string[]): boolean
}

/** The services of the client, as needed to pass a lock on. */
export interface PassServices extends EntryServices {
  readonly watchdog: { endOverdueTrust(): number }
  readonly waiter: Pick<Waiter, 'standBack' | 'isListening'>
  readonly lastHolders: { wentTo(key: string, owner: string, traceparent: string | undefined): void }
}

/** A lock that may be passed on. */
interface PassedLock {
  readonly key: string
  /** Null when every acquisition has to go through Redis. */
  readonly passing: LocalPassing | null
  /** Whether this client has a waiter for it. */
  readonly isAwaited: boolean
  /** How long after the acquire in Redis a lock that is released may stay for the next caller, ms. Absent: never. */
  readonly lingerMs?: number | undefined
}

/**
 * Passes an entry on from one acquisition of this client to the next. Created when first needed: most entries have
 * one holder. See docs/decisions/0028-local-passing.md for the races.
 */
export class LocalPass {
  private passes = 0
  private isFollowing = false
  /** The callers of this client stand back. */
  private standsBack = false
  /** Ends the time for which it lingers; set when it first does. `LINGERED` once it has fired. */
  private endOfLinger: { cancel(): void } | null = null
  /** The rename found the new name already there: Redis had meanwhile granted the lock to the current holder (I1). */
  private leaseIsOnlyAGrant = false

  /** When its first acquisition got it, monotonic ms. */
  private readonly since: number

  /** @param behind the next waiters in Redis's queue, as long as they are of this client */
  constructor(
    readonly entry: LockEntry,
    private readonly session: PassServices,
    private readonly protocol: PassedLock,
    private readonly behind: string[] = [],
  ) {
    this.since = entry.holder.lease.heldSince
  }

  /** Whether a local waiter wants it. */
  get isWanted(): boolean {
    return this.isAlongRedisQueue ? this.behind.length > 0 : this.protocol.isAwaited
  }

  /** Whether the next caller has a place in Redis's queue. */
  private get isAlongRedisQueue(): boolean {
    return this.protocol.passing?.localQueue === null
  }

  /** Whether Redis has nothing of the next caller, or its place in the queue alone. */
  mayReplace(entry: LockEntry): boolean {
    return this.isAlongRedisQueue ? entry.isOnlyInLine : entry.isUntouched
  }

  /** The request for the wanted lease has no reply yet. */
  private get isUnconfirmed(): boolean {
    return this.entry.state.grant.short !== null
  }

  /** The lease is confirmed: the watchdog now renews it, and the field is renamed. */
  confirmed(): void {
    if (this.fieldHasOldName) {
      this.followSoon()
    }
  }

  /** For how long the bounds allow another pass, ms; 0: they are used up. */
  passesForMs(now: number): number {
    return this.passes < MOST_PASSES ? passesForMs(this.since, now) : 0
  }

  /**
   * Offers the entry to the head of the queue.
   * @param end ends the hold; called only if the offer is accepted
   */
  offer(watch: Watch, end: () => void): boolean {
    const endAndCount = (): void => {
      end()
      this.passes += 1
    }
    const passed = this.passedHold(watch, endAndCount, (now) => this.passesForMs(now))
    return passed !== null && (this.protocol.passing?.offer(passed, this.behind) ?? false)
  }

  /** An offer of an entry that lingers. Null: it does not any more, or it has to be asked for in Redis. */
  passedFromIdle(watch: Watch, end: () => void): PassedHold | null {
    return this.passedHold(watch, end, (now) => this.lingersForMs(now))
  }

  /**
   * Only if its state in Redis is known and most of the lease is left: otherwise renewals are failing, and Redis is asked.
   */
  private passedHold(watch: Watch, end: () => void, leftMs: (now: number) => number): PassedHold | null {
    const { entry } = this
    if (!entry.isAtRest) {
      return null
    }
    // I3: after a pause of the process, the next caller would resume before any timer.
    const now = this.session.watchdog.endOverdueTrust()
    const isKept = watch.renewingAt(now) || this.isUnconfirmed
    if (!isKept || leftMs(now) === 0) {
      return null
    }
    const trustedForMs = watch.trustAt(now)
    const ttlMs = entry.state.grant.short?.ttlMs ?? entry.holder.lease.ttlMs
    if (!isWellTrusted(trustedForMs, ttlMs)) {
      return null
    }
    const sentAt = now + trustedForMs - ttlMs + trustMarginMs(ttlMs)
    const renew = !this.isUnconfirmed
    return { kind: 'passed', localPass: this, passedAt: now, sentAt, ttlMs, renew, end }
  }

  /** It went from one caller to another of this client. */
  get wasPassedOn(): boolean {
    return this.passes > 0 || this.hasLingered
  }

  /** It has been idle: Redis had it without a holder. */
  get hasLingered(): boolean {
    return this.endOfLinger !== null
  }

  /** Whether it was taken no later after that moment than a lock may linger. */
  beganWithinBoundOf(endedAt: number): boolean {
    return this.since - endedAt <= (this.protocol.lingerMs ?? 0)
  }

  /**
   * Whether it may stay in Redis without a holder. Its lease is not renewed meanwhile: it has to be trusted for longer, and
   * no renewal may be due.
   */
  mayLinger(watch: Watch): boolean {
    const { entry, session } = this
    if (!entry.isAtRest || this.isUnconfirmed || this.endOfLinger === LINGERED) {
      return false
    }
    // I3: as in a pass.
    const now = session.watchdog.endOverdueTrust()
    const leftMs = this.lingersForMs(now)
    return (
      leftMs > 0 && watch.renewingAt(now) && watch.trustAt(now) - leftMs > (entry.holder.lease.ttlMs * 2) / 3
    )
  }

  /** It keeps the process alive meanwhile: a natural exit leaves nothing in Redis. */
  beginToLinger(end: () => void): void {
    const { runtime } = this.session
    this.endOfLinger ??= runtime.setTimer(this.lingersForMs(runtime.now()), () => {
      this.endOfLinger = LINGERED
      end()
    })
  }

  endToLinger(): void {
    this.endOfLinger?.cancel()
  }

  /** The bound counts from the acquire in Redis, never from the last use. */
  private lingersForMs(now: number): number {
    return Math.max(0, this.since + (this.protocol.lingerMs ?? 0) - now)
  }

  passTo(next: Holder): void {
    this.entry.passTo(next, this.isAlongRedisQueue)
    this.session.lastHolders.wentTo(this.protocol.key, next.owner, next.note?.traceparent)
    this.followSoon()
  }

  /**
   * The last release begins. If the bounds were used up, local waiters stand back, for other clients: from before the
   * command is sent, because its message would wake them first.
   */
  beginToEnd(): void {
    const { waiter, runtime } = this.session
    const queue = this.protocol.passing?.localQueue ?? null
    if (queue !== null && this.passes > 0 && this.passesForMs(runtime.now()) === 0) {
      waiter.standBack(queue, STAND_BACK_MS)
      this.standsBack = true
    }
  }

  /** The release has its reply: if no other client heard of it, none waits, and the local waiters stand back no more. */
  ended({ heardBy = Number.POSITIVE_INFINITY }: ReleaseReply): void {
    const queue = this.protocol.passing?.localQueue ?? null
    const { waiter } = this.session
    if (queue !== null && this.standsBack && heardBy <= (waiter.isListening(queue) ? 1 : 0)) {
      waiter.standBack(queue, 0)
    }
  }

  /**
   * Only the holder at that time is named in Redis: of a plain lock whoever has it when the bounds end, because the next
   * caller may come in each turn; along Redis's queue at most once per turn, because places end with it.
   */
  private followSoon(): void {
    // Before the lease is confirmed, a rename would look like a command that changes the count.
    if (this.isFollowing || this.isUnconfirmed) {
      return
    }
    this.isFollowing = true
    const { runtime, background, options } = this.session
    const follow = (): void => background.run(this.follow())
    const now = runtime.now()
    const afterMs = this.isAlongRedisQueue ? 0 : Math.max(this.passesForMs(now), this.lingersForMs(now))
    if (afterMs > 0) {
      options.background.setTimer(afterMs, follow)
    } else {
      runtime.afterTurn(follow)
    }
  }

  private async follow(): Promise<void> {
    try {
      // Until it is known, or the hold is over: a renewal under a name in doubt proves nothing.
      await untilKnown(() => this.entry.besideHolds(() => this.nameHolder()), this.session, Infinity)
    } catch {
      // The name is unknown. The next command for this entry finds it out first.
    } finally {
      this.isFollowing = false
    }
    if (this.fieldHasOldName) {
      this.followSoon()
    }
  }

  /** Renames the field to the current holder. @throws LockError the name, or the lease, is in doubt */
  private async nameHolder(): Promise<void> {
    const { entry } = this
    const { holder } = entry
    if (holder.isOver) {
      return
    }
    if (entry.field.name !== holder.owner) {
      const kind = await entry.field.follow(holder)
      if (kind === 'lost') {
        // It may have been passed on meanwhile.
        entry.holder.lease.lose('gone')
        return
      }
      this.leaseIsOnlyAGrant ||= kind === 'found'
    }
    if (this.leaseIsOnlyAGrant) {
      await entry.extend(holder.lease.ttlMs)
      this.leaseIsOnlyAGrant = false
    }
  }

  /** Whether Redis certainly still has a previous holder's name. */
  private get fieldHasOldName(): boolean {
    const { holder, field } = this.entry
    return !holder.isOver && field.passed.inDoubt === null && holder.owner !== field.name
  }
}
