import type { Acquisition } from './acquisition.js'
import type { Hold } from './hold.js'
import { followCountSoon, reentersLocally } from './local-reentry.js'

type Released = Promise<'released' | 'still-held' | 'lost'>

const RELEASED: Released = Promise.resolve('released')
const STILL_HELD: Released = Promise.resolve('still-held')

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
  const isKept = watch.renewing || possession.isUnconfirmed
  return isKept && possession.mayPass && possession.offer(watch, () => endPassed(acquisition, hold))
}

function endPassed(acquisition: Acquisition, hold: Hold): void {
  acquisition.end(hold)
  acquisition.publication?.ended('released')
}

async function releaseInRedis(acquisition: Acquisition, hold: Hold): Released {
  const { commands, levels, session } = acquisition
  const turn = commands.takeTurn()
  if (turn) {
    await turn
  }
  try {
    const now = session.clock.now()
    acquisition.end(hold, now)
    if (acquisition.loss.error) {
      return 'lost'
    }
    const ending = acquisition.isReleased ? acquisition.possession?.beginToEnd() : null
    const reply = await commands.writeUntilKnown(levels, session.options.unavailableTimeoutMs, now)
    ending?.(reply)
    if (reply.kind === 'not-held') {
      acquisition.lose('gone')
      return 'lost'
    }
    if (!acquisition.isReleased) {
      return 'still-held'
    }
    acquisition.publication?.ended('released')
    return 'released'
  } catch (error) {
    acquisition.giveBack()
    if (acquisition.isReleased) {
      acquisition.publication?.ended('unknown')
    }
    throw error
  } finally {
    commands.passTurn()
  }
}
