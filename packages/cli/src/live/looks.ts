import { setTimeout as sleep } from 'node:timers/promises'
import { unlessAborted } from '../interrupt.js'

export interface LookTimes {
  readonly everyMs: number
  /** Undefined: until the signal. */
  readonly forMs: number | undefined
  readonly signal: AbortSignal
}

/** Looks at once and then again and again, one at a time; a look that takes long delays the next. */
export async function lookAgainAndAgain(
  { everyMs, forMs = Infinity, signal }: LookTimes,
  look: () => Promise<void>,
): Promise<void> {
  const startedAt = performance.now()
  let nextAt = startedAt
  while (!signal.aborted) {
    await unlessAborted(signal, look()).catch((error: unknown) => {
      if (!signal.aborted) {
        throw error
      }
    })
    const now = performance.now()
    nextAt = Math.max(nextAt + everyMs, now)
    if (nextAt - startedAt >= forMs) {
      return
    }
    await sleep(nextAt - now, undefined, { signal }).catch(ignoreAbort)
  }
}

function ignoreAbort(): void {
  return undefined
}
