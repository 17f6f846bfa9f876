import { nowMs } from '../shared-clock.mjs'

/** What a holder has when it is paused, and the call that is under way for each hold. */
export const ROLES = [
  { kind: 'plain', fixed: false, pending: 'verify' },
  { kind: 'fenced', fixed: false, pending: 'verify' },
  { kind: 'fenced', fixed: true, pending: 'verify' },
  { kind: 'plain', fixed: true, pending: 'extend' },
  { kind: 'fenced', fixed: false, pending: 'extend' },
  { kind: 'fenced', fixed: false, pending: 'nothing' },
  { kind: 'plain', fixed: true, pending: 'nothing' },
  { kind: 'plain', fixed: false, pending: 'release' },
]

export const lockOf = (role, holder) => `${role.kind}:${holder}:${ROLES.indexOf(role)}`
/** A lock that the holder asks for just before the pause. */
export const otherLock = (holder) => `plain:${holder}:other`
/** A lock that somebody has for the whole run. */
export const TAKEN = 'plain:taken'

/** The holds of one round, and a look at all of them whenever the library has resumed the user. */
export class Hand {
  /** @type {{ role: object, belief: import('./participant.mjs').Belief }[]} */
  items = []
  /** How often the user was resumed by an await, and found each hold as it has to be. */
  resumptions = 0
  #participant
  #name
  #leaseMs

  constructor(participant, { name, leaseMs }) {
    this.#participant = participant
    this.#name = name
    this.#leaseMs = leaseMs
  }

  async take() {
    const leaseOf = ({ fixed }) => (fixed ? { leaseMs: this.#leaseMs } : {})
    const taken = await Promise.all(
      ROLES.map(async (role) => ({
        role,
        belief: await this.#participant.acquire(lockOf(role, this.#name), leaseOf(role)),
      })),
    )
    this.items = taken.filter(({ belief }) => belief !== null)
  }

  /** Sends the calls that will be under way; what comes of them is looked at when they resume the user. */
  begin() {
    const calls = this.items.map((item) => this.#call(item))
    return [...calls, this.#askForAnother(), ...this.#waitInVain()]
  }

  /** To be called first thing after an await on the library. */
  resumed(by) {
    this.resumptions += 1
    for (const { belief } of this.items) this.#check(belief, by)
  }

  async #call({ role, belief }) {
    if (role.pending === 'release') {
      await belief.giveBack()
      this.resumed('release')
      return
    }
    if (role.pending === 'nothing') return
    if (role.pending === 'verify') belief.noteQuestion()
    try {
      await (role.pending === 'verify' ? belief.hold.verify() : belief.hold.extend(this.#leaseMs))
    } catch (error) {
      this.resumed(role.pending)
      // Unavailable: the time to answer was over before the answer was read.
      if (!['LOCK_LOST', 'REDIS_UNAVAILABLE'].includes(error.code)) throw error
      return
    }
    const { latestAt } = this.#participant.turns
    this.resumed(role.pending)
    belief.claim(latestAt)
  }

  async #askForAnother() {
    const belief = await this.#participant.acquire(otherLock(this.#name), {})
    this.resumed('acquire')
    belief?.isEnsured()
    await belief?.giveBack()
    this.resumed('release')
  }

  /** Waits that the library's and the user's timers end, during the pause if it could. */
  #waitInVain() {
    const signal = this.#participant.turns.watchSignal(globalThis.AbortSignal.timeout(70))
    return [{ waitMs: 70 }, { signal }].map(async (options) => {
      await this.#participant.acquire(TAKEN, options)
      this.resumed(options.signal ? 'acquire that was aborted' : 'acquire that timed out')
    })
  }

  /** I1, I3: when the library was called after trust had ended, the signal has aborted before anybody goes on. */
  #check(belief, by) {
    if (belief.isGivenBack) return
    const { latestAt } = this.#participant.turns
    const { aborted } = belief.hold.signal
    const isTrusted = belief.look()
    if (aborted || isTrusted || latestAt <= belief.untilMs) return
    const { lock, owner, untilMs } = belief
    this.#participant.history.add('untold', { lock, owner, by, untilMs, turnMs: latestAt, nowMs: nowMs() })
  }
}
