import { holderInWords } from '../lock-holder.js'
import { OncePerName, warn, type LockEvents } from '../events.js'
import { SoonestTimer } from '../runtime/soonest-timer.js'
import type { Clock } from '../runtime/runtime.js'
import { isUnscopedWarningDue } from './unscoped-warnings.js'

const ENDLESS_MS = 60_000

type Facts = Pick<LockEvents['waiting'], 'holder'> & Partial<Pick<LockEvents['waiting'], 'permits'>>

/** A call that waits without a limit, and was not asked to. */
export interface UnlimitedWait {
  readonly lockName: string
  readonly startedAt: number
  /** A kind of thing with its article, if it is no lock. */
  readonly what?: string
  /** Why it may never end, if it waits for no lock. */
  readonly why?: string
  explain?(): Facts
}

const warned = new OncePerName()

/**
 * Warns of waits without a limit that have lasted a minute: once per name in a process, and not of one that was
 * warned of as a wait for oneself. One timer serves all: the first of them sets it, and the last clears it.
 *
 * No FixedDelayQueue: that counts from the last `add`, and a wait is parked again after each try that is refused, so
 * its minute would begin anew. And nearly every wait ends before its minute: it costs a place in a set here, an entry and
 * two readings of the clock there.
 */
export class EndlessWaits {
  /** In order of arrival, which is that of their beginning but for moments. */
  private readonly waits = new Set<UnlimitedWait>()
  private readonly timer: SoonestTimer

  constructor(private readonly clock: Clock) {
    this.timer = new SoonestTimer(clock, () => this.lookAtDue())
  }

  parked(wait: UnlimitedWait): void {
    if (this.waits.size === 0) {
      this.timer.within(ENDLESS_MS)
    }
    this.waits.add(wait)
  }

  ended(wait: UnlimitedWait): void {
    // A wait that has ended leaves no timer behind (I5).
    if (this.waits.delete(wait) && this.waits.size === 0) {
      this.timer.cancel()
    }
  }

  close(): void {
    this.timer.cancel()
  }

  private lookAtDue(): void {
    const now = this.clock.now()
    for (const wait of this.waits) {
      const leftMs = wait.startedAt + ENDLESS_MS - now
      if (leftMs > 0) {
        this.timer.within(leftMs)
        return
      }
      this.waits.delete(wait)
      warnOf(wait, now - wait.startedAt)
    }
  }
}

function warnOf(wait: UnlimitedWait, waitedMs: number): void {
  const { lockName, what = 'Lock' } = wait
  if (!isUnscopedWarningDue(lockName) || !warned.take(lockName)) {
    return
  }
  const waited = `a call has waited for ${Math.round(waitedMs / 1_000)} s, and its wait has no limit`
  warn(
    'HOLDFAST_ENDLESS_WAIT',
    `${what} "${lockName}": ${waited}; ${reasonOf(wait)}. Limit it by waitMs or signal of the call, as in ` +
      'acquire({ waitMs }) and tryLock(waitMs), or for every call by the option waitMs of the client. ' +
      'If it may wait for ever, say so: { waitMs: Infinity }.',
  )
}

function reasonOf(wait: UnlimitedWait): string {
  const { holder, permits } = wait.explain?.() ?? { holder: undefined }
  if (permits) {
    const { wanted, free } = permits
    return `it wants ${wanted} permits, and ${free ?? 'an unknown number'} of them are free`
  }
  if (wait.why !== undefined) {
    return wait.why
  }
  if (wait.what !== undefined) {
    return 'its count has not reached 0'
  }
  return holder ? holderInWords(holder) : 'its holder is not known'
}
