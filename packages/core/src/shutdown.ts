import { ClientClosedError } from './errors.js'
import { limited } from './limited.js'
import type { OpenSession } from './open-session.js'

/**
 * Ends a client in the order that keeps its promises: nobody new gets in, waiters are told, holders get their
 * grace, then their signals abort, and only then their locks are given back.
 */
export async function shutDown(session: OpenSession, graceMs: number): Promise<void> {
  const { clock, options, held, waiter, watchdog, runner, port, events, background, borrowings } = session
  session.refuseNewCalls()
  const waitersGone = waiter.close(new ClientClosedError())
  await limited(Promise.all([held.whenEmpty(), borrowings.whenEmpty()]), graceMs, clock)
  for (const each of [...held.all, ...borrowings.all]) {
    session.background.run(each.surrender())
  }
  // What was asked for just before has its answer, too, or as much time for it as it would have had.
  const ends = [waitersGone, background.whenOver(), runner.whenSettled()]
  await limited(Promise.allSettled(ends), options.commandTimeout, clock)
  session.abandonEverything()
  runner.close()
  await watchdog.close()
  await port.close()
  events.clear()
}
