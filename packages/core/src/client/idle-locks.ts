import { IdleLocks } from '../pass/idle-locks.js'
import type { Session } from './session.js'

/** Called when a lock is made that may linger: most clients have none, and keep nothing. */
export function keepIdleLocks(session: Session): void {
  session.idleLocks ??= new IdleLocks({ ...session, patienceMs: session.options.commandTimeout })
}
