import { onAbort } from '@holdfast/waiter'
import type { Session } from '../session.js'

/**
 * Waits for something that knows nothing of the client of the call, such as a member of another client: its signal
 * aborts with that of the caller, and as soon as the client of the call is being closed.
 */
export async function untilEnded<T>(
  { session, signal }: { readonly session: Session; readonly signal: AbortSignal | undefined },
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const sources = signal ? [signal, session.closing] : [session.closing]
  const stops = sources.map((source) => onAbort(source, () => controller.abort(source.reason)))
  const ended = sources.find((source) => source.aborted)
  if (ended) {
    controller.abort(ended.reason)
  }
  try {
    return await wait(controller.signal)
  } finally {
    stops.forEach((stop) => stop())
  }
}
