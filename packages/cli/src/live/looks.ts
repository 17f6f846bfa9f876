import { setTimeout as sleep } from 'node:timers/promises'
import { RedisUnavailableError } from '@holdfast/core'
import { unlessAborted } from '../interrupt.js'

export interface LookTimes {
  readonly everyMs: number
  /** Undefined: until the signal. */
  readonly forMs: number | undefined
  readonly signal: AbortSignal
}

/**
 * Looks at once and then again and again, one at a time; a look that takes long delays the next. Redis may be away for a
 * while: whoever looks on is told, and sees it come back.
 * @param trouble is told why a look failed; null: one has succeeded again
 */
export async function lookAgainAndAgain(
  { everyMs, forMs = Infinity, signal }: LookTimes,
  look: () => Promise<void>,
  trouble: (message: string | null) => void,
): Promise<void> {
  let isTroubled = false
  const startedAt = performance.now()
  let nextAt = startedAt
  while (!signal.aborted) {
    try {
      await unlessAborted(signal, look())
      if (isTroubled) {
        isTroubled = false
        trouble(null)
      }
    } catch (error) {
      if (isOver(signal)) {
        return
      }
      if (!(error instanceof RedisUnavailableError && error.transient)) {
        throw error
      }
      isTroubled = true
      trouble(error.message)
    }
    const now = performance.now()
    nextAt = Math.max(nextAt + everyMs, now)
    if (nextAt - startedAt >= forMs) {
      return
    }
    await sleep(nextAt - now, undefined, { signal }).catch(ignoreAbort)
  }
}

/** By now: it may have come during a look. */
function isOver({ aborted }: AbortSignal): boolean {
  return aborted
}

function ignoreAbort(): void {
  return undefined
}
