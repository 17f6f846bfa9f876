import { LockError, type Hold, type LockHold } from '@holdfast/core'
import type { HistoryEvent, Mode } from '@holdfast/faults/harness'
import { nowMs } from '../run/shared-clock.js'

/** Where one process notes what it saw: a file, or the journal of a simulated world. */
export interface Recorder {
  add(kind: HistoryEvent['kind'], more?: Readonly<Record<string, unknown>>): unknown
}

/** The object that an owner believes in: a hold, a term of an election, or a run that others share. */
export interface Believed {
  readonly owner: string
  readonly signal: AbortSignal
  readonly trustedForMs: number
  readonly token?: string | undefined
}

/** A hold, as the history knows it. */
export interface Held<H extends Believed = LockHold & Partial<Pick<Hold, 'token'>>> {
  readonly hold: H
  readonly lock: string
  /** The owner in the history: a reader inside its own write lock is one owner there, and two in Redis. */
  readonly owner: string
  readonly mode: Mode | undefined
  /** Length of a lease that nobody renews, ms. */
  readonly leaseMs?: number
}

/** Until when its owner may trust a hold, as of `atMs`. */
export interface TrustNow {
  readonly atMs: number
  readonly untilMs: number
}

/** Looks at a hold, by the clock of the history. */
export type TrustClock = (hold: Believed) => TrustNow

const sharedClock: TrustClock = (hold) => {
  const atMs = nowMs()
  return { atMs, untilMs: atMs + hold.trustedForMs }
}

export interface AttemptCall {
  readonly lock: string
  readonly attempt: string
  readonly mode?: Mode | undefined
  readonly deadlineMs?: number
  /** Length of a lease that nobody renews. */
  readonly leaseMs?: number | undefined
}

/** One call that wants a lock: its begin and its outcome, in the history. */
export class Attempt {
  isHeld = false
  readonly #history: Recorder
  readonly #clock: TrustClock
  readonly #where: { readonly lock: string; readonly attempt: string }
  readonly #mode: Mode | undefined

  constructor(
    history: Recorder,
    { lock, attempt, mode, deadlineMs, leaseMs }: AttemptCall,
    clock = sharedClock,
  ) {
    this.#history = history
    this.#clock = clock
    this.#where = { lock, attempt }
    this.#mode = mode
    history.add('acquire-begin', { lock, attempt, mode, deadlineMs, leaseMs })
  }

  acquired<H extends Believed>(hold: H): Held<H> {
    const held = this.taken(hold, hold.owner)
    noteLoss(this.#history, held)
    return held
  }

  /**
   * A writer has the read lock besides. Its loss says nothing of the write lock, and both have one owner in the
   * history: let `noteLoss` note it from when the write lock is released.
   */
  acquiredBesides<H extends Believed>(hold: H, { owner }: Held): Held<H> {
    return this.taken(hold, owner)
  }

  protected taken<H extends Believed>(hold: H, owner: string): Held<H> {
    this.isHeld = true
    const { lock } = this.#where
    const { untilMs: trustedUntilMs } = this.#clock(hold)
    this.#history.add('acquired', { ...this.#where, owner, token: hold.token, trustedUntilMs })
    return { hold, lock, owner, mode: this.#mode }
  }

  refused(): void {
    this.#history.add('refused', this.#where)
  }

  /** Its caller has gone, unless it has the lock. */
  aborted(): void {
    if (!this.isHeld) this.#history.add('aborted', this.#where)
  }

  /** An error after the lock was taken is no outcome of the attempt to take it. @throws what no lock may end with */
  endedBy(error: unknown): void {
    if (this.isHeld) {
      if (!(error instanceof LockError)) throw error
    } else if (error instanceof LockError) {
      if (error.code === 'LOCK_TIMEOUT') this.refused()
      else this.#history.add('failed', { ...this.#where, code: error.code })
    } else if (error instanceof Error && error.name === 'TimeoutError') this.aborted()
    else throw error
  }
}

/**
 * Notes until when the owner trusts its lock. A process that stood still after it had looked has nothing to say any
 * more: of a trust that is over, the checker would think that it had been renewed without a gap.
 *
 * @returns until when; undefined: it does not trust its lock any more
 */
export const trust = (
  history: Recorder,
  { hold, lock, owner }: Held<Believed>,
  clock = sharedClock,
): number | undefined => {
  const { atMs, untilMs } = clock(hold)
  if (untilMs <= atMs) return undefined
  history.add('trusted', { atMs, lock, owner, untilMs })
  return untilMs
}

/** Notes that a hold was lost: now, if it was before, or when it is. */
export const noteLoss = (history: Recorder, { hold: { signal }, lock, owner }: Held<Believed>): void => {
  const note = (): void => {
    const { reason } = signal.reason as { reason: string }
    history.add('lost', { lock, owner, reason })
  }
  if (signal.aborted) note()
  else signal.addEventListener('abort', note)
}

/** Releases one level. */
export const release = async (history: Recorder, { hold, lock, owner, mode }: Held): Promise<void> => {
  history.add('release-begin', { lock, owner, mode })
  history.add('released', { lock, owner, outcome: await hold.release() })
}
