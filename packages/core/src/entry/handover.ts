import type { Waiter } from '@holdfast/waiter'
import { trustMarginMs, type Watch } from '@holdfast/watchdog'
import { isWellTrusted } from './lease.js'
import type { EntryServices, LockEntry } from './lock-entry.js'
import type { Holder, Renamer } from './named-entry.js'
import { untilKnown } from '../redis/until-known.js'
import type { ReleaseReply } from '../scripts/lock.js'

// Local passing is lock cohorting (Dice, Marathe, Shavit: Lock Cohorting, PPoPP 2012): what a process has in Redis goes
// from one of its callers to the next in memory. Processes that wait elsewhere leave no trace that could be asked for,
// so the bounds hold whether anybody does or not.
const MOST_PASSES = 100
const LONGEST_MS = 5
/** How long the callers of a client that has used its bounds up let others come first, ms. */
const STAND_BACK_MS = 5

/** A hold on its way from one caller of this client to the next. */
export interface HandedOverHold {
  readonly kind: 'passed'
  readonly handover: Handover
  /** Monotonic ms. */
  readonly passedAt: number
  /** When a grant would have been sent that is worth the trust that is left. */
  readonly sentAt: number
  /** How long that grant lasts, ms. */
  readonly ttlMs: number
  readonly renew: boolean
  /** Ends the hold that is passed on. */
  readonly end: () => void
}

/** How a hold is passed on to the next caller of this client without Redis. */
export interface LocalHandover extends Renamer {
  /**
   * The line of this client along which it goes. Null: the line that Redis keeps; whoever it is passed on to has a place
   * there, which ends with the name of the one before.
   */
  readonly localQueue: string | null
  /** @param behind who comes next in Redis's line; those who are past are taken out @returns whether somebody took it */
  offer(passed: HandedOverHold, behind: string[]): boolean
}

/** What passing on needs of its client. */
export interface HandoverServices extends EntryServices {
  readonly watchdog: { endOverdueTrust(): number }
  readonly waiter: Pick<Waiter, 'standBack' | 'isListening'>
  readonly lastHolders: { passed(key: string, owner: string, traceparent: string | undefined): void }
}

/** Where it happens: a kind of lock, and a client. */
export interface HandoverParts {
  readonly session: HandoverServices
  readonly protocol: {
    /** Null where every holder has to take it in Redis. */
    readonly handover: LocalHandover | null
    /** Whether anybody in this client waits for it. */
    readonly isAwaited: boolean
  }
}

/** An entry that Redis gave to a waiter. */
export interface GivenEntry {
  /** For how long, ms. */
  readonly ttlMs: number
  /** Waiters of this client that stand directly behind it in Redis's line. */
  readonly behind: string[]
}

/**
 * How an entry goes from one acquisition of this client to the next. Made when that is first wanted: most entries have
 * one holder. See docs/decisions/0028-local-passing.md for the races.
 */
export class Handover {
  private readonly session: HandoverServices
  private readonly protocol: HandoverParts['protocol']
  /** For how long Redis gave it to a waiter, ms; null once the lease that is wanted was asked for. */
  private givenForMs: number | null
  /** Who comes next in Redis's line, for as long as they are of this client. */
  private readonly behind: string[]
  private handovers = 0
  private isFollowing = false
  /** The callers of this client let others come first. */
  private standsBack = false
  /** A rename found its name in place: the lock was taken away, and given to who has it (I1). */
  private mayLastForALife = false

  constructor(
    readonly entry: LockEntry,
    { session, protocol }: HandoverParts,
    /** When its first acquisition got it, monotonic ms. */
    private readonly since: number,
    given: GivenEntry | null = null,
  ) {
    this.session = session
    this.protocol = protocol
    this.givenForMs = given?.ttlMs ?? null
    this.behind = given?.behind ?? []
  }

  /** Whether somebody here waits for it. */
  get isWanted(): boolean {
    return this.isAlongRedisQueue ? this.behind.length > 0 : this.protocol.isAwaited
  }

  /** Whoever it is passed on to has a place in Redis's line. */
  get isAlongRedisQueue(): boolean {
    return this.protocol.handover?.localQueue === null
  }

  /** The lease that is wanted is still to be answered. */
  private get isUnconfirmed(): boolean {
    return this.givenForMs !== null
  }

  /** From now on the watchdog keeps its lease, and the name follows. */
  confirmed(): void {
    this.givenForMs = null
    if (this.isNamedElse) {
      this.followSoon()
    }
  }

  /** Whether its bounds leave room for one more. */
  private mayPassAt(now: number): boolean {
    return this.handovers < MOST_PASSES && now < this.since + LONGEST_MS
  }

  /**
   * Hands it to the first in line, if there is one that can take it. Only when all that is in Redis is known, and
   * most of the lease is left: else something is wrong with renewals, and Redis is asked.
   * @param end ends the hold; called only when somebody takes it
   */
  offer(watch: Watch, end: () => void): boolean {
    const { watchdog } = this.session
    const { entry, behind } = this
    if (!entry.isAtRest) {
      return false
    }
    // I3: the next one is resumed before any timer is, after whatever pause of the process.
    const now = watchdog.endOverdueTrust()
    const isKept = watch.renewingAt(now) || this.isUnconfirmed
    if (!isKept || !this.mayPassAt(now)) {
      return false
    }
    const trustedForMs = watch.trustAt(now)
    const ttlMs = this.givenForMs ?? entry.holder.ttlMs
    if (!isWellTrusted(trustedForMs, ttlMs)) {
      return false
    }
    const sentAt = now + trustedForMs - ttlMs + trustMarginMs(ttlMs)
    const passed: HandedOverHold = {
      kind: 'passed',
      handover: this,
      passedAt: now,
      sentAt,
      ttlMs,
      renew: !this.isUnconfirmed,
      end,
    }
    return this.protocol.handover?.offer(passed, behind) ?? false
  }

  handOverTo(next: Holder): void {
    this.handovers += 1
    this.entry.handOverTo(next, this.isAlongRedisQueue)
    this.session.lastHolders.passed(next.key, next.owner, next.note?.traceparent)
    this.followSoon()
  }

  /**
   * It is given back to Redis. When its bounds ended it, those who wait here let others come first: from before the
   * release is sent, because its message would wake them first of all.
   */
  beginToEnd(): void {
    const { waiter, clock } = this.session
    const queue = this.protocol.handover?.localQueue ?? null
    if (queue !== null && this.handovers > 0 && !this.mayPassAt(clock.now())) {
      waiter.standBack(queue, STAND_BACK_MS)
      this.standsBack = true
    }
  }

  /** What its release came to: those who stand back go on where nobody else heard of it, and so nobody else waits. */
  ended({ heardBy = Number.POSITIVE_INFINITY }: ReleaseReply): void {
    const queue = this.protocol.handover?.localQueue ?? null
    const { waiter } = this.session
    if (queue !== null && this.standsBack && heardBy <= (waiter.isListening(queue) ? 1 : 0)) {
      waiter.standBack(queue, 0)
    }
  }

  /** Once a tick at most, so that only who has it then is named in Redis. */
  private followSoon(): void {
    // Behind the question for the lease it would look as if something were asked for that changes the count.
    if (!this.isFollowing && !this.isUnconfirmed) {
      this.isFollowing = true
      this.session.runtime.afterTurn(() => this.session.background.run(this.follow()))
    }
  }

  private async follow(): Promise<void> {
    const { runtime, abandoned } = this.session
    const limits = { runtime, giveUpAt: Infinity, signal: abandoned }
    try {
      // Until it is known, or the hold is over: a renewal of a name in doubt is answered by nothing it could trust.
      await untilKnown(() => this.entry.besideHolds(() => this.nameHolder()), limits)
    } catch {
      // Nobody knows which name it has. Whatever is sent next for this entry finds out first.
    } finally {
      this.isFollowing = false
    }
    if (this.isNamedElse) {
      this.followSoon()
    }
  }

  /** Whoever holds it by then. @throws LockError: the name is in doubt, or the lease */
  private async nameHolder(): Promise<void> {
    const { entry } = this
    const { holder } = entry
    if (holder.isOver) {
      return
    }
    if (entry.name !== holder.owner) {
      const kind = await entry.follow(holder)
      if (kind === 'lost') {
        // It may have been handed over meanwhile.
        entry.holder.lose('gone')
        return
      }
      this.mayLastForALife ||= kind === 'found'
    }
    if (this.mayLastForALife) {
      await entry.extend(holder.ttlMs)
      this.mayLastForALife = false
    }
  }

  /** In Redis, for certain, after one who has passed it on. */
  private get isNamedElse(): boolean {
    const { holder, inDoubt, name } = this.entry
    return !holder.isOver && inDoubt === null && holder.owner !== name
  }
}
