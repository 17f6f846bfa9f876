import type { LockClient, LockThread } from '../../index.js'
import { Acquisition, ALONE, type LockProtocol, type AcquireServices, checkClient } from '../door.js'
import { travellerOf } from './handover-token.js'

/**
 * Revokes a lock that was handed over and is not adopted yet: releases it and wakes its waiters. Waits for
 * Redis's reply, and tries for at most `unavailableTimeoutMs`. For a token that was not delivered, as when the queue refused the job.
 * @param locks a client of the Redis and with the `keyPrefix` of the hand-over, or a thread of one
 * @returns false: there was nothing to release. The lock was adopted, and its adopter keeps it, or its `keepMs` was over
 * @throws InvalidArgumentError the token is none, or of another `keyPrefix`; RedisUnavailableError no reply: it is sent
 *   again in the background, and the lock is free when its `keepMs` is over; ClientClosedError
 */
export async function revoke(locks: LockClient | LockThread, token: string): Promise<boolean> {
  checkClient('locks', locks)
  const { lock, owner } = travellerOf(locks, token)
  const { session, protocol } = lock
  session.assertOpen(lock.name)
  return releaseTraveller(session, protocol, owner)
}

/** Releases the lock under the name that stands for its token, as if an acquisition of this client had that name. */
export async function releaseTraveller(
  session: AcquireServices,
  protocol: LockProtocol,
  owner: string,
): Promise<boolean> {
  const named = Object.create(protocol, { ownerOf: { value: () => owner } }) as LockProtocol
  const acquisition = new Acquisition(session, named, { thread: null, rule: ALONE })
  const { entry } = acquisition
  const { usualMs } = acquisition.lease
  entry.state.granted({ ttlMs: usualMs, wantedMs: usualMs })
  const release = entry.releaseUntilKnown({ levelCount: 0 }, session.options.unavailableTimeoutMs)
  session.background.run(release)
  try {
    return (await release).kind === 'released'
  } catch (error) {
    void acquisition.undo()
    throw error
  }
}
