import { ContextRequiredError, NotLockOwnerError } from '../errors.js'
import type { Hold } from '../hold.js'
import {
  isUnscopedWarningDue,
  REFUSED_UNLOCK,
  warnOfRefusedUnlock,
} from '../diagnostics/unscoped-warnings.js'
import type { AcquireServices } from './services.js'

/** The hold that a lock object gives to callers outside contexts. */
export interface UnscopedHold {
  readonly isLost: boolean
  readonly wasReleased: boolean
}

/**
 * A lock object's calls outside contexts. Two callers cannot be told apart, so the object itself records the one hold
 * that a plain `unlock()` releases, and the debts of lost holds: the late `unlock` of a caller that lost its hold
 * must not release the next caller's.
 */
export class UnscopedCalls<H extends UnscopedHold = Hold> {
  private hold: H | null = null
  private holdOwesUnlock = false
  private debts: H[] | null = null
  private pending = 0
  /**
   * `before`: a `tryLock()` was refused since the latest hold was taken. `now`: the code that runs is the one that awaited
   * it, from there to its next `await`.
   */
  private refused: 'not' | 'before' | 'now' = 'not'

  constructor(
    private readonly session: AcquireServices,
    private readonly lockName: string,
  ) {}

  /** One `lock()` or `tryLock()` begins. @throws ContextRequiredError if the client's `bareCalls` is 'throw' */
  begin(method: string): void {
    this.refuseWhereForbidden(method)
    this.pending += 1
  }

  /**
   * A call has ended. @param owesUnlock it had begun: its caller has no handle but this object, so an `unlock()` is still to
   * come if the hold is lost
   */
  end(hold: H | null, owesUnlock: boolean): void {
    this.pending -= Number(owesUnlock)
    if (!hold) {
      return
    }
    const before = this.hold
    // Whether it is lost is a query to the watchdog: avoided for released holds, the common case.
    if (before && this.holdOwesUnlock && !before.wasReleased && before.isLost) {
      this.debts = [...(this.debts ?? []), before]
    }
    this.hold = hold
    this.holdOwesUnlock = owesUnlock
    this.refused = 'not'
  }

  /** The answer of a `tryLock()`. An `unlock()` by a caller that it refused is a mistake that is warned of. */
  answerOf(tried: Promise<boolean>): Promise<boolean> {
    if (this.session.options.bareCalls !== 'warn') {
      return tried
    }
    return tried.then((isHeld) => {
      if (!isHeld) {
        this.noteRefusal()
      }
      return isHeld
    })
  }

  /** The hold that a plain `unlock()` releases. @throws NotLockOwnerError there is none, or it was lost */
  take(): H {
    this.refuseWhereForbidden('unlock')
    this.debts = this.debts?.filter((each) => !each.wasReleased) ?? null
    const hold = this.debts?.shift() ?? this.hold
    if (hold === this.hold) {
      this.hold = null
    }
    if (!hold || hold.wasReleased) {
      throw new NotLockOwnerError(this.lockName, this.whyNone())
    }
    if (this.refused === 'now' && isUnscopedWarningDue(this.lockName)) {
      warnOfRefusedUnlock(this.lockName, new Error('unlock()'), this.session.reports.origins.find(hold))
    }
    return hold
  }

  get current(): H | null {
    const { hold } = this
    return hold && !hold.wasReleased && !hold.isLost ? hold : null
  }

  private whyNone(): string {
    if (this.pending > 0) {
      return `a call for it has not got an answer yet. ${FORGOTTEN_AWAIT}`
    }
    const why = 'outside contexts a hold belongs to the lock object that took it, and this one has none'
    return this.refused !== 'not'
      ? `${why}. A tryLock() of this object was refused before. ${hint(REFUSED_UNLOCK)}`
      : `${why}. Call unlock() on the object that lock() was called on, or use lock.withLock(callback)`
  }

  /**
   * In the turn in which the answer resolves: its caller goes on between two microtasks, the one that opens here and the
   * one that this queues. No other code runs there, so a caller that has the lock is never taken for the refused one.
   */
  private noteRefusal(): void {
    this.refused = 'before'
    const { runtime } = this.session
    if (isUnscopedWarningDue(this.lockName)) {
      runtime.microtask(() => {
        const after = this.refused === 'not' ? 'not' : 'before'
        this.refused = 'now'
        // A hold that was taken meanwhile, passed on by what the caller did, ends it.
        runtime.microtask(() => (this.refused = this.refused === 'now' ? after : this.refused))
      })
    }
  }

  private refuseWhereForbidden(method: string): void {
    if (this.session.options.bareCalls === 'throw') {
      throw new ContextRequiredError(this.lockName, method)
    }
  }
}

/** The message of the error adds the full stop. */
export const FORGOTTEN_AWAIT =
  'Was `await` forgotten, as in `lock.lock(); await lock.unlock()`? The lint rule ' +
  '@typescript-eslint/no-floating-promises finds that'

// The message of the error puts its own full stop.
function hint(sentence: string): string {
  return sentence.replace(/\.$/, '')
}
