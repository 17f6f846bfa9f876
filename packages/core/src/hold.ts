import type { Watch } from '@holdfast/watchdog'
import { LockLostError, NotLockOwnerError, type LeaseEnd } from './errors.js'
import { checkDuration, checkLease, checkRequired } from './arguments/validate.js'

/** What a release found. `lost`: the lock was gone before it. */
export type ReleaseOutcome = 'released' | 'still-held' | 'lost' | 'already-released'

/** The proof that its owner has a lock, of whatever kind. */
export interface LockHold {
  readonly lockName: string
  readonly owner: string
  /** How many levels this owner holds now, this one included. */
  readonly count: number
  /** Aborts with a LockLostError before anybody else can own the lock. */
  readonly signal: AbortSignal
  /** How long this client may still act as the owner without asking again, ms; 0 when it may not. */
  readonly trustedForMs: number
  /** Why it was lost; null while it was not. */
  readonly lossError: LockLostError | null
  /** Local: throws LockLostError unless more than `ms` of trusted time are left, NotLockOwnerError when released. */
  ensure(ms?: number): void
  /** Asks Redis. @throws LockLostError, RedisUnavailableError, NotLockOwnerError */
  verify(): Promise<void>
  /** At least this long from now, ms; never shorter. @throws LockLostError, RedisUnavailableError, NotLockOwnerError */
  extend(ms: number): Promise<void>
  /** Gives back this level. Never throws for a hold that expired or was given back before. */
  release(): Promise<ReleaseOutcome>
  [Symbol.asyncDispose](): Promise<void>
}

/** Whether and why an acquisition was lost, and the signal that says so. */
export class Loss {
  error: LockLostError | null = null
  private controller: AbortController | null = null
  private failed: { readonly error: unknown; readonly at: number } | null = null
  private listeners: Set<() => void> | null = null

  /** Whether anybody would hear of it, through the signal or otherwise. */
  get isObserved(): boolean {
    return this.controller !== null || (this.listeners?.size ?? 0) > 0
  }

  /** Made when it is first asked for: most holds end without anybody looking. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.error) {
        this.controller.abort(this.error)
      }
    }
    return this.controller.signal
  }

  set(error: LockLostError): void {
    this.error = error
    this.controller?.abort(error)
    for (const listener of [...(this.listeners ?? [])]) {
      listener()
    }
  }

  /** For holds of several locks: no AbortSignal of their own for each. Returns the un-listener. */
  onSet(listener: () => void): () => void {
    const listeners = (this.listeners ??= new Set())
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** A renewal had no answer. @param at monotonic ms */
  renewalFailed(error: unknown, at: number): void {
    this.failed = { error, at }
  }

  /** How trust in a lease ran out: what an error tells of it. */
  endOfLease(
    { provenAt, leaseMs }: Pick<Watch, 'provenAt' | 'leaseMs'>,
    now: number,
    renewed: boolean,
  ): { readonly lease: LeaseEnd; readonly cause?: unknown } {
    const lease = { leaseMs, confirmedMsAgo: now - provenAt, renewed }
    // One that failed before another came through is no reason.
    return this.failed && this.failed.at > provenAt ? { lease, cause: this.failed.error } : { lease }
  }

  throwIfSet(): void {
    if (this.error) {
      throw this.error
    }
  }
}

/** The names that a hold may have in Redis: it may have been passed on inside its process. */
export interface FieldNames {
  /** Whether the owner that Redis tells of is, or lately was, this one. */
  isNamed(owner: string): boolean
  /** @returns what Redis says of any of its names */
  find<T>(holds: ReadonlyMap<string, T>): T | undefined
}

/** What holds are levels of: an acquisition, as its holds see it. */
export interface HoldOwner {
  readonly lockName: string
  /** `<clientId>:<threadId>`. */
  readonly owner: string
  /** The lock that it is of, see `LockProtocol.scope`. */
  readonly scope: string
  /** The parts that its client is made of: each client has its own. */
  readonly session: {
    readonly releaseWaits: { outcomeOf<T>(release: Promise<T>): Promise<T | null> }
  }
  /** What stands for it in Redis. */
  readonly field: FieldNames
  readonly token: string | undefined
  readonly replicas: number | undefined
  /** How many levels it has. */
  readonly levelCount: number
  readonly trustedForMs: number
  readonly loss: Loss
  /** `loss`, after a pause of the process whose end the watchdog's timer may not have seen yet. */
  readonly lossByNow: Loss
  /** Asks Redis. @throws LockLostError, RedisUnavailableError */
  verify(): Promise<void>
  /** Lives at least this long from now. @throws LockLostError, RedisUnavailableError */
  extend(leaseMs: number): Promise<void>
  /** Gives back one level. @throws RedisUnavailableError nobody answered; it is tried on in the background */
  release(hold: Hold): Promise<'released' | 'still-held' | 'lost'>
}

/** One acquisition that has not been released: the proof that its owner has the lock. */
export class Hold implements LockHold {
  private isReleased = false

  /** @internal Holds come from a lock. */
  constructor(
    private readonly acquisition: HoldOwner,
    /** @internal Whether the watchdog renews because of this level. */
    readonly watched: boolean,
    /** @internal Whether `withLock` gives it back. */
    readonly ofCallback: boolean,
  ) {}

  get lockName(): string {
    return this.acquisition.lockName
  }

  /** `<clientId>:<threadId>`, the field of the lock's hash in Redis. */
  get owner(): string {
    return this.acquisition.owner
  }

  /** @internal Whether a lock of that client and scope gave it. */
  isOf(session: object, scope: string): boolean {
    return this.acquisition.session === session && this.acquisition.scope === scope
  }

  /** @internal What stands for it in Redis. */
  get field(): FieldNames {
    return this.acquisition.field
  }

  /**
   * The fencing token, a decimal number as text: larger than that of every earlier acquisition of this lock. All
   * levels of one acquisition have the same. Undefined for a lock without tokens: see `getFencedLock`.
   */
  get token(): string | undefined {
    return this.acquisition.token
  }

  /**
   * How many replicas had it when this owner last took it; every renewal that counted had as many as `replicas.acks`
   * asks for. Undefined where the client has no such option.
   */
  get replicas(): number | undefined {
    return this.acquisition.replicas
  }

  /** How many levels this owner holds now, this one included. */
  get count(): number {
    return this.acquisition.levelCount
  }

  /**
   * Aborts with a LockLostError before anybody else can own the lock. Hand it to whatever does the work. After
   * a pause of the whole process (SIGSTOP, a blocked event loop) other code may run first, unless it asks this hold
   * (`signal`, `trustedForMs`, `ensure`): only a check at the resource protects against that.
   */
  get signal(): AbortSignal {
    return this.acquisition.lossByNow.signal
  }

  /** How long this client may still act as the owner without asking again, ms; 0 when it may not. */
  get trustedForMs(): number {
    return this.isReleased || this.isLost ? 0 : this.acquisition.trustedForMs
  }

  /**
   * A local check, without a round trip.
   * @param ms trusted time needed, default 0
   * @throws LockLostError less than that is left
   * @throws NotLockOwnerError the hold was released
   */
  ensure(ms = 0): void {
    checkDuration('ms', ms, 'zero')
    this.throwIfReleased()
    const left = this.trustedForMs
    this.acquisition.loss.throwIfSet()
    if (left <= ms) {
      const { lockName, owner } = this
      throw new LockLostError({ lockName, owner, reason: 'expired' })
    }
  }

  /**
   * Asks Redis, in one script, whether this owner still has the lock: call it right before the critical write.
   * @throws LockLostError it does not
   * @throws RedisUnavailableError no answer: neither yes nor no
   * @throws NotLockOwnerError the hold was released
   */
  async verify(): Promise<void> {
    this.throwIfReleased()
    await this.acquisition.verify()
  }

  /**
   * Makes the lease last at least `ms` from now; never shortens it.
   * @throws LockLostError, RedisUnavailableError, NotLockOwnerError
   */
  async extend(ms: number): Promise<void> {
    checkRequired('ms', ms)
    checkLease('ms', ms)
    this.throwIfReleased()
    await this.acquisition.extend(ms)
  }

  /**
   * Gives back this level. Never throws for a hold that expired or was given back before.
   * @throws RedisUnavailableError Redis did not take it within `unavailableTimeoutMs`; it is tried on in the
   *   background, and the lock becomes free when its lease ends at the latest
   */
  release(): Promise<ReleaseOutcome> {
    if (this.isReleased) {
      return Promise.resolve('already-released')
    }
    this.isReleased = true
    return this.acquisition.release(this)
  }

  /** Why it was lost; null while it was not. */
  get lossError(): LockLostError | null {
    return this.acquisition.lossByNow.error
  }

  /** Whether it was lost: what `signal` tells, without one. */
  get isLost(): boolean {
    return this.lossError !== null
  }

  /** Whether it was given back. */
  get wasReleased(): boolean {
    return this.isReleased
  }

  /**
   * `await using`: gives the level back, as `withLock` does: it waits for `releaseWaitMs` at most.
   * @throws LockLostError the hold had been lost; RedisUnavailableError as `release`, when that is known in time
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const { releaseWaits } = this.acquisition.session
    const outcome = await releaseWaits.outcomeOf(this.release())
    if (outcome === 'lost' || (outcome === null && this.isLost)) {
      throw (
        this.lossError ?? new LockLostError({ lockName: this.lockName, owner: this.owner, reason: 'gone' })
      )
    }
  }

  private throwIfReleased(): void {
    if (this.isReleased) {
      throw new NotLockOwnerError(this.lockName, 'this hold was released', { owner: this.owner })
    }
  }
}
