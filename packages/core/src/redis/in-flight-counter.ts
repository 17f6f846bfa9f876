import type { Runtime } from '../runtime/runtime.js'

// Measured with 1 to 1,000 flows: below FEW of them a command each is fastest, and above it scripts with a quarter of
// them. With halves, both answers arrive while the client wakes up: it sends both again, and Redis and the client sleep
// in turns. With more parts, each costs more than it saves.
const FEW = 14
const PARTS = 4

// Over a network, all sleep in any case, and then the CPU of the client decides: one script of a turn costs it half.
const FAR_MS = 0.3
const ROUND_TRIPS = 32

/**
 * Measures one round trip at a time. The shortest of the latest counts: longer ones tell of queues and of a busy machine,
 * not of the way.
 */
class RoundTripEstimate {
  private startedAt = 0
  private repliesLeft = 0
  /** The latest first; 0: there were fewer. */
  private readonly tripsMs = new Float64Array(ROUND_TRIPS)

  constructor(private readonly clock: Pick<Runtime, 'now'>) {}

  get isFar(): boolean {
    return this.tripsMs.every(isFar)
  }

  sent(unanswered: number): void {
    if (this.repliesLeft === 0) {
      this.startedAt = this.clock.now()
      // Replies come in order: that of this command is the last of those.
      this.repliesLeft = unanswered
    }
  }

  settled(count: number, now: number): void {
    if (this.repliesLeft === 0) {
      return
    }
    this.repliesLeft = Math.max(0, this.repliesLeft - count)
    if (this.repliesLeft === 0) {
      this.tripsMs.copyWithin(1, 0)
      this.tripsMs[0] = now - this.startedAt
    }
  }
}

function isFar(tripMs: number): boolean {
  return tripMs > FAR_MS
}

/**
 * Counts commands in flight, to decide how many of the next ones are sent together. Callers that one reply resumes
 * send again in the same turn. If all of them were sent as one script, Redis would idle while the callers run, and
 * the callers while Redis works.
 */
export class InFlightCounter {
  private unanswered = 0
  /** Replies of this turn whose callers have not sent again yet. There may be more new commands than replies. */
  private answered = 0
  /** How many leave at once of callers that go on once they are written; 0: there are none, or they leave together. */
  private half = 0
  private readonly distance: RoundTripEstimate

  constructor(private readonly runtime: Pick<Runtime, 'microtask' | 'nextTick' | 'now'>) {
    this.distance = new RoundTripEstimate(runtime)
  }

  /**
   * Whether to send what is gathered before the turn ends: resumed callers are still to come, and the gathered
   * commands are a quarter of all, or all are so few that none should wait for another. Few that have far to go wait.
   */
  isEnough(gathered: number): boolean {
    if (gathered >= this.answered) {
      return false
    }
    if (this.half > 0) {
      return gathered >= this.half
    }
    const all = this.unanswered + this.answered
    return all < FEW ? !this.distance.isFar : PARTS * gathered >= all
  }

  sent(count: number): void {
    this.unanswered += count
    this.answered = Math.max(0, this.answered - count)
    this.distance.sent(this.unanswered)
  }

  settled(count: number, now: number): void {
    this.unanswered -= count
    this.distance.settled(count, now)
    if (this.answered === 0) {
      this.runtime.microtask(this.afterResumed)
    }
    this.answered += count
  }

  /** The callers of this turn go on once what they send is written: they send it together, and again together. */
  resumedGoOn(): void {
    if (this.half === 0) {
      this.split(this.answered, this.unanswered)
    }
  }

  /** So many of the unanswered were written, and their callers go on. */
  goOn(count: number): void {
    this.split(count, this.unanswered - count)
    this.runtime.microtask(this.afterResumed)
  }

  /**
   * Where all are here at once, one script for them would let Redis and the client sleep in turns. Each half comes back by
   * itself, and stays together from then on.
   */
  private split(callers: number, others: number): void {
    const areMostAway = others >= callers - 1
    const staysWhole = areMostAway || (callers + others < FEW && this.distance.isFar)
    this.half = staysWhole ? 0 : Math.ceil(callers / 2)
    this.answered = staysWhole ? 0 : callers
  }

  /** Replies are handled before the microtasks in which their callers run: a tick from here would come too early. */
  private readonly afterResumed = (): void => {
    this.runtime.nextTick(this.forgetAnswered)
  }

  /** The callers of this turn that have not sent again are not waited for. */
  readonly forgetAnswered = (): void => {
    this.answered = 0
    this.half = 0
  }
}
