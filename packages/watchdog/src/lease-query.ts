import type { LeaseStore, RenewableLease, RenewalAnswer } from './renewable-lease.js'
import type { TrackedWatch } from './tracked-watch.js'

/** One way to ask the store about watched leases, and what its answers mean. */
export interface LeaseQuery<L extends RenewableLease, A> {
  /** Whether this question may still be asked about this watch. */
  matters(watch: TrackedWatch<L>, now: number): boolean
  ask(leases: readonly L[], limits: { timeoutMs: number }): Promise<readonly A[]>
  /** Throws, what the owner is told, when the answer leaves the outcome unknown. */
  settle(watch: TrackedWatch<L>, sentAt: number, answer: A): void
}

/** Renews; to a suspect watch a renewal is as good a proof as any. */
export function renewal<L extends RenewableLease>(store: LeaseStore<L>): LeaseQuery<L, RenewalAnswer> {
  return {
    matters: (watch, now) => watch.renewsAt(now),
    ask: (leases, limits) => store.renew(leases, limits),
    settle(watch, sentAt, answer) {
      if (answer === 'renewed') watch.confirm(sentAt, watch.lease.ttlMs)
      else if (answer === 'lost') watch.lose('refused')
      else throw new Error(`the store did not say whether it renewed the lease, but "${answer}"`)
    },
  }
}

/** Verifies a suspect watch that is not renewed: its lease must not be made longer just to learn about it. */
export function remainder<L extends RenewableLease>(store: LeaseStore<L>): LeaseQuery<L, number | null> {
  return {
    matters: (watch) => watch.suspect,
    ask: (leases, limits) => Promise.all(leases.map((lease) => store.remaining(lease, limits))),
    settle(watch, sentAt, answer) {
      if (answer === null) watch.lose('refused')
      else watch.correct(sentAt, answer)
    },
  }
}
