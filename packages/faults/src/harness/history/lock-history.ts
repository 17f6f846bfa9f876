import {
  type AcquireBegin,
  type Acquired,
  type AttemptEnd,
  type Astray,
  type Failed,
  type Followed,
  type Killed,
  type Lost,
  type Mode,
  modeOf,
  type Released,
  type Result,
  type Write,
} from './events.js'
import { Hold, isTakenAway } from './hold.js'

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

/** Everything that an owner was told of its hold. */
export interface Told {
  readonly event: Lost
  readonly hold: Hold
}

/** A release that lets others in, unless somebody else has the lock as well. */
export interface Opening {
  readonly event: Released
  readonly to: readonly Mode[]
}

/** The events of one lock. Everything is in order of time. */
export class LockHistory {
  readonly name: string
  readonly attempts: Attempt[] = []
  readonly holds: Hold[] = []
  readonly writes: Write[] = []
  readonly disowned: Disowned[] = []
  /** Redis took them away while their owners trusted them. */
  readonly takenAway: Told[] = []
  /** Their owners had released them, and had been told so. */
  readonly falseAlarms: Told[] = []
  readonly openings: Opening[] = []
  readonly results: Result[] = []
  readonly followed: Followed[] = []
  readonly astray: Astray[] = []
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

  /** @returns the hold that was taken, or entered again */
  grant(begin: AcquireBegin, event: Acquired): Hold {
    const current = this.latestHold(event.owner)
    if (current?.isReenteredBy(modeOf(begin), event.atMs) === true) {
      current.reenter(begin, event)
      return current
    }
    const hold = new Hold(begin, event)
    this.holds.push(hold)
    const earlier = this.#byOwner.get(event.owner)
    if (earlier === undefined) this.#byOwner.set(event.owner, [hold])
    else earlier.push(hold)
    return hold
  }

  fail(attempt: Attempt, event: Failed): void {
    if (event.code !== 'NOT_LOCK_OWNER') return
    if (event.owner !== undefined) this.#disown(event, event.owner, attempt)
    else if (!this.losers.has(event.process)) this.disowned.push({ event, attempt, hold: undefined })
  }

  lose(event: Lost): void {
    this.losers.add(event.process)
    const hold = this.latestHold(event.owner)
    if (hold === undefined) return
    if (hold.isGivenBack) this.falseAlarms.push({ event, hold })
    else if (isTakenAway(event) && !hold.mayBeDisownedAt(event.atMs)) this.takenAway.push({ event, hold })
    hold.lose(event)
  }

  released(event: Released): void {
    const hold = this.latestHold(event.owner)
    if (event.outcome === 'lost' || event.code === 'NOT_LOCK_OWNER') this.#disown(event, event.owner)
    hold?.released(event)
    const { outcome } = event
    if (hold?.isLeftShared === true) {
      if (outcome === 'released' || outcome === 'still-held') this.openings.push({ event, to: ['shared'] })
    } else if (outcome === 'released') this.openings.push({ event, to: ['exclusive', 'shared'] })
  }

  #disown(event: Released | Failed, owner: string, attempt?: Attempt): void {
    const hold = this.latestHold(owner)
    if (hold === undefined || hold.mayBeDisownedAt(event.atMs)) return
    this.disowned.push({ event, attempt, hold })
  }
}
