import { InvalidArgumentError, LockLostError } from './errors.js'
import { refuseReleased } from './arguments/released.js'
import { checkDuration, checkGivenLease, checkOneOf, checkOptions } from './arguments/validate.js'
import { sentBy, type Leaving, type ReleaseWaits, type WhenWritten } from './runtime/release-waits.js'
import { showsOnly } from './runtime/shows-only.js'

/** The result of a release. `lost`: the lock was gone before the release reached Redis. */
export type ReleaseOutcome = 'released' | 'still-held' | 'lost' | 'already-released'

/** How to release. */
export interface ReleaseOptions {
  /** Whether to wait for Redis's reply. Default true. */
  wait?: boolean | undefined
}

/** Proof that its owner holds a lock of any kind. */
export abstract class LockHold {
  /** The name of the lock. */
  abstract readonly lockName: string
  abstract readonly owner: string
  /** Levels this owner holds now, this one included. */
  abstract readonly count: number
  /**
   * Aborts with a LockLostError before another owner can acquire the lock. Pass it to the code that does the work.
   * After a pause of the whole process (SIGSTOP, a blocked event loop) other code may run first, unless it asks this
   * hold (`signal`, `trustedForMs`, `ensure`): only a check at the resource, a fencing token, protects against that.
   */
  abstract readonly signal: AbortSignal
  /** How long, in ms, the caller may act as the owner without asking Redis again; 0 when it may not. */
  abstract readonly trustedForMs: number
  /** Why the hold was lost; null while it is not. */
  abstract readonly lossError: LockLostError | null
  /** Whether this level was released. */
  abstract readonly wasReleased: boolean

  /** Whether the hold was lost. Like `signal.aborted`, without creating a signal. */
  get isLost(): boolean {
    return this.lossError !== null
  }

  /**
   * Checks locally, without a round trip, that the hold can still be trusted.
   * @param ms trusted time needed, default 0
   * @throws LockLostError unless more than `ms` of trusted time is left; NotLockOwnerError after a release
   */
  ensure(ms = 0): void {
    checkDuration('ms', ms, 'zero')
    refuseReleased(this)
    const { trustedForMs, lossError, lockName, owner } = this
    if (lossError) {
      throw lossError
    }
    if (trustedForMs <= ms) {
      throw new LockLostError({ lockName, owner, reason: 'expired' })
    }
  }

  /**
   * Asks Redis whether the owner still holds the lock. Call it right before the critical write.
   * @throws LockLostError the owner does not hold it; RedisUnavailableError no reply: the answer is unknown;
   *   NotLockOwnerError after a release
   */
  abstract verify(): Promise<void>
  /**
   * Makes the lease last at least `ms` from now; never shortens it. @throws LockLostError, RedisUnavailableError,
   * NotLockOwnerError
   */
  abstract extend(ms: number): Promise<void>
  /**
   * Makes the lease end at most `ms` from now, and ends its renewal. Waits for Redis's reply. Trust is shortened at
   * once, also when Redis does not reply; then the hold is lost, and its client releases what Redis may still have.
   * Never makes a lease longer. A later `extend` or re-entry does.
   * @param ms at least 1 and at most 24 days
   * @throws InvalidArgumentError also when the owner has further levels, which share the lease; LockLostError;
   *   RedisUnavailableError no reply: others may have to wait for as long as the lease was before; NotLockOwnerError
   */
  abstract shorten(ms: number): Promise<void>
  /**
   * Releases this level and waits for the reply. Resolves also for a hold that has expired or was released before.
   * @throws RedisUnavailableError no reply while it tried for `unavailableTimeoutMs`; the release is retried in the background,
   *   and the lock is free at the latest when its lease ends
   */
  abstract release(): Promise<ReleaseOutcome>
  /**
   * Releases this level. `wait: false`: waits only until the release has been written to the connection, and resolves with
   * 'sent'; a failure is told by `release-failed`, a lock that was gone by `lost`. Waits for the reply all the same where a
   * written release would prove less: further levels, no trust left, a command without a reply, no single connection.
   * @throws InvalidArgumentError; RedisUnavailableError as above, where it waits for the reply
   */
  abstract release(options: ReleaseOptions): Promise<ReleaseOutcome | 'sent'>
  /**
   * Releases this level, for `await using`, like `withLock`: waits for the reply at most `releaseWaitMs`.
   * @throws LockLostError the hold was lost; RedisUnavailableError as `release`, if known within that time
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const outcome = await this.leave()
    if (outcome === 'lost' || (outcome === null && this.isLost)) {
      const { lockName, owner } = this
      throw this.lossError ?? new LockLostError({ lockName, owner, reason: 'gone' })
    }
  }

  /** @internal Releases it, and waits for the reply for `releaseWaitMs`; null: there was none. */
  protected abstract leave(): Promise<ReleaseOutcome | null>
}

/** @throws InvalidArgumentError the owner has further levels, which count on the lease */
export function refuseIfShared(levelCount: number): void {
  if (levelCount > 1) {
    const rule = 'the only level of its owner, because all levels share one lease: release the others first'
    throw new InvalidArgumentError('hold', `one of ${levelCount} levels`, rule)
  }
}

/** @throws InvalidArgumentError */
export function waitsForReply(options: ReleaseOptions): boolean {
  checkOptions('options', options, { wait: true })
  const { wait = true } = options
  checkOneOf('wait', wait, [true, false])
  return wait
}

/** Releases, without waiting for the reply where the release counts once it was written. */
export async function sent(hold: Leaving<ReleaseOutcome>): Promise<ReleaseOutcome | 'sent'> {
  return (await sentBy(hold, (release) => release)) ?? 'sent'
}

/** The field names of a hold in Redis. Passing a hold on renames the field, so a hold may have had several. */
export interface FieldNames {
  /** Whether the owner named by Redis is this one, now or before a recent rename. */
  isNamed(owner: string): boolean
  /** @returns the entry for whichever of its names is in the map */
  find<T>(holds: ReadonlyMap<string, T>): T | undefined
}

/** The lease of a hold's levels. */
export interface LeaseOfHold {
  readonly trustedForMs: number
  /** Null while it is not lost, as far as the watchdog has found. */
  readonly lossError: LockLostError | null
  readonly loss: { readonly signal: AbortSignal; onSet(listener: () => void): () => void }
  /** Asks Redis. @throws LockLostError, RedisUnavailableError */
  verify(): Promise<void>
  /** Makes the lease last at least this long from now. @throws LockLostError, RedisUnavailableError */
  extend(leaseMs: number): Promise<void>
}

/** The owner of a hold's levels: an acquisition, as its holds see it. */
export interface HoldOwner {
  readonly lockName: string
  /** `<clientId>:<threadId>`. */
  readonly owner: string
  /** The lock that it is of. */
  readonly protocol: { readonly scope: string; readonly tokenKey?: string }
  /** The services of the client; each client has its own. */
  readonly session: {
    readonly releaseWaits: Pick<ReleaseWaits, 'leave'>
    /** After a pause of the process trust may be over although the watchdog's timer has not run yet. */
    readonly watchdog: { endOverdueTrust(): number }
  }
  /** Its field in Redis. */
  readonly field: FieldNames
  readonly extras: { readonly token?: string | undefined; readonly replicas?: number | undefined }
  /** Number of levels held. */
  readonly levelCount: number
  readonly lease: LeaseOfHold
  /** Makes the lease end at most this long from now. @throws InvalidArgumentError, LockLostError, RedisUnavailableError */
  shorten(hold: Hold, leaseMs: number): Promise<void>
  /**
   * Releases one level. @throws RedisUnavailableError Redis did not answer; the release is retried in the background
   */
  release(hold: Hold): Promise<'released' | 'still-held' | 'lost'>
  readonly whenWritten: WhenWritten | null
}

/** One level of an acquisition: proof that its owner holds the lock, until it is released. */
export class Hold extends LockHold {
  private isReleased = false
  /** @internal The lease, ms, to which the watchdog renews because of this level; 0: not because of this one. */
  renewedMs: number

  /** @internal Holds come from a lock. */
  constructor(
    /** @internal */
    readonly acquisition: HoldOwner,
    renewedMs: number,
    /** @internal Whether `withLock` releases it. */
    readonly ofCallback: boolean,
  ) {
    super()
    this.renewedMs = renewedMs
  }

  get lockName(): string {
    return this.acquisition.lockName
  }

  /** `<clientId>:<threadId>`, the field of the lock's hash in Redis. */
  get owner(): string {
    return this.acquisition.owner
  }

  /** @internal Whether a lock of this client and scope granted it. */
  isOf(session: object, scope: string): boolean {
    return this.acquisition.session === session && this.acquisition.protocol.scope === scope
  }

  /** @internal Its field in Redis. */
  get field(): FieldNames {
    return this.acquisition.field
  }

  /**
   * The fencing token, a decimal number as text, larger than that of every earlier acquisition of this lock. All
   * levels of one acquisition share it. Undefined for a lock without tokens: see `getFencedLock`.
   */
  get token(): string | undefined {
    return this.acquisition.extras.token
  }

  /** The key in Redis that counts its tokens. Tokens of one key can be compared. Undefined for a lock without tokens. */
  get tokenKey(): string | undefined {
    return this.token === undefined ? undefined : this.acquisition.protocol.tokenKey
  }

  /**
   * Replicas that had the lease when this owner last acquired or re-entered. Each renewal that counts was
   * acknowledged by at least `replicas.acks` of them. Undefined when the client has no such option.
   */
  get replicas(): number | undefined {
    return this.acquisition.extras.replicas
  }

  get count(): number {
    return this.acquisition.levelCount
  }

  get signal(): AbortSignal {
    this.acquisition.session.watchdog.endOverdueTrust()
    return this.acquisition.lease.loss.signal
  }

  get trustedForMs(): number {
    return this.isReleased || this.isLost ? 0 : this.acquisition.lease.trustedForMs
  }

  async verify(): Promise<void> {
    refuseReleased(this)
    await this.acquisition.lease.verify()
  }

  async extend(ms: number): Promise<void> {
    checkGivenLease('ms', ms)
    refuseReleased(this)
    await this.acquisition.lease.extend(ms)
  }

  async shorten(ms: number): Promise<void> {
    checkGivenLease('ms', ms)
    refuseReleased(this)
    await this.acquisition.shorten(this, ms)
  }

  release(): Promise<ReleaseOutcome>
  release(options: ReleaseOptions): Promise<ReleaseOutcome | 'sent'>
  release(options?: ReleaseOptions): Promise<ReleaseOutcome | 'sent'> {
    if (options !== undefined && !waitsForReply(options)) {
      return sent(this)
    }
    if (this.isReleased) {
      return Promise.resolve('already-released')
    }
    this.isReleased = true
    return this.acquisition.release(this)
  }

  /** @internal */
  get whenWritten(): WhenWritten | null {
    return this.isReleased ? null : this.acquisition.whenWritten
  }

  /** @internal Its lock goes to a successor: nothing is left to release. */
  endHandedOver(): void {
    this.isReleased = true
  }

  get lossError(): LockLostError | null {
    this.acquisition.session.watchdog.endOverdueTrust()
    return this.acquisition.lease.lossError
  }

  get wasReleased(): boolean {
    return this.isReleased
  }

  /** @internal */
  protected leave(): Promise<ReleaseOutcome | null> {
    return this.acquisition.session.releaseWaits.leave<ReleaseOutcome>(this)
  }
}

showsOnly(Hold, ['lockName', 'owner', 'trustedForMs'])
