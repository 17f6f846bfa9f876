import type { RedisUnavailableError } from '../errors.js'
import { isQueued } from '../redis/failures.js'
import { AFTER_A_TRANSACTION_MS, pause } from '../redis/until-known.js'
import type { Clock } from '../runtime/runtime.js'

/**
 * The owner's latest command is queued for the EXEC of a transaction that the application has opened on the
 * connection.
 */
export interface ExecWait {
  readonly error: RedisUnavailableError
  readonly isRelease: boolean
  /** The command that was to undo an earlier one is queued as well: no more are sent. */
  readonly isLast: boolean
}

/** @returns the state after a failed command */
export function execWaitAfter(error: unknown, isRelease: boolean, before: ExecWait | null): ExecWait | null {
  return isQueued(error) ? { error, isRelease, isLast: before !== null } : before
}

/**
 * Runs before a release behind a queued command. The release is sent once, so that the queued command is undone if it
 * runs. More copies would only lengthen the transaction; one is sent when it may be over, because it may have been
 * discarded.
 * @throws the error of the latest command: no more are sent
 */
export async function awaitExecBeforeRelease(
  { error, isRelease, isLast }: ExecWait,
  holds: number,
  { runtime, abandoned }: { readonly runtime: Clock; readonly abandoned: AbortSignal },
): Promise<void> {
  // The release of a re-entry does not release the last level: without a command for that, the lock would stay for a
  // whole lease.
  if (isLast && (isRelease || holds > 0)) {
    throw error
  }
  if (isRelease) {
    await pause(AFTER_A_TRANSACTION_MS, runtime, abandoned)
  }
}
