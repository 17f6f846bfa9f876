import { LockError } from '@holdfast/core'
import { nowMs } from '../../run/shared-clock.js'
import type { Belief, Participant } from './participant.js'

interface Role {
  readonly kind: 'plain' | 'fenced'
  /** A lease that is not renewed. */
  readonly fixed: boolean
  /** The call that is under way for the hold when the pause begins. */
  readonly pending: 'verify' | 'extend' | 'nothing' | 'release'
}

/** State of a holder when it is paused. */
const ROLES: readonly Role[] = [
  { kind: 'plain', fixed: false, pending: 'verify' },
  { kind: 'fenced', fixed: false, pending: 'verify' },
  { kind: 'fenced', fixed: true, pending: 'verify' },
  { kind: 'plain', fixed: true, pending: 'extend' },
  { kind: 'fenced', fixed: false, pending: 'extend' },
  { kind: 'fenced', fixed: false, pending: 'nothing' },
  { kind: 'plain', fixed: true, pending: 'nothing' },
  { kind: 'plain', fixed: false, pending: 'release' },
]

const lockOf = (role: Role, holder: string): string => `${role.kind}:${holder}:${ROLES.indexOf(role)}`
/** A lock that the holder asks for just before the pause. */
const otherLock = (holder: string): string => `plain:${holder}:other`

/** All that rivals want. */
export const locksOf = (holder: string): string[] => [
  ...ROLES.map((role) => lockOf(role, holder)),
  otherLock(holder),
]

/** A lock that the controller has for the whole run. */
export const TAKEN = 'plain:taken'

/** The holds of one round, and a look at all of them whenever the library has resumed the user. */
export class Holds {
  /** How often the user was resumed by an await, and found each hold as it has to be. */
  resumptions = 0
  #items: { readonly role: Role; readonly belief: Belief }[] = []
  readonly #participant: Participant
  readonly #holder: string
  readonly #leaseMs: number

  constructor(participant: Participant, { holder, leaseMs }: { holder: string; leaseMs: number }) {
    this.#participant = participant
    this.#holder = holder
    this.#leaseMs = leaseMs
  }

  /** Those that were taken and are not given back. */
  get beliefs(): Belief[] {
    return this.#items.map(({ belief }) => belief).filter(({ isGivenBack }) => !isGivenBack)
  }

  async take(): Promise<void> {
    const taken = await Promise.all(
      ROLES.map(async (role) => {
        const lease = role.fixed ? { leaseMs: this.#leaseMs } : {}
        const belief = await this.#participant.acquire(lockOf(role, this.#holder), lease)
        return belief === null ? [] : [{ role, belief }]
      }),
    )
    this.#items = taken.flat()
  }

  /** Sends the calls that will be under way; the holds are looked at when they resume the user. */
  begin(): Promise<void>[] {
    const calls = this.#items.map((item) => this.#call(item))
    return [...calls, this.#askForAnother(), ...this.#waitInVain()]
  }

  /** To be called first thing after an await on the library. */
  #resumed(by: string): void {
    this.resumptions += 1
    for (const belief of this.beliefs) this.#check(belief, by)
  }

  async #call({ role: { pending }, belief }: { role: Role; belief: Belief }): Promise<void> {
    if (pending === 'release') {
      await belief.giveBack()
      this.#resumed('release')
      return
    }
    if (pending === 'nothing') return
    if (pending === 'verify') belief.noteQuestion()
    try {
      await (pending === 'verify' ? belief.hold.verify() : belief.hold.extend(this.#leaseMs))
    } catch (error) {
      this.#resumed(pending)
      // Unavailable: the time to answer was over before the answer was read.
      const { code } = error instanceof LockError ? error : { code: '' }
      if (!['LOCK_LOST', 'REDIS_UNAVAILABLE'].includes(code)) throw error
      return
    }
    const { latestAt } = this.#participant.turns
    this.#resumed(pending)
    belief.claim(latestAt)
  }

  async #askForAnother(): Promise<void> {
    const belief = await this.#participant.acquire(otherLock(this.#holder), {})
    this.#resumed('acquire')
    belief?.isEnsured()
    await belief?.giveBack()
    this.#resumed('release')
  }

  /** Waits that the library's and the user's timers end, during the pause if it could. */
  #waitInVain(): Promise<void>[] {
    const signal = this.#participant.turns.watchSignal(AbortSignal.timeout(70))
    return [
      { by: 'acquire that timed out', limit: { waitMs: 70 } },
      { by: 'acquire that was aborted', limit: { signal } },
    ].map(async ({ by, limit }) => {
      await this.#participant.acquire(TAKEN, limit)
      this.#resumed(by)
    })
  }

  /** I1, I3: when the library was called after trust had ended, the signal has aborted before any user code runs. */
  #check(belief: Belief, by: string): void {
    const { latestAt } = this.#participant.turns
    const { aborted } = belief.hold.signal
    const isTrusted = belief.look()
    if (aborted || isTrusted || latestAt <= belief.untilMs) return
    const { lock, owner, untilMs } = belief
    this.#participant.history.add('untold', { lock, owner, by, untilMs, turnMs: latestAt, nowMs: nowMs() })
  }
}
