import { type LockServices, electionChannel, untilKnown } from '../door.js'
import { Doorbell } from './doorbell.js'
import { newsIn, type Leader } from './leader.js'
import { listen } from './listening.js'
import { look, type ElectionKeys } from './scripts.js'

// By then Redis has ended the lease, also by the rounding of PTTL.
const AFTER_THE_LEASE_MS = 5
// Before all tokens: where the first look finds no term, every later one is news.
const BEFORE_ALL_TERMS = '0'

/**
 * Follows an election from the present on: it looks when a message rings, when the subscription is back after a lost
 * connection, and when the lease that Redis told of must have ended, because a leader that was killed tells nobody. What
 * it missed in between Redis has kept.
 */
export async function* followTerms(
  session: LockServices,
  election: ElectionKeys,
  stop: AbortSignal,
): AsyncGenerator<Leader | null, void, void> {
  const { runtime, port, runner, options } = session
  const until = { runtime, closing: session.closing, abandoned: stop }
  const bell = new Doorbell(runtime)
  const left = new AbortController()
  const channel = electionChannel(election.key)
  // Without rights on the channel it looks as often as waiters ask that are not woken.
  let isDeaf = false as boolean
  const stopListening = port.messages.onResubscribed(bell.ring)
  // The first look does not wait for the subscription: the one after it finds what was announced in between.
  listen(session, channel, bell.ring, AbortSignal.any([stop, left.signal])).then(bell.ring, () => {
    isDeaf = true
    bell.ring()
  })
  let knownToken = ''
  let told: string | undefined
  try {
    while (!stop.aborted) {
      bell.answered()
      const given = { ...election, knownToken, asksForLine: false }
      const reply = await untilKnown(() => look(runner, given), until, Number.POSITIVE_INFINITY)
      knownToken = reply.terms[0]?.token ?? (knownToken || BEFORE_ALL_TERMS)
      for (const leader of newsIn(reply, given.knownToken)) {
        const name = leader ? `${leader.token} ${leader.owner}` : ''
        if (name !== told) {
          told = name
          yield leader
        }
      }
      const lookAgainMs = reply.ttlMs < 0 ? options.lockWatchdogTimeout : reply.ttlMs + AFTER_THE_LEASE_MS
      await bell.wait(isDeaf ? Math.min(lookAgainMs, options.resyncInterval) : lookAgainMs, stop)
    }
  } catch (error) {
    if (!stop.aborted) {
      throw error
    }
  } finally {
    stopListening()
    left.abort()
  }
}
