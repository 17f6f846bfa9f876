import {
  LockLostError,
  WrongTypeError,
  type Hold,
  type LockHolder,
  type LockClient,
  type LockThread,
} from '../../index.js'
import {
  Acquisition,
  checkLevelLease,
  checkRenew,
  type LevelRequest,
  checkClient,
  siteToAcquire,
  noteWish,
  ALONE,
  type AcquireTerms,
  type HoldChange,
  lockHolder,
  type LockProtocol,
  untilKnown,
  handleReply,
  identity,
  type ReplyHandler,
  type AcquireReply,
  type LockServices,
  checkOptions,
  type KnownKeys,
} from '../door.js'
import { sendAdopt } from './scripts.js'
import { HandoverGoneError } from './handover-gone-error.js'
import { ruleOf, travellerOf, type Traveller } from './handover-token.js'

/** The options of `acquire` that count for an adoption. Durations in milliseconds. */
export interface AdoptOptions {
  /** The lease, not renewed unless `renew` is true. Default: the client's `leaseMs`, else renewed by the watchdog. */
  readonly leaseMs?: number | undefined
  /** Whether the watchdog renews a lease of `leaseMs`. Default: only without `leaseMs`, of the call and of the client. */
  readonly renew?: boolean | undefined
}

const ADOPT_OPTIONS: KnownKeys<AdoptOptions> = { leaseMs: true, renew: true }

/**
 * Takes over a lock that was handed over, by the token of `handOver`. It never waits for another holder: it waits
 * for Redis's reply, and tries for at most `unavailableTimeoutMs`. One call gets the lock, however often a token is delivered. The
 * hold is like one of `acquire`: renewed, of the context around the call, and released by its holder. That of a fenced lock
 * has a fencing token larger than that of the hold before.
 * @param locks a client of the Redis and with the `keyPrefix` of the hand-over, or a thread of one
 * @throws HandoverGoneError adopted by another call, revoked, released by force, or not adopted within `keepMs`
 * @throws InvalidArgumentError the token is none, or of another `keyPrefix`
 * @throws RedisUnavailableError no reply: a lock that may have been adopted is released in the background. Where it was not,
 *   the token is still good; LockLostError the lease had ended when the reply came; ClientClosedError
 */
export async function adopt(
  locks: LockClient | LockThread,
  token: string,
  options: AdoptOptions = {},
): Promise<Hold> {
  checkClient('locks', locks)
  checkOptions('options', options, ADOPT_OPTIONS)
  const traveller = travellerOf(locks, token)
  const { session } = traveller.lock
  const { leaseMs = session.options.leaseMs, renew = leaseMs === undefined } = options
  checkLevelLease(leaseMs)
  checkRenew(renew, leaseMs)
  session.assertOpen(traveller.lock.name)
  const note =
    session.options.describeHolds && noteWish(session.options.describeHolds, renew ? undefined : leaseMs)
  if (leaseMs !== undefined) {
    session.lastHolders.noteLease(leaseMs)
  }
  const origin = session.reports.origin('adopt')
  const limits = { leaseMs, renews: renew, waitMs: 0 }
  const adopting = adoptAs(traveller, { limits, ofCallback: false, note })
  // To its end, so that a client that closes meanwhile releases what a late reply says it has.
  session.background.run(adopting)
  const hold = await adopting
  session.reports.origins.keep(hold, origin)
  return hold
}

async function adoptAs({ lock, owner }: Traveller, request: LevelRequest): Promise<Hold> {
  const { session, protocol, thread, name } = lock
  const asker = { thread: siteToAcquire(session.contexts, thread)?.context ?? null, rule: ALONE }
  const acquisition = new Acquisition(session, adopting(session, protocol, owner), asker)
  let hold: Hold | null = null
  try {
    const reply = await untilAnswered(acquisition, request)
    if (reply.kind !== 'acquired') {
      throw new HandoverGoneError(name, holderIn(reply))
    }
    hold = acquisition.begin(request)
    if (!hold) {
      throw new LockLostError({ lockName: name, owner: acquisition.owner, reason: 'expired' })
    }
    acquisition.keepInContext()
    return hold
  } catch (error) {
    // Something else has the name of the lock: the hash is gone, and with it the lock that was handed over.
    throw error instanceof WrongTypeError && error.key === protocol.key
      ? new HandoverGoneError(name, undefined, error)
      : error
  } finally {
    if (!hold) {
      // A late or unanswered copy may have adopted it.
      void acquisition.undo()
    }
  }
}

function untilAnswered(acquisition: Acquisition, request: LevelRequest): Promise<AcquireReply> {
  const { session } = acquisition
  const giveUpAt = session.runtime.now() + session.options.unavailableTimeoutMs
  return untilKnown(async () => acquisition.tryFirst<AcquireReply>(request, identity), session, giveUpAt)
}

/** The protocol of the lock, but for the first acquire: that adopts a lock that was handed over, and never a free one. */
function adopting(session: LockServices, protocol: LockProtocol, traveller: string): LockProtocol {
  const { key, lockName } = protocol
  const { rule } = ruleOf(protocol)
  const acquire = <T>(
    change: HoldChange,
    terms: AcquireTerms,
    handler: ReplyHandler<AcquireReply, T>,
  ): ReturnType<typeof protocol.acquire<T>> => {
    if (change.holds > 1) {
      return protocol.acquire(change, terms, handler)
    }
    const { owner, stamp } = change
    const { leaseMs, note } = terms
    const given = { lockName, key, owner, traveller, stamp, leaseMs, note, rule }
    return handleReply(sendAdopt(session.runner, given), handler)
  }
  return Object.create(protocol, { acquire: { value: acquire } }) as LockProtocol
}

function holderIn(reply: Exclude<AcquireReply, { kind: 'acquired' }>): LockHolder | undefined {
  if (reply.kind !== 'held' || reply.holder === '') {
    return undefined
  }
  const { holder: owner, holds, ttlMs: leaseLeftMs } = reply
  return lockHolder({ owner, holds, leaseLeftMs, heldForAtLeastMs: 0 })
}
