import type { RedisUnavailableError } from '../errors.js'
import { isQueued } from '../redis/failures.js'
import { AFTER_A_TRANSACTION_MS, pause } from '../redis/until-known.js'
import type { Clock } from '../runtime/runtime.js'

/** The latest command of an owner waits for the EXEC of a transaction that somebody has opened on the connection. */
export interface ExecWait {
  readonly error: RedisUnavailableError
  readonly isRelease: boolean
  /** What had to undo an earlier one waits, too: nothing more is sent. */
  readonly isLast: boolean
}

/** @returns the one there is after a command that failed */
export function execWaitAfter(error: unknown, isRelease: boolean, before: ExecWait | null): ExecWait | null {
  return isQueued(error) ? { error, isRelease, isLast: before !== null } : before
}

/**
 * Before a release behind what waits in a transaction. It is sent once, so that what waits is undone where it runs. Copies
 * of a release would only make the transaction longer; one is sent when it may be over, because it may have been
 * discarded.
 * @throws what the latest command failed with: nothing more is sent
 */
export async function passExec(
  { error, isRelease, isLast }: ExecWait,
  holds: number,
  { clock, abandoned }: { readonly clock: Clock; readonly abandoned: AbortSignal },
): Promise<void> {
  // The last level is not given back by what undid a re-entry: not sent, it would keep the lock for a whole lease.
  if (isLast && (isRelease || holds > 0)) {
    throw error
  }
  if (isRelease) {
    await pause(AFTER_A_TRANSACTION_MS, clock, abandoned)
  }
}
