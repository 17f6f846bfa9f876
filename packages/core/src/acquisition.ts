import { trustMarginMs, type RenewableLease, type Watch } from '@holdfast/watchdog'
import { BoundToLock } from './bound-to-lock.js'
import { newTurn, type Context, type Turn } from './context.js'
import { publishHold, type HoldPublication } from './diagnostics/hold-publication.js'
import { LockLostError, type LossReason } from './errors.js'
import type { Hold } from './hold.js'
import type { LockProtocol, Surroundings } from './locks/lock-protocol.js'
import { Levels, type LevelRequest } from './levels.js'
import { Loss } from './loss.js'
import { OwnerCommands } from './owner-commands.js'
import { reportFailedRelease, reportFailedRenewal, reportLoss } from './reports.js'
import type { AcquireReply } from './scripts/lock/acquire.js'
import type { Session } from './session.js'

/**
 * One outermost acquisition of one lock by one context, from its first try to its last release.
 *
 *   trying ──acquired──► held(1) ◄──re-enter / release──► held(n)
 *      │                   │  │
 *      │ caller gone       │  └── last release begins ──► released     renewal stops before the command is sent
 *      ▼                   └── expired, gone, forced ───► lost         every level's signal aborts
 *   given back
 *
 * Its thread id is fresh, so a copy of one of its commands that arrives after it ended matches nothing.
 */
export class Acquisition extends BoundToLock implements RenewableLease {
  readonly owner: string
  readonly commands: OwnerCommands
  readonly levels = new Levels()
  private watch: Watch | null = null
  private released = false
  readonly loss = new Loss()
  private context: Context | null = null
  private siblings: Turn | null = null
  private publication: HoldPublication | null = null

  constructor(
    private readonly session: Session,
    protocol: LockProtocol,
    /** The logical thread it belongs to; null outside any context. */
    readonly thread: Context | null,
    readonly around: Surroundings,
  ) {
    super(protocol)
    this.owner = protocol.ownerOf(session.nextThreadId())
    this.commands = new OwnerCommands(session, protocol, this.owner)
  }

  /** From now on its context re-enters it, siblings that wait for it included. */
  keepIn(context: Context | null): void {
    this.context = context
    context?.keep(this)
  }

  /** What a renewal sets, ms. */
  get ttlMs(): number {
    return this.session.options.lockWatchdogTimeout
  }

  /** The turn that siblings take in the context that holds it. */
  get turn(): Turn {
    this.siblings ??= newTurn()
    return this.siblings
  }

  get isReleased(): boolean {
    return this.released
  }

  get isOver(): boolean {
    return this.released || this.loss.error !== null
  }

  get trustedForMs(): number {
    return this.isOver || !this.watch ? 0 : this.watch.trustedForMs
  }

  /** One try to take the lock for a first hold. */
  tryFirst(request: LevelRequest): Promise<AcquireReply> {
    const leaseMs = request.leaseMs ?? this.ttlMs
    return this.commands.acquireFirst({ leaseMs, waits: request.waitMs !== 0, around: this.around })
  }

  /**
   * Makes a successful first try a hold. Null when the lease was used up before anybody could have used it (the
   * process was paused between sending and now): the caller gives it back.
   */
  begin(request: LevelRequest): Hold | null {
    const { clock, watchdog, held, options } = this.session
    const ttlMs = request.leaseMs ?? this.ttlMs
    const sentAt = this.commands.grantedAt
    if (clock.now() >= sentAt + ttlMs - trustMarginMs(ttlMs)) {
      return null
    }
    const grant = { sentAt, ttlMs, renew: request.leaseMs === undefined }
    const limited = options.maxHoldMs === undefined ? grant : { ...grant, renewForMs: options.maxHoldMs }
    this.watch = watchdog.watch(this, limited)
    held.add(this)
    this.publication = publishHold(this.session, this)
    return this.levels.add(this, request)
  }

  /**
   * One try to add a level. Null: the last level was released meanwhile, so there is nothing to re-enter, or the
   * caller has left. A level of a caller that has left is never added: it would be there still when the others of
   * this owner give back theirs, and the last of them would be told that the lock is still held (I2).
   * @throws LockLostError the lock is gone, and with it every level
   */
  tryReenter(request: LevelRequest, hasLeft: () => boolean): Promise<Hold | null> {
    return this.commands.oneAtATime(async () => {
      this.loss.throwIfSet()
      if (this.released || hasLeft()) {
        return null
      }
      const leaseMs = request.leaseMs ?? this.ttlMs
      const wish = { leaseMs, waits: false, around: this.around }
      const reply = await this.commands.acquire(this.levels.count + 1, wish)
      if (reply.kind !== 'acquired') {
        this.lose('gone')
      }
      this.loss.throwIfSet()
      this.watch?.confirm(this.commands.grantedAt, leaseMs)
      if (request.leaseMs === undefined && !hasLeft()) {
        this.watch?.setRenewing(true)
      }
      return hasLeft() ? null : this.levels.add(this, request)
    })
  }

  /** Gives back one level. @throws RedisUnavailableError nobody answered; it is tried on in the background */
  async release(hold: Hold): Promise<'released' | 'still-held' | 'lost'> {
    const { commands, levels, session } = this
    const turn = commands.takeTurn()
    if (turn) {
      await turn
    }
    try {
      this.end(hold)
      if (this.loss.error) {
        return 'lost'
      }
      const reply = await commands.writeUntilKnown(levels, session.options.unavailableTimeoutMs)
      if (reply.kind === 'not-held') {
        this.lose('gone')
        return 'lost'
      }
      if (!this.released) {
        return 'still-held'
      }
      this.publication?.ended('released')
      return 'released'
    } catch (error) {
      this.giveBack()
      if (this.released) {
        this.publication?.ended('unknown')
      }
      throw error
    } finally {
      commands.passTurn()
    }
  }

  /** Lives at least this long from now. @throws LockLostError */
  extend(leaseMs: number): Promise<void> {
    return this.commands.oneAtATime(async () => {
      this.loss.throwIfSet()
      const sentAt = this.session.clock.now()
      if ((await this.protocol.extend(this.owner, leaseMs)) === 'lost') {
        this.lose('gone')
      }
      this.loss.throwIfSet()
      this.commands.noteLease(sentAt, leaseMs)
      this.watch?.confirm(sentAt, leaseMs)
    })
  }

  /** Asks Redis. @throws LockLostError */
  async verify(): Promise<void> {
    this.loss.throwIfSet()
    const sentAt = this.session.clock.now()
    const remainingMs = await this.remaining()
    if (remainingMs === null && !this.released) {
      this.lose('gone')
    } else if (remainingMs !== null && remainingMs >= 0) {
      // The primary may have had a renewal that no replica has: where those are waited for, it adds no trust.
      this.watch?.correct(sentAt, remainingMs, { mayGrow: !this.session.options.replicas })
    }
    this.loss.throwIfSet()
  }

  /** What Redis keeps of the lease, ms, -1 when it has no end; null when this owner does not have the lock. */
  remaining(timeoutMs?: number): Promise<number | null> {
    return this.protocol.remaining(this.owner, timeoutMs)
  }

  /**
   * A caller has gone, or a command had no answer: whatever a late or unanswered one may have done in Redis is
   * undone, in the background.
   */
  giveBack(): void {
    if (!this.commands.hasNothingInRedis) {
      this.writeInBackground(this.levels)
    }
  }

  /** The client closes over it: every level is over first, and only then is the lock given back. */
  async surrender(): Promise<void> {
    this.lose('closed')
    const { commands, session } = this
    await commands.oneAtATime(() => commands.writeUntilKnown({ count: 0 }, session.options.commandTimeout))
  }

  /** Every level is over, as soon as this client can know. */
  lose(reason: LossReason): void {
    if (this.loss.error) {
      return
    }
    this.watch?.stop()
    const error = new LockLostError({ lockName: this.lockName, owner: this.owner, reason })
    this.session.held.remove(this)
    this.loss.set(error)
    reportLoss(this.session, this, error)
    this.publication?.ended('lost', reason)
    if (reason === 'expired') {
      // Redis may still have it, and a renewal it never answered may have prolonged it by a whole lease.
      this.writeInBackground({ count: 0 })
    }
  }

  onLost(why: 'expired' | 'refused'): void {
    this.lose(why === 'expired' ? why : 'gone')
  }

  onRenewalFailed(error: unknown): void {
    reportFailedRenewal(this.session, this, error)
  }

  private writeInBackground(levels: { readonly count: number }): void {
    const work = this.commands.oneAtATime(() =>
      this.commands.writeUntilKnown(levels, Number.POSITIVE_INFINITY),
    )
    this.session.inBackground(work.catch((error: unknown) => reportFailedRelease(this.session, this, error)))
  }

  /** Renewal ends before the command is sent, whatever its outcome: no renewal can outlive the last hold. */
  private end(hold: Hold): void {
    this.levels.remove(hold)
    if (this.levels.count > 0) {
      if (!this.levels.anyWatched) {
        this.watch?.setRenewing(false)
      }
      return
    }
    this.released = true
    this.watch?.stop()
    this.session.held.remove(this)
    this.context?.forget(this)
    this.publication?.over()
  }
}
