import type { CallOrigins } from '../diagnostics/call-origins.js'
import { isUnscopedWarningDue, warnOfSelfWait } from '../diagnostics/unscoped-warnings.js'
import { SoonestTimer } from '../runtime/soonest-timer.js'
import type { Clock } from '../runtime/runtime.js'
import type { HeldLock, HeldLocks } from './held-locks.js'

const LONG_WAIT_MS = 2_000

/** A wait outside contexts, without a limit. */
export interface EndlessWait {
  readonly lockName: string
  readonly protocol: { readonly key: string }
}

interface Watched {
  /** What its client holds by hand while it waits. */
  readonly holder: HeldLock
  readonly dueAt: number
}

/**
 * Warns of waits that may be waits for themselves: endless, outside contexts, and for a lock that this very client took
 * by hand and has kept for 2 s meanwhile. What a `withLock` holds is left out: it ends with its callback, and what is
 * called from there re-enters. So is what changes hands: somebody releases it.
 */
export class SelfWaits {
  /** In order of due time. Only waits for what this client holds by hand: the others cost a look. */
  private readonly watched = new Map<EndlessWait, Watched>()
  private readonly timer: SoonestTimer

  constructor(
    private readonly held: HeldLocks,
    private readonly origins: CallOrigins,
    private readonly clock: Clock,
    private readonly isWanted: boolean,
  ) {
    this.timer = new SoonestTimer(clock, () => this.lookAtDue())
  }

  /** Where the call is made, if it is about to wait for what its own client holds by hand. */
  originOf(key: string, method: string): Error | null {
    return this.isWanted && this.held.byHand(key) ? this.origins.ofWait(method) : null
  }

  parked(wait: EndlessWait): void {
    if (this.isWanted) {
      this.watch(wait)
    }
  }

  ended(wait: EndlessWait): void {
    if (this.watched.size > 0 && this.watched.delete(wait) && this.watched.size === 0) {
      this.timer.cancel()
    }
  }

  private watch(wait: EndlessWait): void {
    const holder = this.held.byHand(wait.protocol.key)
    if (holder && isUnscopedWarningDue(wait.lockName)) {
      this.watched.set(wait, { holder, dueAt: this.clock.now() + LONG_WAIT_MS })
      this.timer.within(LONG_WAIT_MS)
    }
  }

  private lookAtDue(): void {
    const now = this.clock.now()
    for (const [wait, { holder, dueAt }] of this.watched) {
      if (dueAt > now) {
        this.timer.within(dueAt - now)
        return
      }
      this.watched.delete(wait)
      if (this.held.byHand(wait.protocol.key) === holder) {
        const holding = this.origins.find(holder.latestLevel)
        warnOfSelfWait(wait.lockName, LONG_WAIT_MS, this.origins.find(wait), holding)
      } else {
        // It waits on, perhaps for another that forgets to release: from now, and at the end of the order.
        this.watch(wait)
      }
    }
  }
}
