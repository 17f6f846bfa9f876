import { LockError, type LockHolder } from '../../index.js'
import { holderInWords, foreign } from '../door.js'
import type { ErrorDetails } from './error-details.js'

/** The run that this caller waited for has failed. Nothing is kept: the next call runs again. */
export class SharedError extends LockError {
  declare readonly code: 'SHARE_FAILED'
  /** The error that the function threw, in the process that ran it. */
  readonly original: ErrorDetails

  constructor(lockName: string, original: ErrorDetails) {
    const said = `${original.name}: ${foreign(original.message)}`
    super('SHARE_FAILED', `The run of "${lockName}" that this call waited for has failed: ${said}`, {
      lockName,
    })
    this.original = original
  }
}

/** Another caller's run was still under way when `waitMs` was over. It goes on. */
export class ShareBusyError extends LockError {
  declare readonly code: 'SHARE_BUSY'
  readonly waitedMs: number
  /** The process that runs; undefined: not known yet. */
  readonly holder: LockHolder | undefined

  constructor(lockName: string, waitedMs: number, holder: LockHolder | undefined) {
    const who = holder ? `: ${holderInWords(holder)}` : ''
    super(
      'SHARE_BUSY',
      `No result of "${lockName}" in ${Math.round(waitedMs)} ms, another caller runs${who}. The run goes on: try again ` +
        'later, or wait longer (waitMs).',
      { lockName },
    )
    this.waitedMs = waitedMs
    this.holder = holder
  }
}

/** The run that this caller waited for ended without a result (`onCrash: 'fail'`). */
export class ShareOutcomeUnknownError extends LockError {
  declare readonly code: 'SHARE_OUTCOME_UNKNOWN'
  constructor(lockName: string, cause?: unknown) {
    super(
      'SHARE_OUTCOME_UNKNOWN',
      `The run of "${lockName}" ended without a result: its process died, lost the lock or was closed, and what it had ` +
        "done by then is unknown. Find that out before the next call, or use onCrash: 'rerun' where a run may be repeated.",
      { lockName, cause },
    )
  }
}
