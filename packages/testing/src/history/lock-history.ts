import {
  type AcquireBegin,
  type Acquired,
  type AttemptEnd,
  type Failed,
  type Killed,
  type Released,
  type Write,
} from './events.js'
import { Hold } from './hold.js'

export interface Attempt {
  readonly begin: AcquireBegin
  end: AttemptEnd | Killed | undefined
}

/** A "not the owner" that nothing before it explains. */
export interface Disowned {
  readonly event: Released | Failed
  readonly attempt: Attempt | undefined
  readonly hold: Hold | undefined
}

/** What happened on one lock. Everything is in order of time. */
export class LockHistory {
  readonly name: string
  readonly attempts: Attempt[] = []
  readonly holds: Hold[] = []
  readonly writes: Write[] = []
  readonly disowned: Disowned[] = []
  /** Processes that were told of a loss on this lock. */
  readonly losers = new Set<string>()
  readonly #byOwner = new Map<string, Hold[]>()

  constructor(name: string) {
    this.name = name
  }

  /** Java's thread ids come back, so an owner may have held the lock several times. */
  holdsOf(owner: string): readonly Hold[] {
    return this.#byOwner.get(owner) ?? []
  }

  latestHold(owner: string): Hold | undefined {
    return this.#byOwner.get(owner)?.at(-1)
  }

  grant(begin: AcquireBegin, event: Acquired): void {
    const current = this.latestHold(event.owner)
    if (current?.isOpenAt(event.atMs) === true) {
      current.reenter(event)
      return
    }
    const hold = new Hold(begin, event)
    this.holds.push(hold)
    const earlier = this.#byOwner.get(event.owner)
    if (earlier === undefined) this.#byOwner.set(event.owner, [hold])
    else earlier.push(hold)
  }

  fail(attempt: Attempt, event: Failed): void {
    if (event.code !== 'NOT_LOCK_OWNER') return
    if (event.owner !== undefined) this.#disown(event, event.owner, attempt)
    else if (!this.losers.has(event.process)) this.disowned.push({ event, attempt, hold: undefined })
  }

  released(event: Released): void {
    if (event.outcome === 'lost' || event.code === 'NOT_LOCK_OWNER') this.#disown(event, event.owner)
    else this.latestHold(event.owner)?.released(event)
  }

  #disown(event: Released | Failed, owner: string, attempt?: Attempt): void {
    const hold = this.latestHold(owner)
    if (hold === undefined || hold.mayBeDisownedAt(event.atMs)) return
    this.disowned.push({ event, attempt, hold })
  }
}
