import { ClientClosedError } from '../errors.js'
import { settleWithin } from '../runtime/settle-within.js'
import type { OpenSession } from './open-session.js'

// For events about commands that were cut off; there is nothing else to wait for.
const LAST_WORDS_MS = 50

/**
 * Closes a client, in the order that keeps its promises: new calls are rejected, waiters fail, holders get their
 * grace period, then their signals abort, and only then their locks are released.
 */
export async function shutDown(session: OpenSession, graceMs: number): Promise<void> {
  const { runtime, options, held, waiter, watchdog, runner, port, events, background, borrowedPermits } =
    session
  const graceEndsAt = runtime.now() + graceMs
  session.processKeeper?.closing()
  session.refuseNewCalls()
  session.idleLocks?.close()
  const waitersGone = waiter.close(new ClientClosedError())
  await settleWithin(Promise.all([held.whenEmpty(), borrowedPermits.whenEmpty()]), graceMs, runtime)
  for (const each of [...held.all, ...borrowedPermits.all]) {
    session.background.run(each.releaseOnClose())
  }
  // Commands already sent get their reply, or their full deadline. Background work, such as the release after a
  // withLock that has returned, gets the rest of the grace period.
  const patienceMs = Math.max(options.commandTimeout, graceEndsAt - runtime.now())
  const ends = [waitersGone, background.whenOver(), runner.whenSettled()]
  await settleWithin(Promise.allSettled(ends), patienceMs, runtime)
  session.abandonEverything()
  session.grantedLocks.close()
  runner.close()
  session.releaseWaits.close()
  session.reports.waits.close()
  session.outages.close()
  // Commands that were cut off report it: 'release-failed'.
  await settleWithin(background.whenOver(), LAST_WORDS_MS, runtime)
  await watchdog.close()
  await port.close().finally(() => session.processKeeper?.close())
  events.clear()
}
