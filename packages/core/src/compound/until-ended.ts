import type { Session } from '../client/session.js'
import { abortWith } from './abort-with.js'

/**
 * Waits for something that knows nothing of the client of the call, such as a member of another client: its signal
 * aborts with that of the caller, and as soon as the client of the call is being closed.
 */
export async function untilEnded<T>(
  { session, signal }: { readonly session: Session; readonly signal: AbortSignal | undefined },
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const stop = abortWith(controller, signal ? [signal, session.closing] : [session.closing])
  try {
    return await wait(controller.signal)
  } finally {
    stop()
  }
}
