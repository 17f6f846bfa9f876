import { RedisUnavailableError, WrongTypeError } from './errors.js'
import type { HoldChange, LockProtocol } from './locks/lock-protocol.js'
import { isWorthRetrying, untilKnown } from './redis/until-known.js'
import { CommandLedger, type CommandStamp } from './scripts/command-stamp.js'
import type { AcquireReply } from './scripts/lock/acquire.js'
import type { ReleaseReply } from './scripts/lock/release.js'
import type { Session } from './session.js'

/**
 * The commands of one owner: one at a time, numbered, each with the absolute hold count it wants. Keeps what is
 * known of the count in Redis, so that what became uncertain can be written again until it is known (I2).
 */
export class OwnerCommands {
  /** When the latest granted request for a lease was sent: what local trust is counted from. */
  grantedAt = 0
  private readonly ledger = new CommandLedger()
  private tail: Promise<unknown> | null = null
  /** Hold count in Redis; null when a command without an answer may have changed it. */
  private inRedis: number | null = 0
  /** Redis has dropped the hold by itself after this, if nothing else is sent. */
  private keptUntil = 0

  constructor(
    private readonly session: Session,
    private readonly protocol: LockProtocol,
    private readonly owner: string,
  ) {}

  /** Runs after every earlier one has settled. */
  oneAtATime<T>(operation: () => Promise<T>): Promise<T> {
    const mine = this.tail ? this.tail.then(operation) : operation()
    const settled = (): void => {
      if (this.tail === tail) {
        this.tail = null
      }
    }
    const tail = mine.then(settled, settled)
    this.tail = tail
    return mine
  }

  /** Takes the lock (`holds` 1) or raises the count. */
  async acquire(holds: number, leaseMs: number): Promise<AcquireReply> {
    const sentAt = this.session.clock.now()
    this.keptUntil = Math.max(this.keptUntil, sentAt + leaseMs + this.session.options.commandTimeout)
    const reply = await this.send(holds, (change) => this.protocol.acquire(change, leaseMs)).catch(
      // A re-entry into what somebody overwrote: as gone as if it had been deleted.
      orWrongType<AcquireReply>(holds > 1 ? { kind: 'lost' } : null),
    )
    if (reply.kind === 'acquired') {
      this.inRedis = holds
      this.noteLease(sentAt, leaseMs)
    } else if (!this.ledger.hasLateCopies) {
      this.inRedis = 0
    }
    return reply
  }

  /** Redis confirmed a lease for a request sent at `sentAt`. */
  noteLease(sentAt: number, leaseMs: number): void {
    this.grantedAt = sentAt
    this.keptUntil = Math.max(this.keptUntil, this.session.clock.now() + leaseMs)
  }

  /** Makes the count in Redis what it should be; a no-op when it is known to be that. */
  async write(holds: number): Promise<ReleaseReply> {
    if (this.inRedis === holds) {
      return { kind: holds === 0 ? 'released' : 'still-held' }
    }
    const reply = await this.send(holds, (change) => this.protocol.release(change)).catch(
      orWrongType<ReleaseReply>({ kind: 'not-held' }),
    )
    // After a broken connection an earlier copy of a full release may have done it already.
    const doneBefore = reply.kind === 'not-held' && holds === 0 && this.ledger.hasLateCopies
    this.inRedis = reply.kind === 'not-held' ? 0 : holds
    return doneBefore ? { kind: 'released' } : reply
  }

  /**
   * `write`, again and again until it is answered. Gives up after `limitMs`, or when nothing is left in Redis
   * to give back because its lease must have ended.
   */
  writeUntilKnown(holds: () => number, limitMs: number): Promise<ReleaseReply> {
    const { clock, options, abandoned } = this.session
    const attempt = (): Promise<ReleaseReply> => this.write(holds())
    return attempt().catch((error: unknown) => {
      if (!isWorthRetrying(error)) {
        throw error
      }
      const now = clock.now()
      const giveUpAt = holds() === 0 ? Math.min(now + limitMs, this.keptUntil) : now + limitMs
      return untilKnown(attempt, { clock, random: options.random, giveUpAt, signal: abandoned })
    })
  }

  private async send<R>(holds: number, command: (change: HoldChange) => Promise<R>): Promise<R> {
    const stamp: CommandStamp = this.ledger.next()
    const epoch = this.session.runner.connectionEpoch
    const known = this.inRedis
    this.inRedis = null
    try {
      return await command({ owner: this.owner, holds, stamp })
    } catch (error) {
      if (error instanceof RedisUnavailableError && error.outcome === 'unknown') {
        this.ledger.mayArriveLate(stamp)
      } else {
        this.inRedis = known
      }
      throw error
    } finally {
      if (this.session.runner.connectionEpoch !== epoch) {
        this.ledger.mayArriveLate(stamp)
      }
    }
  }
}

function orWrongType<R>(reply: R | null): (error: unknown) => R {
  return (error) => {
    if (reply !== null && error instanceof WrongTypeError) {
      return reply
    }
    throw error
  }
}
