import type { CallOrigins } from './call-origins.js'
import { isUnscopedWarningDue, warnOfSelfWait } from './unscoped-warnings.js'
import { FixedDelayQueue } from '../runtime/fixed-delay-queue.js'
import type { Clock } from '../runtime/runtime.js'

const LONG_WAIT_MS = 2_000

/** A wait outside contexts, without a limit. */
export interface EndlessWait {
  readonly lockName: string
  readonly protocol: { readonly key: string }
  /** Where the call was made, if that was recorded. */
  readonly calledFrom: Error | null
}

/** A hold that was taken by hand: by `lock()`, `tryLock()` or `acquire()`. */
interface HoldByHand {
  /** The level that a plain `unlock()` would release. */
  readonly latestLevel: object | undefined
}

/** The locks that this client holds by hand, by key. */
interface HeldByHand {
  byHand(key: string): HoldByHand | undefined
}

/**
 * Warns of waits that may be waits for themselves: endless, outside contexts, and for a lock that this very client took
 * by hand and has kept for 2 s meanwhile. A hold of `withLock` is left out: it ends with its callback, and calls from
 * there re-enter. So is a lock that changes hands: its holders release it.
 */
export class SelfWaits {
  /** Only waits for what this client holds by hand, each with that hold: the others cost a look. */
  private readonly watched: FixedDelayQueue<EndlessWait, HoldByHand>

  constructor(
    private readonly held: HeldByHand,
    private readonly origins: CallOrigins,
    clock: Clock,
    readonly isWanted: boolean,
  ) {
    this.watched = new FixedDelayQueue(clock, {
      delayMs: LONG_WAIT_MS,
      due: (wait, holder) => this.lookAt(wait, holder),
    })
  }

  /** Where the call is made, if it is about to wait for what its own client holds by hand. */
  originOf(key: string, method: string): Error | null {
    return this.held.byHand(key) ? this.origins.of('wait', method) : null
  }

  ended(wait: EndlessWait): void {
    this.watched.remove(wait)
  }

  parked(wait: EndlessWait): void {
    const holder = this.held.byHand(wait.protocol.key)
    if (holder && isUnscopedWarningDue(wait.lockName)) {
      this.watched.add(wait, holder)
    }
  }

  private lookAt(wait: EndlessWait, holder: HoldByHand): void {
    if (this.held.byHand(wait.protocol.key) === holder) {
      const holding = this.origins.find(holder.latestLevel)
      warnOfSelfWait(wait.lockName, LONG_WAIT_MS, wait.calledFrom, holding)
    } else {
      // It waits on, perhaps for another that forgets to release: from now.
      this.parked(wait)
    }
  }
}
