import type { LockServices } from '../locks/services.js'
import { abortWith } from './abort-with.js'

/**
 * Waits for something outside the call's client, such as a member of another client: its signal aborts with the
 * caller's, and as soon as the call's client starts closing.
 */
export async function untilEnded<T>(
  { session, signal }: { readonly session: LockServices; readonly signal: AbortSignal | undefined },
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
