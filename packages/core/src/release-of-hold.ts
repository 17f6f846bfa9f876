import type { Acquisition } from './acquisition.js'
import type { Hold } from './hold.js'
import { followCountSoon, reentersLocally } from './local-reentry.js'
import type { Reading } from './redis/script-call.js'
import type { ReleaseReply } from './scripts/lock/release.js'

type Outcome = 'released' | 'still-held' | 'lost'
type Released = Promise<Outcome>

/** Passed on to the next in line here. */
export const RELEASED: Released = Promise.resolve('released')
const STILL_HELD: Released = Promise.resolve('still-held')
const LOST: Released = Promise.resolve('lost')

/** Gives back one level. @throws RedisUnavailableError nobody answered; it is tried on in the background */
export function releaseLevel(acquisition: Acquisition, hold: Hold): Released {
  if (acquisition.levels.count > 1 && reentersLocally(acquisition)) {
    acquisition.end(hold)
    followCountSoon(acquisition)
    return STILL_HELD
  }
  return passOn(acquisition, hold) ? RELEASED : releaseInRedis(acquisition, hold)
}

/** The last level of a renewed lock may go to the next in line here, past Redis. */
function passOn(acquisition: Acquisition, hold: Hold): boolean {
  const { possession, watch, levels } = acquisition
  if (!possession?.isWanted || !watch || levels.count !== 1 || !hold.watched) {
    return false
  }
  return possession.offer(watch, () => endPassed(acquisition, hold))
}

function endPassed(acquisition: Acquisition, hold: Hold): void {
  acquisition.end(hold)
  acquisition.publication?.ended('released')
}

function releaseInRedis(acquisition: Acquisition, hold: Hold): Released {
  const turn = acquisition.commands.takeTurn()
  return turn ? turn.then(() => releaseNow(acquisition, hold)) : releaseNow(acquisition, hold)
}

/** In its turn, which ends with the answer. */
function releaseNow(acquisition: Acquisition, hold: Hold): Released {
  const { commands, levels, session } = acquisition
  const startedAt = session.clock.now()
  acquisition.end(hold, startedAt)
  if (acquisition.loss.error) {
    commands.passTurn()
    return LOST
  }
  const ending = acquisition.isReleased ? acquisition.possession?.beginToEnd() : null
  const patience = { limitMs: session.options.unavailableTimeoutMs, startedAt }
  return commands.writeAndRead(levels, patience, new ReleaseUnderWay(acquisition, ending ?? null))
}

/** What comes of giving back a level in Redis. */
class ReleaseUnderWay implements Reading<ReleaseReply, Outcome> {
  constructor(
    private readonly acquisition: Acquisition,
    private readonly ending: ((reply: ReleaseReply) => void) | null,
  ) {}

  read(reply: ReleaseReply): Outcome {
    const { acquisition } = this
    try {
      this.ending?.(reply)
      if (reply.kind === 'not-held') {
        acquisition.lose('gone')
        return 'lost'
      }
      if (!acquisition.isReleased) {
        return 'still-held'
      }
      acquisition.publication?.ended('released')
      return 'released'
    } finally {
      acquisition.commands.passTurn()
    }
  }

  fail(error: unknown): never {
    const { acquisition } = this
    acquisition.giveBack()
    if (acquisition.isReleased) {
      acquisition.publication?.ended('unknown')
    }
    acquisition.commands.passTurn()
    throw error
  }
}
