import { LockError } from '../../index.js'

/** `resign({ to })`: that candidate will not lead next, and the term goes on. */
export class CandidateUnavailableError extends LockError {
  declare readonly code: 'CANDIDATE_UNAVAILABLE'
  /** The client id that was given. */
  readonly candidate: string
  readonly reason: 'not-in-line' | 'no-answer'

  constructor(lockName: string, candidate: string, reason: 'not-in-line' | 'no-answer') {
    const why =
      reason === 'not-in-line'
        ? 'no candidate of that client is in the queue. candidates() lists those that do'
        : 'that client is in the queue and did not answer: it may have died or be blocked'
    super(
      'CANDIDATE_UNAVAILABLE',
      `The leader of "${lockName}" did not resign in favour of "${candidate}": ${why}. The term goes on.`,
      { lockName },
    )
    this.candidate = candidate
    this.reason = reason
  }
}
