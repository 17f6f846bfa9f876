import { RedisUnavailableError, WrongTypeError } from './errors.js'
import type { HoldChange, LockProtocol } from './locks/lock-protocol.js'
import { isWorthRetrying, untilKnown } from './redis/until-known.js'
import { CommandLedger } from './scripts/command-stamp.js'
import type { AcquireReply } from './scripts/lock/acquire.js'
import type { ReleaseReply } from './scripts/lock/release.js'
import type { Session } from './session.js'

const LOST: AcquireReply = { kind: 'lost' }
const RELEASED: ReleaseReply = { kind: 'released' }
const STILL_HELD: ReleaseReply = { kind: 'still-held' }
const NOT_HELD: ReleaseReply = { kind: 'not-held' }

/**
 * The commands of one owner: one at a time, numbered, each with the absolute hold count it wants. Keeps what is
 * known of the count in Redis, so that what became uncertain can be written again until it is known (I2).
 */
export class OwnerCommands {
  /** When the latest granted request for a lease was sent: what local trust is counted from. */
  grantedAt = 0
  private readonly ledger = new CommandLedger()
  private busy = false
  private queue: (() => void)[] | null = null
  /** Hold count in Redis; null when a command without an answer may have changed it. */
  private inRedis: number | null = 0
  /** Nothing of this owner lives longer in Redis, counted from any moment, ms. */
  private longestLeaseMs: number

  constructor(
    private readonly session: Session,
    private readonly protocol: LockProtocol,
    private readonly owner: string,
  ) {
    this.longestLeaseMs = session.options.lockWatchdogTimeout
  }

  /** Nothing was ever sent, or a refusal was certain: there is nothing of this owner in Redis, and none will come. */
  get hasNothingInRedis(): boolean {
    return !this.busy && this.inRedis === 0
  }

  /** Runs after every earlier one has settled. */
  oneAtATime<T>(operation: () => Promise<T>): Promise<T> {
    if (!this.busy) {
      return this.start(operation)
    }
    return new Promise((resolve, reject) => {
      this.queue ??= []
      this.queue.push(() => void this.start(operation).then(resolve, reject))
    })
  }

  /** Takes the lock (`holds` 1) or raises the count. */
  acquire(holds: number, leaseMs: number): Promise<AcquireReply> {
    const sentAt = this.session.clock.now()
    this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs)
    const command = (change: HoldChange): Promise<AcquireReply> => this.protocol.acquire(change, leaseMs)
    return this.send(holds, command, {
      // A re-entry into what somebody overwrote: as gone as if it had been deleted.
      onWrongType: holds > 1 ? LOST : null,
      read: (reply) => {
        if (reply.kind === 'acquired') {
          this.inRedis = holds
          this.grantedAt = sentAt
        } else if (!this.ledger.hasLateCopies) {
          this.inRedis = 0
        }
        return reply
      },
    })
  }

  /** Redis confirmed a lease for a request sent at `sentAt`. */
  noteLease(sentAt: number, leaseMs: number): void {
    this.grantedAt = sentAt
    this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs)
  }

  /**
   * Makes the count in Redis what it should be, trying until it is answered. Gives up after `limitMs`, or when
   * nothing can be left in Redis to give back because every lease must have ended.
   */
  async writeUntilKnown(levels: { readonly count: number }, limitMs: number): Promise<ReleaseReply> {
    const startedAt = this.session.clock.now()
    try {
      return await this.write(levels.count)
    } catch (error) {
      if (!isWorthRetrying(error)) {
        throw error
      }
    }
    const { clock, options, abandoned } = this.session
    const patienceMs = levels.count === 0 ? Math.min(limitMs, this.longestLeaseMs) : limitMs
    const limits = { clock, random: options.random, giveUpAt: startedAt + patienceMs, signal: abandoned }
    return untilKnown(() => this.write(levels.count), limits)
  }

  private write(holds: number): Promise<ReleaseReply> {
    if (this.inRedis === holds) {
      return Promise.resolve(holds === 0 ? RELEASED : STILL_HELD)
    }
    return this.send(holds, (change) => this.protocol.release(change), {
      onWrongType: NOT_HELD,
      read: (reply) => {
        this.inRedis = reply.kind === 'not-held' ? 0 : holds
        // After a broken connection an earlier copy of a full release may have done it already.
        return reply.kind === 'not-held' && holds === 0 && this.ledger.hasLateCopies ? RELEASED : reply
      },
    })
  }

  private send<R>(
    holds: number,
    command: (change: HoldChange) => Promise<R>,
    { read, onWrongType }: { read: (reply: R) => R; onWrongType: R | null },
  ): Promise<R> {
    const stamp = this.ledger.next()
    const { runner } = this.session
    const epoch = runner.connectionEpoch
    const known = this.inRedis
    this.inRedis = null
    const noteLateCopy = (): void => {
      if (runner.connectionEpoch !== epoch) {
        this.ledger.mayArriveLate(stamp)
      }
    }
    return command({ owner: this.owner, holds, stamp }).then(
      (reply) => {
        noteLateCopy()
        return read(reply)
      },
      (error: unknown) => {
        noteLateCopy()
        if (error instanceof RedisUnavailableError && error.outcome === 'unknown') {
          this.ledger.mayArriveLate(stamp)
          throw error
        }
        this.inRedis = known
        if (onWrongType && error instanceof WrongTypeError) {
          return read(onWrongType)
        }
        throw error
      },
    )
  }

  private start<T>(operation: () => Promise<T>): Promise<T> {
    this.busy = true
    const mine = operation()
    const next = (): void => {
      const waiting = this.queue?.shift()
      if (waiting) {
        waiting()
      } else {
        this.busy = false
      }
    }
    mine.then(next, next)
    return mine
  }
}
