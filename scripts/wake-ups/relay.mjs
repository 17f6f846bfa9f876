const LONGEST_HOLD_MS = 8
// Now and then long enough that connections break while the waiter sleeps, and that polling would show.
const LONG_HOLD_MS = 400
const LONG_HOLDS = 0.1
const IMPATIENT = 0.25
const LONGEST_PATIENCE_MS = 12

/**
 * One lock that two processes hand to each other. There is one line of waiters, and who gave the lock back does not
 * want it again before the other has it: nobody else's try can make up for a wake-up that was lost.
 */
export class Relay {
  /** How long the lock was free before the waiter had it, ms, one number for each hand-off. */
  needs = []
  /** Nobody got the lock within a whole lease, and nobody has it. */
  isStuck = false
  #lock
  #holder
  #waiter
  #random

  constructor(lock, [holder, waiter], random) {
    this.#lock = lock
    this.#holder = holder
    this.#waiter = waiter
    this.#random = random
  }

  /** @param {() => boolean} isOver */
  async run(isOver) {
    await this.#holder.call('take', this.#lock, 0)
    while (!isOver() && !this.isStuck) await this.#handOver()
    if (!this.isStuck) await this.#holder.call('giveBack', this.#lock, 0)
  }

  async #handOver() {
    const { chance, between, whole } = this.#random
    const holdMs = between(0, chance(LONG_HOLDS) ? LONG_HOLD_MS : LONGEST_HOLD_MS)
    const patienceMs = chance(IMPATIENT) ? 1 + whole(LONGEST_PATIENCE_MS) : 0
    const [released, grants] = await Promise.all([
      this.#holder.call('giveBack', this.#lock, holdMs),
      this.#waiter.call('take', this.#lock, patienceMs).catch((error) => this.#waitedInVain(error)),
    ])
    this.#measure(released, grants)
    ;[this.#holder, this.#waiter] = [this.#waiter, this.#holder]
  }

  #waitedInVain(error) {
    if (error.code !== 'LOCK_TIMEOUT') throw error
    this.isStuck = true
    this.needs.push(Infinity)
    return []
  }

  #measure(released, grants) {
    let free = released
    for (const grant of grants) {
      // Who came when the lock was free already did not wait for it.
      if (grant.beganAt < free.beganAt) this.needs.push(Math.max(0, grant.acquiredAt - free.answeredAt))
      free = grant.released
    }
  }
}
