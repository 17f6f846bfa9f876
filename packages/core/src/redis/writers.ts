import type { RedisPort } from './redis-port.js'
import type { ScriptDispatch } from './script-dispatch.js'

/** A caller that goes on when what it sent for this key was written. */
export interface Writer {
  readonly key: string
  /** The connection on which it was sent. */
  readonly epoch: number
  readonly tell: (isWritten: boolean) => void
}

/**
 * Tells those of one turn of the event loop whether what they sent was written: all at once, so that what they send next
 * leaves together too.
 */
export function tellWriters(
  writers: readonly Writer[],
  port: RedisPort,
  dispatch: ScriptDispatch,
  isReady: () => boolean,
): void {
  const telling = (some: readonly Writer[]) => (isWritten: boolean) => {
    const isThere = isWritten && isReady()
    if (isThere) {
      dispatch.goOn(some.length)
    }
    some.forEach(({ epoch, tell }) => tell(isThere && port.connectionEpoch === epoch))
  }
  // The tick that does it may come later.
  dispatch.sendGathered()
  if (!dispatch.sendsOnlyProven) {
    telling(writers)(false)
  } else if (port.slotOf) {
    writers.forEach((each) => port.whenWritten?.(each.key, telling([each])))
  } else {
    port.whenWritten?.(writers[0]?.key ?? '', telling(writers))
  }
}
