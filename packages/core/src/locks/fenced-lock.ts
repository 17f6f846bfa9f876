import type { CallSite } from '../context/context.js'
import type { Hold } from '../hold.js'
import type { LockServices } from './services.js'
import type { FencedProtocol } from '../kinds/fenced.js'
import { holdOrThrow, type Obtained } from './any-lock.js'
import { Lock } from './lock.js'

/** A hold with a fencing token. */
export interface FencedHold extends Hold {
  readonly token: string
  readonly tokenKey: string
}

/**
 * A lock that numbers its acquisitions, each larger than all before: the fencing token. Pass it to the resource with
 * every write, and let the resource reject a token smaller than the largest it has seen. That stops a holder that
 * lost the lock and has not noticed yet, however long it was paused or delayed (Martin Kleppmann, "How to do
 * distributed locking", 2016). `fencedSet` is such a check for values in Redis.
 *
 * Otherwise a `Lock`; on the wire, Redisson's RFencedLock. `hold.token` has the token; a re-entry has that of its
 * acquisition.
 */
export class FencedLock extends Lock<FencedHold> {
  /** @internal */
  declare readonly protocol: FencedProtocol

  /** @internal Created by a client. */
  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- it narrows what the lock is made of
  constructor(session: LockServices, protocol: FencedProtocol, thread: CallSite | null) {
    super(session, protocol, thread)
  }

  /**
   * Waits until the caller holds the lock, without a limit unless the client has `waitMs`; `unlock()` releases it.
   * Redisson-style.
   * @param leaseMs as for `lock`
   * @returns the token
   * @throws as `lock`
   */
  lockAndGetToken(leaseMs?: number): Promise<string> {
    return this.byHand('lockAndGetToken', { leaseMs }, tokenOrThrow)
  }

  /**
   * Tries to acquire the lock: without arguments one attempt, as Redisson's documentation says.
   * @param waitMs how long to wait, default 0: one attempt
   * @param leaseMs as for `lock`
   * @returns the token; null: another owner holds the lock
   * @throws as `lock`, but no LockTimeoutError
   */
  tryLockAndGetToken(waitMs = 0, leaseMs?: number): Promise<string | null> {
    return this.byHand('tryLockAndGetToken', { waitMs, leaseMs }, tokenOrNull)
  }

  /**
   * Asks Redis for the token of the latest acquisition, by any owner; '0' if there was none, or if Redis has lost
   * it.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  getToken(): Promise<string> {
    return this.protocol.latestToken()
  }
}

function tokenOrThrow(obtained: Obtained<FencedHold>): string {
  return holdOrThrow(obtained).token
}

function tokenOrNull(obtained: Obtained<FencedHold>): string | null {
  return obtained.kind === 'busy' ? null : tokenOrThrow(obtained)
}
