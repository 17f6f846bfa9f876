import { InvalidArgumentError, LockTimeoutError, type LockError } from '../errors.js'
import { isWorthRetrying, pause } from '../redis/until-known.js'
import type { CompoundCall } from './compound-call.js'
import { giveBack, levelsIn, type Answer, type Member, type MemberHold } from './member.js'

// Rounds that only chance brings about. After them two callers in lockstep could take turns in refusing each other.
const ROUNDS_WITHOUT_PAUSE = 3
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 100

type Obstacle = Exclude<Answer, { kind: 'held' }>

/**
 * Takes every member, or none: waits for one that is busy, and with it in hand tries the others; when one of them
 * refuses, gives everything back and waits for that one. So nothing is held while waiting, and no order of the
 * members, and nobody else's, can bring about a deadlock (Howard Hinnant, "Dining Philosophers Rebooted": smart and
 * polite, as in C++'s std::lock). docs/decisions/0018 has the argument.
 *
 * @returns the levels in the order of the members; or that somebody else has one
 * @throws whatever ends a wait for a member, or a try that another try would not change
 */
export async function takeAll(
  call: CompoundCall,
  members: readonly Member[],
): Promise<MemberHold[] | LockTimeoutError> {
  let answers = await call.tryAll(members)
  for (let round = 1; ; round += 1) {
    const obstacle = obstacleIn(call, answers)
    if (!obstacle) {
      return inOrderOf(members, levelsIn(answers))
    }
    if (call.isOver) {
      return orThrow(call, obstacle)
    }
    await breakLockstep(call, round)
    const inHand = await call.waitFor(obstacle.member)
    if (inHand.kind !== 'held') {
      call.throwIfAborted()
      return orThrow(call, inHand)
    }
    answers = [inHand, ...(await call.tryAll(members.filter((member) => member !== inHand.member)))]
  }
}

/**
 * What keeps the caller from having all; then everything is given back.
 * @throws the reason of the signal; what no waiting would change
 */
function obstacleIn(call: CompoundCall, answers: readonly Answer[]): Obstacle | undefined {
  const obstacles = answers.filter((answer): answer is Obstacle => answer.kind !== 'held')
  const isAborted = call.signal?.aborted === true
  if (obstacles.length === 0 && !isAborted) {
    return undefined
  }
  const levels = levelsIn(answers)
  giveBack(levels)
  call.throwIfAborted()
  const final = obstacles.find((each) => each.kind === 'failed' && !isWorthRetrying(each.error))
  if (final) {
    throw final.error
  }
  refuseTwins(obstacles, levels)
  // In the order of the members: who names them in the same order waits in the same line.
  return obstacles.find((each) => each.kind === 'busy') ?? obstacles[0]
}

/** Two clients on one Redis: such a member would be refused by the other for ever. */
function refuseTwins(obstacles: readonly Obstacle[], levels: readonly MemberHold[]): void {
  for (const obstacle of obstacles) {
    const holder = obstacle.kind === 'busy' ? obstacle.error.holder?.owner : undefined
    if (levels.some(({ acquisition }) => acquisition.owner === holder)) {
      const rule = 'locks that differ in Redis, where two of them are one'
      throw new InvalidArgumentError('locks', obstacle.member.lockName, rule)
    }
  }
}

/** @throws what a member failed with */
function orThrow(call: CompoundCall, obstacle: Obstacle): LockTimeoutError {
  if (obstacle.kind === 'failed') {
    throw obstacle.error as LockError
  }
  return call.timeout('Member', obstacle.error)
}

/** Full jitter, growing, while nothing is held (AWS Architecture Blog, "Exponential Backoff And Jitter"). */
async function breakLockstep({ session, leftMs, signal }: CompoundCall, round: number): Promise<void> {
  if (round > ROUNDS_WITHOUT_PAUSE) {
    const { clock, options, abandoned } = session
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (round - ROUNDS_WITHOUT_PAUSE), leftMs)
    await pause(options.random() * longest, clock, signal ?? abandoned)
  }
}

function inOrderOf(members: readonly Member[], levels: readonly MemberHold[]): MemberHold[] {
  return members.flatMap((member) => levels.filter((level) => level.member === member))
}
