import { MAX_EXPIRED_ON_ARRIVAL } from '../acquire/acquire-call.js'
import { LockLostError, type LockTimeoutError } from '../errors.js'
import { isWorthRetrying } from '../redis/until-known.js'
import type { CompoundCall } from './compound-call.js'
import {
  inOrderOf,
  levelsIn,
  lostMeanwhile,
  refuseTwins,
  type MemberAnswer,
  type Member,
  type MemberHold,
} from './member.js'

// In this time the other has heard that it was refused, and released its part.
const MOST_INSISTENCE = 3

type Obstacle = Exclude<MemberAnswer, { kind: 'held' }>

/**
 * Acquires every member, or none: waits for a busy one, and with that in hand tries the others; if one of them
 * refuses, releases everything and waits for that one. So nothing is held while waiting, and no order of the members,
 * here or in other callers, can cause a deadlock (Howard Hinnant, "Dining Philosophers Rebooted": smart and polite,
 * as in C++'s std::lock). docs/decisions/0018 has the argument.
 *
 * @returns the levels in the order of the members; or the error that another owner holds one
 * @throws an error that ends the wait for a member, or that a retry would not change
 */
export async function takeAll(
  call: CompoundCall,
  members: readonly Member[],
): Promise<MemberHold[] | LockTimeoutError> {
  let answers = await call.tryAll(members)
  for (let round = 1, expiredOnArrival = 0; ; round += 1) {
    const obstacle = obstacleIn(call, answers)
    if (!obstacle) {
      return inOrderOf(members, levelsIn(answers))
    }
    expiredOnArrival = isLost(obstacle) ? expiredOnArrival + 1 : 0
    if (expiredOnArrival > 0) {
      if (expiredOnArrival === MAX_EXPIRED_ON_ARRIVAL) {
        return orThrow(call, obstacle)
      }
      // Asked together, so that all leases begin together: a member acquired earlier would be the first to expire.
      answers = await call.tryAll(members)
      continue
    }
    if (call.isOver) {
      return orThrow(call, obstacle)
    }
    await call.breakLockstep(round)
    const inHand = await call.waitFor(obstacle.member)
    if (inHand.kind !== 'held') {
      call.throwIfEnded()
      return orThrow(call, inHand)
    }
    const rest = members.filter((member) => member !== inHand.member)
    answers = [inHand, ...(await insist(call, inHand.member, rest))]
  }
}

/**
 * Tries the rest with one member in hand, and some times more if that is before all that refuse. Several callers that
 * each have a part would refuse each other for long: of two, one releases its part at once, and the other gets it.
 */
async function insist(
  call: CompoundCall,
  inHand: Member,
  rest: readonly Member[],
): Promise<readonly MemberAnswer[]> {
  for (let tries = 1; ; tries += 1) {
    const answers = await call.tryAll(rest)
    const refused = answers.filter(({ kind }) => kind !== 'held')
    const isWorthwhile = refused.every(({ kind, member }) => kind === 'busy' && isBefore(inHand, member))
    if (refused.length === 0 || tries > MOST_INSISTENCE || !isWorthwhile || call.isOver || call.hasEnded) {
      return answers
    }
    // The locks it keeps come before those it wants, or two could insist on what the other keeps.
    call.undo(levelsIn(answers))
    await call.pauseBetweenTries(tries)
  }
}

/** An order that is the same in every client, whatever the order in which the members were named. */
function isBefore(one: Member, other: Member): boolean {
  return one.protocol.key < other.protocol.key
}

/**
 * The obstacle to acquiring all, after which everything is released.
 * @throws the reason of the signal; an error that waiting would not change
 */
function obstacleIn(call: CompoundCall, answers: readonly MemberAnswer[]): Obstacle | undefined {
  const obstacles = answers.filter((answer): answer is Obstacle => answer.kind !== 'held')
  const levels = levelsIn(answers)
  const [lost] = levels.flatMap((level) => lostMeanwhile(level) ?? [])
  const isAborted = call.signal?.aborted === true
  if (obstacles.length === 0 && !lost && !isAborted) {
    return undefined
  }
  call.undo(levels)
  call.throwIfEnded()
  const final = obstacles.find((each) => each.kind === 'failed' && !isWorthRetrying(each.error))
  if (final) {
    throw final.error
  }
  refuseTwins(answers)
  // In the order of the members: callers that name them in the same order wait in the same queue.
  return obstacles.find((each) => each.kind === 'busy') ?? obstacles[0] ?? lost
}

function isLost(obstacle: Obstacle): boolean {
  return obstacle.kind === 'failed' && obstacle.error instanceof LockLostError
}

/** @throws the member's error */
function orThrow(call: CompoundCall, obstacle: Obstacle): LockTimeoutError {
  if (obstacle.kind === 'failed') {
    throw call.failure(obstacle)
  }
  return call.timeout('Member', obstacle.error)
}
