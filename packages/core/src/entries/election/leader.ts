import { clientIdOf, partsOfOwner } from '../door.js'
import type { KeptTerm, LookReply } from './scripts.js'

/** Who leads, or led in a term that was missed. */
export interface Leader {
  /** The id of the candidate, which `resign({ to })` takes. */
  readonly clientId: string
  /** The `clientName` of its client. */
  readonly clientName: string
  /** `<clientId>:<threadId>`, another one in each term. */
  readonly owner: string
  /** The fencing token of the term, larger than that of every term before. */
  readonly token: string
  /** The `data` of the candidate; undefined for none. */
  readonly data: unknown
  /** When the term began, by the clock of Redis. */
  readonly since: Date
  /** Lease left as of Redis's reply, ms: when a leader that has died is gone. 0: the term is over. */
  readonly leaseLeftMs: number
}

/** Who leads at the moment, if somebody does: the latest term, while its owner has the lock. */
export function leaderIn({ terms, holder, ttlMs }: LookReply): Leader | null {
  const [latest] = terms
  return latest?.owner === holder && latest.to === undefined ? leaderOf(latest, Math.max(0, ttlMs)) : null
}

function leaderOf({ owner, token, data, from }: KeptTerm, leaseLeftMs: number): Leader {
  const clientId = clientIdOf(owner)
  return {
    clientId,
    clientName: partsOfOwner(owner)?.clientName ?? clientId,
    owner,
    token,
    data: data === '' ? undefined : (JSON.parse(data) as unknown),
    since: new Date(Number(from)),
    leaseLeftMs,
  }
}

/**
 * What has changed since the latest known term, in order; the last is the present.
 * @param knownToken '': nothing is known
 */
export function newsIn(reply: LookReply, knownToken: string): (Leader | null)[] {
  const present = leaderIn(reply)
  const isMissed = ({ token, owner }: KeptTerm): boolean =>
    knownToken !== '' && isLater(token, knownToken) && owner !== present?.owner
  const missed = reply.terms.filter(isMissed).map((term) => leaderOf(term, 0))
  return [...missed.reverse(), present]
}

/** Tokens are decimal numbers as text, exact beyond 2^53. */
function isLater(token: string, other: string): boolean {
  return token.length > other.length || (token.length === other.length && token > other)
}
