import { InvalidArgumentError, LockLostError, WrongTypeError, type LockHold } from '../../index.js'
import {
  Acquisition,
  ruleFor,
  checkLease,
  Hold,
  refuseIfShared,
  refuseReleased,
  handedOverOwner,
  untilKnown,
  randomHex,
  checkOptions,
  type KnownKeys,
} from '../door.js'
import { sendHandOver } from './scripts.js'
import { tokenFor, travels, type TravellingKind } from './handover-token.js'
import { releaseTraveller } from './revoke.js'

/** The options of `handOver`. */
export interface HandOverOptions {
  /** How long the lock waits to be adopted, ms. At most 24 days. Default: one lease of the hold. */
  readonly keepMs?: number | undefined
}

const HAND_OVER_OPTIONS: KnownKeys<HandOverOptions> = { keepMs: true }
const RANDOM_BYTES = 16

/**
 * Ends the hold and keeps its lock for the caller that brings the returned token to `adopt`, in any process: no other
 * owner has the lock in between. Waits for Redis's reply, and tries for at most `unavailableTimeoutMs`. Before anything is sent, renewal stops and the
 * hold's signal aborts with a LockLostError whose reason is `handed-over`; nothing is lost to others by it, and `withLock`
 * returns its callback's result. From then on `release()` has nothing to do, as after a release.
 *
 * The token is text, to be put into a job or a message. It is the right to the lock: keep it out of logs. Not adopted
 * within `keepMs`, the lock is free.
 * @param hold of `getLock`, `getFairLock` or `getFencedLock`, the only level of its owner
 * @throws InvalidArgumentError a hold of another kind of lock, or further levels are held: the hold stays as it is
 * @throws LockLostError the hold was lost; NotLockOwnerError it was released
 * @throws RedisUnavailableError no reply: there is no token, the hold is over, and the client releases the lock in the
 *   background; it is free at the latest when its lease or `keepMs` ends
 */
export async function handOver(hold: LockHold, options: HandOverOptions = {}): Promise<string> {
  checkOptions('options', options, HAND_OVER_OPTIONS)
  checkLease('keepMs', options.keepMs)
  const { mine, kind, acquisition } = travellingHold(hold)
  refuseReleased(mine)
  const { session } = acquisition
  const id = randomHex(session.runtime, RANDOM_BYTES)
  const keepMs = options.keepMs ?? acquisition.lease.ttlMs
  session.lastHolders.noteLease(keepMs)
  const work = acquisition.entry.serial.runExclusive(() =>
    keepForToken(acquisition, mine, handedOverOwner(id), keepMs),
  )
  // A client that closes waits for it.
  session.background.run(work)
  await work
  return tokenFor(kind, acquisition, id)
}

interface TravellingHold {
  readonly mine: Hold
  readonly kind: TravellingKind
  readonly acquisition: Acquisition
}

/** @throws InvalidArgumentError */
function travellingHold(hold: unknown): TravellingHold {
  if (hold instanceof Hold && hold.acquisition instanceof Acquisition) {
    const { acquisition } = hold
    const { kind } = acquisition.protocol
    if (travels(kind)) {
      return { mine: hold, kind, acquisition }
    }
  }
  const of = (hold as Partial<LockHold> | null | undefined)?.lockName
  const given = of === undefined ? hold : `a hold of ${of}`
  const rule = 'a hold of a plain, a fair or a fenced lock'
  const isOurs = hold instanceof Hold
  throw new InvalidArgumentError(
    'hold',
    given,
    isOurs ? rule : ruleFor(hold, ['acquisition', 'lockName'], rule),
  )
}

/** Runs in its turn. Everything that can be refused is refused before the hold ends. */
async function keepForToken(
  acquisition: Acquisition,
  hold: Hold,
  traveller: string,
  keepMs: number,
): Promise<void> {
  const { session, protocol, lockName, owner } = acquisition
  const { lossError } = hold
  if (lossError) {
    throw lossError
  }
  refuseReleased(hold)
  refuseIfShared(acquisition.levelCount)
  const giveUpAt = session.runtime.now() + session.options.unavailableTimeoutMs
  endForSuccessor(acquisition, hold)
  let outcome: 'handed-over' | 'lost'
  try {
    outcome = await untilKnown(() => nameSuccessor(acquisition, traveller, keepMs), session, giveUpAt)
  } catch (error) {
    acquisition.wasHandedOver('unknown')
    session.background.run(takeBack(acquisition, traveller))
    throw error
  }
  if (outcome === 'lost') {
    acquisition.wasHandedOver('lost')
    throw new LockLostError({ lockName, owner, reason: 'gone' })
  }
  acquisition.wasHandedOver('released')
  session.lastHolders.wentTo(protocol.key, traveller, undefined)
}

/** Before the command is sent, and whatever its outcome: renewal stops, and the signal aborts. */
function endForSuccessor(acquisition: Acquisition, hold: Hold): void {
  const { lockName, owner, lease } = acquisition
  hold.endHandedOver()
  acquisition.takeOff(hold)
  lease.loss.set(new LockLostError({ lockName, owner, reason: 'handed-over' }))
}

async function nameSuccessor(
  acquisition: Acquisition,
  traveller: string,
  keepMs: number,
): Promise<'handed-over' | 'lost'> {
  const { entry, field, owner, session, protocol } = acquisition
  const { key, lockName } = protocol
  // A lock that came to this owner inside its process may have the name of an owner before it in Redis, and those that it
  // was passed on to may stand in the queue there.
  const fieldHasOldName = field.name !== owner || field.passed.inDoubt !== null || field.passed.to.length > 0
  if (fieldHasOldName && (await field.follow(acquisition)) === 'lost') {
    return 'lost'
  }
  const stamp = { sequence: entry.state.nextNumber(), tombstoneThrough: entry.state.copies.through }
  const isNoted = session.options.describeHolds !== undefined
  const given = { lockName, key, owner, traveller, keepMs, stamp, isNoted }
  return sendHandOver(session.runner, given).catch((error: unknown) => {
    if (error instanceof WrongTypeError) {
      return 'lost'
    }
    throw error
  })
}

/** The token is not returned: the lock is released, as far as Redis may still have it, under both names. */
async function takeBack(acquisition: Acquisition, traveller: string): Promise<void> {
  await acquisition.undo()
  await releaseTraveller(acquisition.session, acquisition.protocol, traveller)
}
