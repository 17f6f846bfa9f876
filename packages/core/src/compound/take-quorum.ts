import type { LockTimeoutError } from '../errors.js'
import { QuorumTally } from './quorum-tally.js'
import type { CompoundCall } from './compound-call.js'
import { membersHeld, oneByOne, type MembersWanted } from './caller-queue.js'
import type { MemberAnswer, Member, MemberHold } from './member.js'
import { jittered } from '../runtime/runtime.js'
import { NodeHealth } from './node-health.js'
import { notHeard, QuorumRound, votesIn, type Quorum, type RoundResult } from './quorum-round.js'

/** The nodes of a RedLock. */
export interface QuorumMembers extends MembersWanted, Quorum {}

type Result = MemberHold[] | LockTimeoutError

// How often the caller with the first node's vote asks again, while callers without it release theirs: 60 ms on
// average. Without a limit it would wait while holding votes.
const MOST_INSISTENCE = 6

/**
 * Acquires a quorum of independent nodes, or nothing (Redis, "Distributed Locks with Redis": the Redlock algorithm).
 * All nodes are asked at once, except those known to hang. If refused, the caller releases everything, waits at the
 * first busy node without holding any, and then asks the rest with that one in hand. Split votes are decided by the
 * first node that replies, which is the same for all callers: the one with its vote keeps its votes for a moment and
 * asks the others again, all others release. docs/decisions/0038 has the interleavings.
 *
 * @returns the levels; or the error that another owner holds the lock
 * @throws QuorumError, LockLostError (a re-entry into a lost lock), SelfDeadlockError, ClientClosedError, or the
 *   reason of the signal
 */
export function takeQuorum(call: CompoundCall, of: QuorumMembers): Promise<Result> {
  return oneByOne(call, of, () => contend(call, of))
}

async function contend(call: CompoundCall, of: QuorumMembers): Promise<Result> {
  const held = membersHeld(call, of)
  // A re-entry counts only on nodes with the outer level: elsewhere it would be a lock of its own.
  const nodes = held.length >= of.needed ? held : of.members
  const tally = new QuorumTally(call, of.members, of.needed)
  let inHand: MemberAnswer[] = []
  for (let inVain = 0; ;) {
    const levels = tally.count(await insist(call, of, nodes, await ask(call, of, nodes, inHand)))
    if (levels) {
      return levels
    }
    if (call.isOver) {
      return tally.conclude()
    }
    await call.breakLockstep(inVain)
    inHand = await waitForOne(call, tally)
    if (inHand.length === 0 && call.leftMs <= 0) {
      return tally.conclude()
    }
    inVain = inHand.length === 0 ? 0 : inVain + 1
  }
}

/** Asks the nodes that reply; the others only if there is no quorum without them. */
async function ask(
  call: CompoundCall,
  of: QuorumMembers,
  nodes: readonly Member[],
  inHand: readonly MemberAnswer[],
): Promise<RoundResult> {
  const { needed, nodeTimeoutMs } = of
  const silent = silentOnes(nodes, of)
  const isInHand = (member: Member): boolean => inHand.some((each) => each.member === member)
  const rest = nodes.filter((member) => !isInHand(member))
  const answering = rest.filter((member) => !silent.has(member))
  const first = nodes.find((member) => !silent.has(member))
  if (inHand.length + answering.length < needed) {
    return new QuorumRound(call, of, { members: rest, said: inHand, first }).ask()
  }
  const { answers, unheard } = await new QuorumRound(call, of, {
    members: answering,
    said: inHand,
    first,
  }).ask()
  const left = rest.filter((member) => silent.has(member))
  const failed = answers.filter(({ kind }) => kind === 'failed').length
  const mayBeEnough = nodes.length - left.length - failed >= needed
  if (left.length > 0 && !mayBeEnough && call.signal?.aborted !== true) {
    return new QuorumRound(call, of, { members: left, said: answers, first }).ask()
  }
  const why = `It did not answer within ${nodeTimeoutMs} ms last time, and is skipped until it does.`
  return { answers: [...answers, ...left.map((member) => notHeard(member, why))], unheard }
}

/**
 * With the vote of the first node in hand, asks the others again, until there is a quorum or it has become
 * impossible.
 */
async function insist(
  call: CompoundCall,
  of: QuorumMembers,
  nodes: readonly Member[],
  result: RoundResult,
): Promise<RoundResult> {
  let latest = result
  for (let tries = 1; tries <= MOST_INSISTENCE; tries += 1) {
    const { answers } = latest
    const votes = votesIn(answers)
    const silent = silentOnes(nodes, of)
    const first = nodes.find((member) => !silent.has(member))
    const isRefused = answers.some(({ kind }) => kind === 'busy')
    const hasFirst = votes.some(({ member }) => member === first)
    if (votes.length >= of.needed || !hasFirst || !isRefused || call.isOver || call.hasEnded) {
      break
    }
    await call.pause(call.session.runtime.random() * 2 ** tries)
    const again = answers.filter(({ kind }) => kind === 'busy').map(({ member }) => member)
    const others = answers.filter(({ kind }) => kind !== 'busy')
    const { answers: said, unheard } = await new QuorumRound(call, of, {
      members: again,
      said: others,
      first,
    }).ask()
    // Nodes too slow for an earlier round are not asked again, but might have been part of a quorum: without them a
    // wait would end as if too few nodes had replied.
    latest = { answers: said, unheard: [...latest.unheard, ...unheard] }
  }
  return latest
}

function silentOnes(nodes: readonly Member[], { nodeTimeoutMs }: Quorum): Set<Member> {
  return new Set(nodes.filter((member) => NodeHealth.of(member).isPassedOver(member, nodeTimeoutMs)))
}

/**
 * Waits at the first busy node, holding nothing. Only for a short time: its holder may have that node alone, and
 * another caller the rest. If the node does not reply, waits at the next one; if none is busy, pauses.
 */
async function waitForOne(call: CompoundCall, tally: QuorumTally): Promise<MemberAnswer[]> {
  const { options, runtime } = call.session
  const limitMs = jittered(options.resyncInterval, runtime.random())
  for (const { member } of tally.busy) {
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
