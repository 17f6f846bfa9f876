import type { LeaseStore, RenewableLease, RenewalAnswer } from './renewable-lease.js'
import type { TrackedWatch } from './tracked-watch.js'

/** How a lease was asked about. */
export interface Asked {
  /** Monotonic ms. */
  readonly sentAt: number
  /** The lease that a renewal sets: that of the lease may have changed since. */
  readonly ttlMs: number
}

/** A kind of query to the store about watched leases, and the meaning of its replies. */
export interface LeaseQuery<L extends RenewableLease, A> {
  /** Whether the query still applies to the watch. */
  matters(watch: TrackedWatch<L>, now: number): boolean
  ask(leases: readonly L[], limits: { timeoutMs: number }): Promise<readonly A[]>
  /** Applies a reply. Throws, for `onRenewalFailed`, if the reply leaves the outcome unknown. */
  settle(watch: TrackedWatch<L>, asked: Asked, answer: A): void
}

/** Renews; that also verifies a suspect watch. */
export function renewal<L extends RenewableLease>(store: LeaseStore<L>): LeaseQuery<L, RenewalAnswer> {
  return {
    matters: (watch, now) => watch.renewsAt(now),
    ask: (leases, limits) => store.renew(leases, limits),
    settle(watch, { sentAt, ttlMs }, answer) {
      if (answer === 'renewed') {
        watch.confirm(sentAt, ttlMs)
      } else if (answer === 'lost') {
        watch.lose('refused')
      } else {
        throw new Error(`the outcome of the renewal is unknown: the store answered "${answer}"`)
      }
    },
  }
}

/** Verifies a suspect watch that is not renewed: verifying must not extend its lease. */
export function remainder<L extends RenewableLease>(store: LeaseStore<L>): LeaseQuery<L, number | null> {
  return {
    matters: (watch) => watch.suspect,
    ask: (leases, limits) => Promise.all(leases.map((lease) => store.remaining(lease, limits))),
    settle(watch, { sentAt }, answer) {
      if (answer === null) {
        watch.lose('refused')
      } else {
        watch.correct(sentAt, answer)
      }
    },
  }
}
