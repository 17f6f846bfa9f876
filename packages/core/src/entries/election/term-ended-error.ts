import { LockError } from '../../index.js'

/**
 * Why a term ended. `resigned`: `resign()`; `stopped`: the signal of `lead`, `close()` of the election, or the client
 * closes; `endangered`: renewals failed until only `lossGraceMs` of trust was left; `settled`: the callback has ended it.
 */
export type TermEnd = 'resigned' | 'stopped' | 'endangered' | 'settled'

const IN_WORDS: Record<TermEnd, string> = {
  resigned: 'it resigned',
  stopped: 'the campaign was stopped',
  endangered: 'its lease could not be renewed, and only lossGraceMs of it is left',
  settled: 'its callback has settled',
}

/** The reason of a term's signals, where the term was not lost: a lost one has a LockLostError. */
export class TermEndedError extends LockError {
  declare readonly code: 'TERM_ENDED'
  readonly reason: TermEnd

  constructor(lockName: string, owner: string, reason: TermEnd) {
    super('TERM_ENDED', `The term of the leader of "${lockName}" ends: ${IN_WORDS[reason]}.`, {
      lockName,
      owner,
    })
    this.reason = reason
  }
}
