import type { LockTimeoutError } from '../errors.js'
import { Ballot } from './ballot.js'
import type { CompoundCall } from './compound-call.js'
import { membersHeld, oneByOne, type Wanted } from './local-line.js'
import type { Answer, MemberHold } from './member.js'

/** The nodes of a RedLock. */
export interface Electorate extends Wanted {
  readonly nodeTimeoutMs: number
}

type Result = MemberHold[] | LockTimeoutError

/**
 * Takes a quorum of independent nodes, or nothing (Redis, "Distributed Locks with Redis": the Redlock algorithm).
 * All are asked at once, each with a limit of its own. Refused, everything is given back everywhere; then the caller
 * waits, with nothing in hand, at the first node that somebody else has, and asks the rest with that one in hand.
 *
 * @returns the levels; or that somebody else has it
 * @throws QuorumError, LockLostError (a re-entry into a lost lock), SelfDeadlockError, ClientClosedError, or the
 *   reason of the signal
 */
export function takeQuorum(call: CompoundCall, of: Electorate): Promise<Result> {
  return oneByOne(call, of, () => contend(call, of))
}

async function contend(call: CompoundCall, of: Electorate): Promise<Result> {
  const held = membersHeld(call, of)
  // A re-entry counts only where the outer level is: elsewhere it would be a lock of its own.
  const nodes = held.length >= of.needed ? held : of.members
  const ballot = new Ballot(call, of.members, of.needed)
  let answers = await call.tryAll(nodes, of.nodeTimeoutMs)
  for (let inVain = 0; ;) {
    const levels = ballot.count(answers)
    if (levels) {
      return levels
    }
    if (call.isOver) {
      return ballot.conclude()
    }
    await call.breakLockstep(inVain)
    const inHand = await waitForOne(call, ballot)
    if (inHand.length === 0 && call.leftMs <= 0) {
      return ballot.conclude()
    }
    inVain = inHand.length === 0 ? 0 : inVain + 1
    const rest = nodes.filter((member) => inHand.every((each) => each.member !== member))
    answers = [...inHand, ...(await call.tryAll(rest, of.nodeTimeoutMs))]
  }
}

/**
 * Waits at the first busy node, with nothing in hand. Not for long: somebody may have that node alone, or somebody
 * else the others. Where a node does not answer, at the next; where nobody is busy, for some time.
 */
async function waitForOne(call: CompoundCall, ballot: Ballot): Promise<Answer[]> {
  const { options } = call.session
  const limitMs = options.resyncInterval * (0.5 + options.random() / 2)
  for (const { member } of ballot.busy) {
    const answer = await call.waitFor(member, limitMs)
    call.throwIfEnded()
    if (answer.kind !== 'failed') {
      return answer.kind === 'held' ? [answer] : []
    }
  }
  await call.pause(Math.min(limitMs, call.leftMs))
  call.throwIfEnded()
  return []
}
