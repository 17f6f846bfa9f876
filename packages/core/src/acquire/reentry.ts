import type { Attempt, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import { ANSWER_MS } from './acquire-options.js'
import type { AcquireCall, Busy, Held } from './acquire-call.js'
import type { Acquisition } from './acquisition.js'
import { unavailableOrThrow } from './failed-try.js'
import { enclosing, newQueue, type CallSite, type Enclosing, type SiblingMutex } from '../context/context.js'
import { InvalidArgumentError, NotReentrantError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { AcquireServices } from './services.js'

export interface EnclosingAcquisition extends Enclosing {
  readonly acquisition: Acquisition
}

/** The nearest acquisition of a lock around a call site. Contexts contain only acquisitions. */
export function enclosingAcquisition(site: CallSite, scope: string): EnclosingAcquisition | undefined {
  return enclosing(site, scope) as EnclosingAcquisition | undefined
}

/**
 * Adds a level to an enclosing hold. It waits for no release by others, but as a wait request like any other, so that
 * limits, signal and outages are handled the same way.
 */
export class Reentry {
  /** The caller has left: an operation in flight must not add a level any more. */
  private over = false

  constructor(
    private readonly session: AcquireServices,
    private readonly call: AcquireCall,
  ) {}

  /** @returns null: the enclosing hold was released meanwhile */
  async into({ acquisition, within }: EnclosingAcquisition): Promise<Held | Busy | null> {
    this.refuseWhereForbidden(acquisition)
    this.refuseWithoutToken(acquisition)
    const mine = this.call.ofCallback ? within.siblingMutex : null
    const busy = mine ? await this.lockSiblings(mine) : null
    if (busy) {
      return busy
    }
    let hold: Hold | null = null
    try {
      const outcome = await this.addLevel(acquisition)
      if (outcome.kind !== 'done') {
        return this.call.giveUp(outcome)
      }
      hold = outcome.value
      if (!hold) {
        return null
      }
      this.call.publication?.reentered()
      return { kind: 'held', hold, acquisition, siblingMutex: mine }
    } finally {
      if (!hold) {
        this.over = true
        this.call.undo(acquisition)
        releaseSiblingMutex(this.session, mine)
      }
    }
  }

  /** @throws NotReentrantError; LockLostError if the enclosing hold is lost, which takes precedence */
  private refuseWhereForbidden(acquisition: Acquisition): void {
    const { refusesReentry, lockName } = this.call.protocol
    if (refusesReentry) {
      acquisition.lease.throwIfLost()
      throw new NotReentrantError(lockName, acquisition.owner)
    }
  }

  /**
   * An acquisition through `getLock` of the same name was not counted: its holder would get no token, or another
   * owner's.
   * @throws InvalidArgumentError
   */
  private refuseWithoutToken(acquisition: Acquisition): void {
    const { tokenKey, lockName } = this.call.protocol
    if (tokenKey !== undefined && acquisition.extras.token === undefined) {
      const rule =
        'a lock that this context took by getFencedLock() too: it holds this one without a token. Take it so at the outer level'
      throw new InvalidArgumentError('name', lockName, rule)
    }
  }

  private addLevel(acquisition: Acquisition): Promise<WaitOutcome<Hold | null>> {
    return this.wait<Hold | null>({
      // A queue of its own: concurrent re-entries must not block each other.
      queue: newQueue('reenter'),
      attempt: () =>
        acquisition
          .tryReenter(this.call, () => this.over)
          .then((value): Attempt<Hold | null> => ({ kind: 'done', value }), unavailableOrThrow),
      // Too late for its caller: the level is released.
      undo: (hold) => {
        const work = Promise.resolve(hold?.release()).catch(() => undefined)
        this.session.background.run(work)
        this.call.whole?.undoes(work)
      },
    })
  }

  /** Siblings that re-enter the same hold through `withLock` exclude each other. */
  private async lockSiblings(siblingMutex: SiblingMutex): Promise<Busy | null> {
    const outcome = await this.wait<true>({
      queue: siblingMutex.queue,
      attempt: () => {
        if (siblingMutex.taken) {
          return Promise.resolve({ kind: 'refused' })
        }
        siblingMutex.taken = true
        return Promise.resolve({ kind: 'done', value: true })
      },
      undo: () => releaseSiblingMutex(this.session, siblingMutex),
    })
    return outcome.kind === 'done' ? null : this.call.giveUp(outcome)
  }

  private wait<T>(request: WaitRequest<T>): Promise<WaitOutcome<T>> {
    const { timeoutMs, limits } = this.call
    request.timeoutMs = timeoutMs
    request.answerMs = ANSWER_MS
    request.signal = limits.signal
    return this.session.waiter.enter(request).outcome
  }
}

/** Lets the next sibling in. */
export function releaseSiblingMutex(session: AcquireServices, siblingMutex: SiblingMutex | null): void {
  if (siblingMutex) {
    siblingMutex.taken = false
    session.waiter.wake(siblingMutex.queue)
  }
}
