import type { LockServices } from '../door.js'

/**
 * Listens to a channel until `stop` aborts: messages alone tell a candidate that it is asked, and a follower of terms
 * between its looks. Resolves when it listens, or is stopped; a request that Redis refuses for a while, as while a script
 * keeps it BUSY, is repeated until it is confirmed.
 * @throws what Redis refuses for good, or anything once it is stopped
 */
export async function listen(
  { waiter: { topics } }: LockServices,
  channel: string,
  hear: (payload: string) => void,
  stop: AbortSignal,
): Promise<void> {
  stop.addEventListener('abort', () => void topics.remove(channel, hear), { once: true })
  if (!stop.aborted) {
    await topics.add(channel, hear)
  }
}
