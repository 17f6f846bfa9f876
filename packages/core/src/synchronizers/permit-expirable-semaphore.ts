import { InvalidArgumentError } from '../errors.js'
import { localName } from '../keys.js'
import {
  acquireExpirable,
  cancelExpirable,
  renewPermit,
  releaseExpirable,
  updateLease,
} from '../scripts/permit-semaphore.js'
import type { CallDefaults } from '../acquire/acquire-options.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkWork } from '../arguments/lazy-result.js'
import { checkLease, checkOneOf, checkOptions, checkGivenLease } from '../arguments/validate.js'
import { randomHex } from '../runtime/runtime.js'
import { ExpirablePermits } from './expirable-permits.js'
import { borrow } from '../client/borrowed-permits.js'
import { checkCount, checkId, idsOf } from './permit-arguments.js'
import { Permit, withPermit, type PermitGrant } from './permit.js'
import { PermitWait, type PermitSource, type Take } from './permit-wait.js'
import { PERMIT_WAIT_OPTIONS, permitLimits, type PermitOptions } from './wait-limits.js'

/** The limits of a call for permits, and their lease. */
export interface PermitLeaseOptions extends Omit<PermitOptions, 'permits'> {
  /** The lease of the permit, ms: it is released automatically after it. Default: no expiry. */
  leaseMs?: number | undefined
}

/** For a permit that reports its loss: one of the two must be given. */
export interface HeldPermitOptions extends PermitLeaseOptions {
  /** The watchdog renews the permit for as long as it is held, by `lockWatchdogTimeout`. */
  renew?: boolean | undefined
}

interface TakenPermits extends PermitGrant {
  readonly ids: string[]
}

const PERMIT_LEASE_OPTIONS: KnownKeys<PermitLeaseOptions> = { ...PERMIT_WAIT_OPTIONS, leaseMs: true }
const HELD_PERMIT_OPTIONS: KnownKeys<HeldPermitOptions> = { ...PERMIT_LEASE_OPTIONS, renew: true }

/**
 * A semaphore whose permits have ids and may have leases: Redisson's RPermitExpirableSemaphore. Permits of a crashed
 * process are released when their leases end.
 */
export class PermitExpirableSemaphore extends ExpirablePermits {
  /**
   * Waits for a permit: by default without a limit, unless the client has `waitMs`.
   * @returns its id, for the release
   * @throws LockTimeoutError the wait ended; LockBusyError too many wait; RedisUnavailableError, WrongTypeError, InvalidArgumentError,
   *   ClientClosedError
   */
  async acquire(options: PermitLeaseOptions = {}): Promise<string> {
    const [id] = await this.acquireMany(1, options)
    return id as string
  }

  /**
   * Waits for a number of permits, all or none: by default without a limit, unless the client has `waitMs`.
   * @returns their ids
   * @throws LockTimeoutError the wait ended; RedisUnavailableError, WrongTypeError, InvalidArgumentError,
   *   ClientClosedError
   */
  async acquireMany(permits: number, options: PermitLeaseOptions = {}): Promise<string[]> {
    return (await this.take(permits, options)).ids
  }

  /**
   * Waits for a permit as an object, which reports its loss and can be renewed: by default without a limit, unless
   * the client has `waitMs`.
   * @throws as `acquire`
   */
  async acquirePermit(options: HeldPermitOptions): Promise<Permit> {
    const { ttlMs, renew } = termsOf(options, this.session.options)
    const { waitMs, signal, maxWaiting } = options
    return borrow(this.session, {
      lockName: this.name,
      obtain: () => this.take(1, { waitMs, signal, maxWaiting, leaseMs: ttlMs }),
      begin: (taken) => new Permit(this.session, this, taken.ids[0] as string, ttlMs).begin(taken, renew),
      undo: ({ ids }) => this.tryRelease(ids),
    })
  }

  /**
   * Waits for a permit as `acquire` does, runs the callback, and releases it.
   * @throws LockLostError the permit was lost meanwhile; as `acquire`
   */
  async withPermit<T>(callback: (permit: Permit) => Promise<T> | T, options: HeldPermitOptions): Promise<T> {
    checkWork('callback', callback)
    return withPermit(await this.acquirePermit(options), callback)
  }

  /**
   * Tries to acquire a permit: without a wait, one attempt outside the queue.
   * @returns the id; null: no permit is free
   * @throws as `acquire`, but no LockTimeoutError
   */
  async tryAcquire(options: PermitLeaseOptions = {}): Promise<string | null> {
    const [id] = await this.tryAcquireMany(1, options)
    return id ?? null
  }

  /**
   * Tries to acquire permits: without a wait, one attempt for all.
   * @returns the ids; none: too few permits are free
   * @throws as `acquire`, but no LockTimeoutError
   */
  async tryAcquireMany(permits: number, options: PermitLeaseOptions = {}): Promise<string[]> {
    checkOptions('options', options, PERMIT_LEASE_OPTIONS)
    const { waitMs = 0 } = options
    return (await this.waitFor(permits, { ...options, waitMs }).obtain())?.value.ids ?? []
  }

  /**
   * Releases permits, all or none.
   * @throws InvalidArgumentError one of them has expired or was released before; RedisUnavailableError,
   *   WrongTypeError, ClientClosedError
   */
  async release(id: string | readonly string[]): Promise<void> {
    if ((await this.sendRelease(id)) === 0 && (typeof id === 'string' || id.length > 0)) {
      const rule =
        'the id of a permit that is held: it has ended, was released, or never was one. Where that may be, use tryRelease()'
      throw new InvalidArgumentError('id', id, rule)
    }
  }

  /**
   * Releases permits, all or none.
   * @returns false: one of them has expired or was released before; nothing was changed
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async tryRelease(id: string | readonly string[]): Promise<boolean> {
    return (await this.sendRelease(id)) > 0
  }

  /**
   * Makes the lease end `leaseMs` from now.
   * @returns false: the permit has expired or was released before
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async updateLeaseTime(id: string, leaseMs: number): Promise<boolean> {
    checkGivenLease('leaseMs', leaseMs)
    checkId(id)
    return this.counter.attempt((given) => updateLease(this.session.runner, { ...given, id, leaseMs }))
  }

  /** @internal */
  renew(id: string, leaseMs: number, timeoutMs: number): Promise<number> {
    const { lockName, timeoutsKey } = this.counter.subject
    return renewPermit(this.session.runner, { lockName, timeoutsKey, id, leaseMs, timeoutMs })
  }

  private async take(permits: number, options: PermitLeaseOptions): Promise<TakenPermits> {
    const wait = this.waitFor(permits, options)
    const taken = await wait.obtain()
    if (!taken) {
      throw wait.timedOut()
    }
    return taken.value
  }

  private waitFor(permits: number, options: PermitLeaseOptions): PermitWait<TakenPermits> {
    checkOptions('options', options, PERMIT_LEASE_OPTIONS)
    checkCount('permits', permits, 1)
    const limits = permitLimits(options, this.session.contexts, this.session.options)
    const { leaseMs = this.session.options.leaseMs } = options
    checkLease('leaseMs', leaseMs)
    const source = this.sourceOf(permits, leaseMs)
    return new PermitWait(this.session, this.counter.commands, source, limits)
  }

  private sourceOf(permits: number, leaseMs: number | undefined): PermitSource<TakenPermits> {
    const { runner, runtime } = this.session
    const { counter } = this
    let sent = { number: 0, at: 0 }
    const ids = Array.from({ length: permits }, () => randomHex(this.session.runtime, 16))
    return {
      ...counter.subject,
      kind: 'permit',
      queue: localName('permits', this.key),
      topic: counter.subject.channel,
      permits,
      take: async (stamp): Promise<Take<TakenPermits>> => {
        // A copy returns what the first one obtained: trust counts from the first.
        sent = sent.number === stamp.number ? sent : { number: stamp.number, at: runtime.now() }
        const reply = await acquireExpirable(runner, { ...counter.argumentsOf(stamp), ids, leaseMs })
        if (reply.kind === 'over') {
          return { kind: 'over' }
        }
        const { kind, endsInMs, left, isMissing } = reply
        const found = { left, ...(endsInMs >= 0 && { retryAfterMs: endsInMs }) }
        const value = { ids, sentAt: sent.at, semaphoreEndsInMs: reply.semaphoreEndsInMs }
        return kind === 'taken' ? { kind, value, ...found } : { kind: 'refused', isMissing, ...found }
      },
      cancel: (stamp) => cancelExpirable(runner, { ...counter.argumentsOf(stamp), ids }),
    }
  }

  private async sendRelease(id: string | readonly string[]): Promise<number> {
    const ids = idsOf(id)
    if (ids.length === 0) {
      return 0
    }
    return this.counter.insist((given) => releaseExpirable(this.session.runner, { ...given, ids }))
  }
}

const TERMS_RULE =
  '{ leaseMs } or { renew: true }, as in withPermit(callback, { renew: true }): a permit that tells of its loss has a lease, ' +
  'which is fixed (leaseMs, in ms) or renewed'

/** @throws InvalidArgumentError */
function termsOf(
  options: HeldPermitOptions | undefined,
  { lockWatchdogTimeout, leaseMs: usualMs }: CallDefaults & { readonly lockWatchdogTimeout: number },
): { ttlMs: number; renew: boolean } {
  if (options === undefined) {
    throw new InvalidArgumentError('options', options, TERMS_RULE)
  }
  checkOptions('options', options, HELD_PERMIT_OPTIONS)
  const { renew = false, leaseMs = renew ? undefined : usualMs } = options
  checkOneOf('renew', renew, [true, false])
  checkLease('leaseMs', leaseMs)
  if (renew === (leaseMs !== undefined)) {
    throw new InvalidArgumentError('options', options, `${TERMS_RULE}. One of the two, not both`)
  }
  return { ttlMs: leaseMs ?? lockWatchdogTimeout, renew }
}
