import { type LockServices, proofOf, pause } from '../door.js'

const REFUSED_PAUSE_MS = 500

/**
 * Listens to a channel until `stop` aborts, and asks again where Redis refuses it for a while, as while a script keeps it
 * BUSY: messages alone tell a candidate that it is asked, and a follower of terms between its looks. Resolves when it
 * listens, or is stopped.
 * @throws what Redis refuses for good, or anything once it is stopped
 */
export async function listen(
  { waiter: { topics }, runtime, port }: LockServices,
  channel: string,
  hear: (payload: string) => void,
  stop: AbortSignal,
): Promise<void> {
  stop.addEventListener('abort', () => void topics.remove(channel, hear), { once: true })
  while (!stop.aborted) {
    try {
      await topics.add(channel, hear)
      return
    } catch (error) {
      if (!port.isErrorReply(error) || proofOf(error) === 'for good') {
        throw error
      }
      await pause(REFUSED_PAUSE_MS, runtime, stop)
    }
  }
}
