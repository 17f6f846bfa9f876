import { ClientClosedError } from '../errors.js'
import { settleWithin } from '../runtime/settle-within.js'
import type { OpenSession } from './open-session.js'

// It has nothing to wait for any more.
const LAST_WORDS_MS = 50

/**
 * Ends a client in the order that keeps its promises: nobody new gets in, waiters are told, holders get their
 * grace, then their signals abort, and only then their locks are given back.
 */
export async function shutDown(session: OpenSession, graceMs: number): Promise<void> {
  const { clock, options, held, waiter, watchdog, runner, port, events, background, borrowedPermits } =
    session
  const graceEndsAt = clock.now() + graceMs
  session.refuseNewCalls()
  const waitersGone = waiter.close(new ClientClosedError())
  await settleWithin(Promise.all([held.whenEmpty(), borrowedPermits.whenEmpty()]), graceMs, clock)
  for (const each of [...held.all, ...borrowedPermits.all]) {
    session.background.run(each.releaseOnClose())
  }
  // What was asked for just before has its answer, too, or as much time for it as it would have had. What nobody waits
  // for any more, such as the release of a withLock that has returned, has the rest of the grace.
  const patienceMs = Math.max(options.commandTimeout, graceEndsAt - clock.now())
  const ends = [waitersGone, background.whenOver(), runner.whenSettled()]
  await settleWithin(Promise.allSettled(ends), patienceMs, clock)
  session.abandonEverything()
  session.grantedLocks.close()
  runner.close()
  session.releaseWaits.close()
  // What was cut off tells of it: 'release-failed'.
  await settleWithin(background.whenOver(), LAST_WORDS_MS, clock)
  await watchdog.close()
  await port.close()
  events.clear()
}
