/** Why a caller has gone. */
export const GIVEN_UP = new Error('The caller has gone.')

const LONGEST_WAIT_MS = 400
const SOONEST_GONE_MS = 80
const FAR_MS = 2_000

/** How a caller waits: one attempt, a while, or until it goes. */
export const somePatience = (random) => {
  const choice = random.next()
  if (choice < 0.4) return { waitMs: 0 }
  if (choice < 0.8) return { waitMs: random.between(1, LONGEST_WAIT_MS) }
  const caller = new AbortController()
  setTimeout(() => caller.abort(GIVEN_UP), random.between(0, SOONEST_GONE_MS)).unref()
  return { waitMs: FAR_MS, signal: caller.signal }
}
