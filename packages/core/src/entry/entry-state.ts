import { RedisUnavailableError } from '../errors.js'
import { isForbidden, isRefusal } from '../redis/until-known.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ReleaseReply } from '../scripts/lock.js'
import type { CommandStamp } from '../scripts/replay-guard.js'
import { execWaitAfter, type ExecWait } from './exec-wait.js'
import type { ResolvedOptions } from '../options.js'

/** A command that was sent, as far as its outcome changes what is known. */
export interface SentCommand extends CommandStamp {
  /** The hold count that it sets. */
  readonly holds: number
  /** The count that was known when it was sent. */
  readonly countBefore: Count
  /** Whether a copy of it, should it arrive late, would shorten a lease. */
  readonly shortens: boolean
}

/** The parts of a grant that only some locks have. */
export interface GrantExtras {
  /** The fencing token of the acquisition. */
  readonly token?: string | undefined
  /** Replicas that acknowledged it, if replicas count. */
  readonly replicas?: number | undefined
}

/** The hold count in Redis; `unknown` if a command without a reply may have changed it. */
export type Count = number | 'unknown'

/**
 * The owner's place in Redis's queue. `possible`: a try was sent that waits, and Redis may grant the lock for as long as
 * it has that queued. `certain`: Redis has the owner queued, without a hold.
 */
type Place = 'none' | 'possible' | 'certain'

/** Copies of an owner's commands that may still arrive: Redis may have run, or may yet run, a command without a reply. */
interface LateCopies {
  /** The number of the latest of them; 0: there are none. */
  readonly through: number
  /** A full release is among them: it may have run. */
  readonly mayRelease: boolean
  /** A command that shortens the lease is among them: until a tombstone refuses it, no longer lease can be trusted. */
  readonly mayShorten: boolean
}

/** The lease of a lock that Redis granted while its owner waited, until the wanted one is confirmed. */
interface ShortLease {
  /** How long it lasts, ms. */
  readonly ttlMs: number
  /** The lease to ask for, ms; 0: none, because the holder has shortened it since. */
  readonly wantedMs: number
}

/** The latest grant of Redis. */
interface Grant {
  /** When the command was sent that was granted: local trust counts from then. */
  readonly sentAt: number
  /** A re-entry gets no token of its own. */
  readonly extras: GrantExtras
  /** Null where a command acquired the lock, or the wanted lease is confirmed. */
  readonly short: ShortLease | null
}

/**
 * Heartbeats for which Redis may keep a waiter, and a lock that it grants to it: a sign of life lasts two, as long again
 * after Redis was unavailable, and a grant as long again.
 */
const LONGEST_IN_LINE = 6
const NO_GRANT: Grant = { sentAt: 0, extras: {}, short: null }
const NO_COPIES: LateCopies = { through: 0, mayRelease: false, mayShorten: false }

/**
 * What is known of an owner's entry in Redis. Commands are numbered, and each has the absolute hold count that it wants,
 * so that one whose outcome is unknown can be sent again until it is known (I2). Four values, each its own:
 *
 *    count    number ──sent──► unknown ──answered──► number        without an answer it stays unknown
 *    place    none ──a try that waits is sent──► possible ──refused──► certain ──granted, released──► possible
 *    copies   none ──no answer, or the connection broke──► may arrive late        for good, and later commands say so
 *    exec     null ──queued in a transaction──► waits for EXEC ──any answer──► null
 */
export class EntryState {
  private count: Count = 0
  private place: Place = 'none'
  copies = NO_COPIES
  // Like `execWait`, only written here.
  grant = NO_GRANT
  /** The owner's latest command waits for the EXEC of a transaction. */
  execWait: ExecWait | null = null
  /** The number of the latest command. */
  private sequence = 0

  /** @param longestLeaseMs the longest of the leases that were asked for */
  constructor(private longestLeaseMs: number) {}

  /** Everything that may be sent was sent: a transaction must not be filled further. */
  get isGivenUp(): boolean {
    return this.execWait?.isLast === true
  }

  get isQueued(): boolean {
    return this.place === 'certain'
  }

  get hasLateCopies(): boolean {
    return this.copies.through > 0
  }

  /** Whether Redis certainly has so many levels of the owner, and no place of its in the queue. */
  isExactly(holds: number): boolean {
    return this.count === holds && !this.isQueued
  }

  /** Whether a place in the queue is all that Redis has. */
  get isOnlyInLine(): boolean {
    return this.count === 0 && this.isQueued && !this.hasLateCopies
  }

  /** The number of the next command. */
  nextNumber(): number {
    return (this.sequence += 1)
  }

  /** A command that may change the count is sent: until the reply, the count is unknown. @returns the count before */
  forgetCount(): Count {
    const before = this.count
    this.count = 'unknown'
    return before
  }

  /** An acquire is sent. */
  asksFor(leaseMs: number, waits: boolean): void {
    this.leased(leaseMs)
    if (waits && this.place === 'none') {
      this.place = 'possible'
    }
  }

  /** A lease was confirmed. */
  leased(leaseMs: number): void {
    this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs)
  }

  /** Redis granted the lock while the owner waited. */
  granted(short: ShortLease): void {
    this.leased(short.ttlMs)
    this.leftQueue()
    this.count = 1
    this.grant = { ...this.grant, short }
  }

  /** The holder shortens the lease: the one that it wanted for a grant is asked for no more. */
  wantsNoMore(): void {
    const { grant } = this
    if (grant.short) {
      this.grant = { ...grant, short: { ...grant.short, wantedMs: 0 } }
    }
  }

  /** The wanted lease of a grant is confirmed. */
  confirmed(): void {
    this.grant = { ...this.grant, short: null }
  }

  /** The connection is no longer in a transaction: commands queued in one have run, or never will. */
  transactionIsOver(): void {
    this.execWait = null
  }

  /** @param wasSentAgain whether the client library may have sent the command again */
  acquireAnswered(command: SentCommand, sentAt: number, reply: AcquireReply, wasSentAgain: boolean): void {
    this.answered(command, wasSentAgain)
    if (reply.kind === 'acquired') {
      this.copiesAreRefused(command)
      this.place = 'none'
      this.count = command.holds
      const { extras, short } = this.grant
      const { token } = extras
      const isReentry = reply.token === undefined && token !== undefined
      this.grant = { sentAt, extras: isReentry ? { ...reply, token } : reply, short }
      return
    }
    if (!this.hasLateCopies) {
      this.count = 0
    }
    if (reply.kind !== 'held') {
      this.leftQueue()
    } else if (reply.waits === true) {
      this.place = 'certain'
    }
    // A refused try that was not to wait leaves the place of an earlier one.
  }

  /** @returns whether an earlier copy has released it: a copy of any other command would not explain a loss (I1) */
  releaseAnswered(command: SentCommand, reply: ReleaseReply, wasSentAgain: boolean): boolean {
    this.answered(command, wasSentAgain)
    this.count = reply.kind === 'not-held' ? 0 : command.holds
    this.leftQueue()
    return reply.kind === 'not-held' && this.copies.mayRelease
  }

  shortenAnswered(command: SentCommand, wasSentAgain: boolean): void {
    this.copiesAreRefused(command)
    this.answered(command, wasSentAgain)
    this.count = command.countBefore
  }

  failed(command: SentCommand, error: unknown, wasSentAgain: boolean): void {
    if (wasSentAgain) {
      this.mayArriveLate(command)
    }
    this.execWait = execWaitAfter(error, command.holds === 0, this.execWait)
    const isUnknown = error instanceof RedisUnavailableError && error.outcome === 'unknown'
    // A command that undoes one that lacked rights needs no more than it must: a tombstone takes some of its own.
    if (isUnknown && !isForbidden(error)) {
      this.mayArriveLate(command)
    } else if (!isUnknown && !(wasSentAgain && isRefusal(error))) {
      // Otherwise Redis refused one copy, and one before it may have run.
      this.count = command.countBefore
    }
  }

  /** A rename failed. */
  renameFailed(error: unknown): void {
    this.execWait = execWaitAfter(error, false, this.execWait)
  }

  /**
   * For how long a full release is sent again, ms: as long as Redis may keep anything, but no longer than `limitMs`. If
   * the clock of Redis is set back, it keeps everything longer, and a short lease would be given up too soon: without a
   * limit, nothing is given up earlier than any other call gives Redis up.
   */
  longestUndoMs(limitMs: number, options: ResolvedOptions): number {
    const inLineMs = this.place === 'none' ? 0 : LONGEST_IN_LINE * options.heartbeatMs
    const leastMs = limitMs === Infinity ? options.unavailableTimeoutMs : 0
    return Math.min(limitMs, Math.max(this.longestLeaseMs, inLineMs, leastMs))
  }

  private answered(command: SentCommand, wasSentAgain: boolean): void {
    this.execWait = null
    if (wasSentAgain) {
      this.mayArriveLate(command)
    }
  }

  private leftQueue(): void {
    if (this.place === 'certain') {
      this.place = 'possible'
    }
  }

  /** Copies of this command, and of any before it, may still arrive. */
  private mayArriveLate({ sequence, holds, shortens }: SentCommand): void {
    const { through, mayRelease, mayShorten } = this.copies
    this.copies = {
      through: Math.max(through, sequence),
      mayRelease: mayRelease || holds === 0,
      mayShorten: mayShorten || shortens,
    }
  }

  /** A reply tells that a tombstone is there for all commands before it that may arrive late. */
  private copiesAreRefused({ tombstoneThrough }: SentCommand): void {
    if (this.copies.mayShorten && tombstoneThrough > 0) {
      this.copies = { ...this.copies, mayShorten: false }
    }
  }
}
