import { exclusive } from '@holdfast/core/schedule'
import { Cron } from 'croner'

const LONGEST_MS = 60_000

/**
 * Makes the job that puts paid orders back into the queue which are in none: their process died after the payment, or
 * all attempts to ship them have failed. One process of the fleet runs each tick.
 */
export const createSweep = ({ locks, orders, shipping, log }) =>
  exclusive('sweep', { locks, atMostForMs: LONGEST_MS }, async ({ tick, signal }) => {
    const unshipped = await orders.unshipped()
    for (const order of unshipped) {
      signal.throwIfAborted()
      await shipping.add(order)
    }
    log.info({ tick, unshipped: unshipped.length }, 'swept')
  })

/** Starts its schedule. Every process has the same one. */
export const startSweep = ({ sweep, at, log }) =>
  new Cron(at, { catch: (error) => log.error({ err: error }, 'not swept') }, (self) =>
    // The latest tick of croner: it looks for those before a whole second.
    sweep({ tick: self.previousRuns(1, new Date(Math.floor(Date.now() / 1_000 + 1) * 1_000))[0] }),
  )
