import { InvalidArgumentError } from '../../index.js'

/**
 * A timer may fire early if the clock is being adjusted: a call this early, as a part of `everyMs`, belongs to the
 * next tick.
 */
const EARLY_PART = 0.1
const MOST_EARLY_MS = 60_000
/** Calls of one process closer together than this part of `everyMs` are two ticks. */
const LEAST_APART = 0.9

/** The ticks of a scheduler that provides none, in one process: multiples of the time between two. */
export class WallTicks {
  private latest = { tick: -1, at: 0 }

  constructor(readonly everyMs: number) {}

  /**
   * The tick of a call at this time. @throws InvalidArgumentError it has the tick of the call before: every process would
   * silently skip it as done, a tick that never runs
   */
  next(at: number): number {
    const { everyMs, latest } = this
    const early = Math.min(everyMs * EARLY_PART, MOST_EARLY_MS)
    const tick = Math.floor((at + early) / everyMs) * everyMs
    this.latest = { tick, at }
    if (tick === latest.tick && at - latest.at < everyMs * LEAST_APART) {
      const rule = `at most the time between two calls, and this process was called again after ${at - latest.at} ms`
      throw new InvalidArgumentError('everyMs', everyMs, rule)
    }
    return tick
  }
}
