import diagnostics from 'node:diagnostics_channel'
import { LOCK_CHANNELS } from '@holdfast/core'

/**
 * What a client has in Redis from one acquire to the release that ends it, while its callers pass the lock on to each
 * other in memory. Redis has it under the name of one of them, until that name has followed to whoever holds the lock.
 */
export class Possession {
  /** Whoever has held the lock in it, the latest last. */
  owners
  /** Monotonic ms at which the latest of them was given it. */
  since = performance.now()
  /** Its latest owner has given it back, and Redis has answered. */
  isOver = false

  constructor(owner) {
    this.owners = [owner]
  }

  get holder() {
    return this.owners.at(-1)
  }
}

/** The possessions of the clients of this process, as their diagnostics channels tell of them. */
export class Possessions {
  passes = 0
  #byOwner = new Map()
  /** The latest of each lock, by its name. */
  #latest = new Map()
  /** The hold that began last under each name, for the call whose end follows in the same turn. */
  #begun = new Map()
  #complain
  #subscriptions = [
    [LOCK_CHANNELS.holdBegun, (hold) => this.#begun.set(hold.lockName, hold.owner)],
    [LOCK_CHANNELS.callEnded, (call) => this.#callEnded(call)],
    [LOCK_CHANNELS.holdEnded, (hold) => this.#holdEnded(hold)],
  ]

  /** @param {(name: string, what: string) => void} complain hears of a lock that was passed on by nobody */
  constructor(complain) {
    this.#complain = complain
    for (const [channel, listener] of this.#subscriptions) diagnostics.subscribe(channel, listener)
  }

  close() {
    for (const [channel, listener] of this.#subscriptions) diagnostics.unsubscribe(channel, listener)
  }

  /** @returns {Possession | undefined} */
  of(owner) {
    return this.#byOwner.get(owner)
  }

  #callEnded({ lockName, outcome, path, clientId }) {
    if (outcome !== 'acquired' || path === 'reentrant') return
    const owner = this.#begun.get(lockName)
    const before = this.#latest.get(lockName)
    const possession = path === 'passed' ? before : new Possession(owner)
    if (path === 'passed') {
      if (!before?.isOver || !before.holder.startsWith(`${clientId}:`)) {
        this.#complain(lockName, `${owner} was passed what ${before?.holder ?? 'nobody'} did not give (I1)`)
        return
      }
      this.passes += 1
      before.owners.push(owner)
      before.since = performance.now()
      before.isOver = false
    }
    this.#latest.set(lockName, possession)
    this.#byOwner.set(owner, possession)
  }

  /** One that is passed on ends in the turn in which the next begins. */
  #holdEnded({ owner, outcome }) {
    const possession = this.#byOwner.get(owner)
    if (possession?.holder === owner && outcome === 'released') possession.isOver = true
  }
}
