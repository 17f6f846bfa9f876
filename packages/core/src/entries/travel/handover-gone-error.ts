import { LockError, type LockHolder } from '../../index.js'
import { holderInWords } from '../door.js'

/** The lock does not wait for this token any more: it was adopted, revoked or released by force, or `keepMs` was over. */
export class HandoverGoneError extends LockError {
  declare readonly code: 'HANDOVER_GONE'
  /** The holder of the lock instead; `undefined`: none. */
  readonly holder: LockHolder | undefined

  constructor(lockName: string, holder: LockHolder | undefined, cause?: unknown) {
    const now = holder ? holderInWords(holder) : 'the lock is free'
    super(
      'HANDOVER_GONE',
      `Lock "${lockName}" does not wait for this token any more: it was adopted by another call, revoked or released by ` +
        `force, or its keepMs was over; now ${now}. Whether the work is done, or has to begin again with a lock of its ` +
        'own, only the work itself can tell.',
      { lockName, cause },
    )
    this.holder = holder
  }
}
