import diagnostics from 'node:diagnostics_channel'
import { LOCK_CHANNELS, type ObservedCall, type ObservedHold } from '@holdfast/core'

/**
 * What a client has in Redis from one acquire to the release that ends it, while its callers pass the lock on to each
 * other in memory. Redis has it under the name of one of them, until that name has followed to the present holder.
 */
export class Possession {
  /** All that have held the lock in it, the latest last. */
  readonly owners: [string, ...string[]]
  /** Monotonic ms at which the latest of them was given it. */
  since = performance.now()
  /** Its latest owner has released it, and Redis has answered. */
  isOver = false

  constructor(owner: string) {
    this.owners = [owner]
  }

  get holder(): string {
    return this.owners.at(-1) ?? this.owners[0]
  }
}

/** The possessions of the clients of this process, as their diagnostics channels tell of them. */
export class Possessions {
  passes = 0
  readonly #byOwner = new Map<string, Possession>()
  /** The latest of each lock, by its name. */
  readonly #latest = new Map<string, Possession>()
  /** The hold that began last under each name, for the call whose end follows in the same turn. */
  readonly #begun = new Map<string, string>()
  readonly #complain: (name: string, what: string) => void
  readonly #subscriptions: [string, (message: unknown) => void][] = [
    [LOCK_CHANNELS.holdBegun, (hold) => this.#holdBegun(hold as ObservedHold)],
    [LOCK_CHANNELS.callEnded, (call) => this.#callEnded(call as ObservedCall)],
    [LOCK_CHANNELS.holdEnded, (hold) => this.#holdEnded(hold as ObservedHold)],
  ]

  /** @param complain hears of a lock that was passed on by nobody */
  constructor(complain: (name: string, what: string) => void) {
    this.#complain = complain
    for (const [channel, listener] of this.#subscriptions) diagnostics.subscribe(channel, listener)
  }

  close(): void {
    for (const [channel, listener] of this.#subscriptions) diagnostics.unsubscribe(channel, listener)
  }

  of(owner: string): Possession | undefined {
    return this.#byOwner.get(owner)
  }

  #holdBegun({ lockName, owner }: ObservedHold): void {
    this.#begun.set(lockName, owner)
  }

  #callEnded({ lockName, outcome, path, clientId }: ObservedCall): void {
    const owner = this.#begun.get(lockName)
    if (outcome !== 'acquired' || path === 'reentrant' || owner === undefined) return
    let possession = this.#latest.get(lockName)
    if (path !== 'passed') possession = new Possession(owner)
    else if (!possession?.isOver || !possession.holder.startsWith(`${clientId}:`)) {
      this.#complain(lockName, `${owner} was passed what ${possession?.holder ?? 'nobody'} did not give (I1)`)
      return
    } else {
      this.passes += 1
      possession.owners.push(owner)
      possession.since = performance.now()
      possession.isOver = false
    }
    this.#latest.set(lockName, possession)
    this.#byOwner.set(owner, possession)
  }

  /** One that is passed on ends in the turn in which the next begins. */
  #holdEnded({ owner, outcome }: ObservedHold): void {
    const possession = this.#byOwner.get(owner)
    if (possession?.holder === owner && outcome === 'released') possession.isOver = true
  }
}
