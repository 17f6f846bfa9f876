import type { RenewalAnswer } from '@holdfast/watchdog'
import type { RequestedHold } from './call-publication.js'
import { renewals } from './channels.js'
import type { ObservedRenewal } from './messages.js'

/** A renewed lease. */
export interface Renewed extends RequestedHold {
  readonly owner: string
  /** 0 when the hold has ended. */
  readonly trustedForMs: number
}

const OUTCOMES = { renewed: 'renewed', lost: 'lost', unknown: 'unanswered' } as const

/**
 * Publishes the results of a batch of renewals, before they take effect. Subscribers are looked up when the batch is
 * sent.
 */
export function publishRenewals(
  clientId: string,
  leases: readonly Renewed[],
  round: Promise<readonly RenewalAnswer[]>,
): Promise<readonly RenewalAnswer[]> {
  const tell = (answers: readonly RenewalAnswer[]): void =>
    leases.forEach((lease, i) => publishRenewal(clientId, lease, answers[i] ?? 'unknown'))
  return round.then(
    (answers) => {
      tell(answers)
      return answers
    },
    (error: unknown) => {
      tell([])
      throw error
    },
  )
}

function publishRenewal(clientId: string, lease: Renewed, answer: RenewalAnswer): void {
  const { lockName, kind, owner, trustedForMs: marginMs } = lease
  if (marginMs > 0) {
    const message: ObservedRenewal = { lockName, kind, clientId, owner, outcome: OUTCOMES[answer], marginMs }
    renewals.publish(message)
  }
}
