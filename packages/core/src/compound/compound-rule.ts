import { unansweredWait } from '../redis/failures.js'
import type { Clock } from '../runtime/runtime.js'
import { settleWithin } from '../runtime/settle-within.js'
import type { Member } from './member.js'

/** A member that failed, and its error. */
export interface MemberFailure {
  readonly member: Member
  readonly error: unknown
}

/** How many members of a compound lock are needed, and the error for too few. */
export interface CompoundRule {
  /** Number of members that must be held. */
  readonly needed: number
  /** How long to wait for members that do not reply, ms. */
  readonly patienceMs: number
  /** The error for too few replies. */
  tooFew(failures: readonly MemberFailure[]): unknown
}

/** A query to one member. */
interface Ask<T> {
  readonly member: Member
  readonly answer: Promise<T>
}

/** The results, in no particular order. */
interface Gathered<T> {
  readonly values: T[]
  readonly failures: MemberFailure[]
}

/** The largest number that at least `needed` of the values reach; 0 with fewer values. */
export function reachedBy(values: readonly number[], needed: number): number {
  return [...values].sort((a, b) => b - a)[needed - 1] ?? 0
}

/** Collects the replies that arrive within the rule's patience. */
export async function gather<T>(
  asked: readonly Ask<T>[],
  { patienceMs }: CompoundRule,
  clock: Clock,
): Promise<Gathered<T>> {
  const silent = new Set(asked.map(({ member }) => member))
  const { gathered, all } = collect(asked, (_, { member }) => silent.delete(member))
  await (patienceMs === Infinity ? all : settleWithin(all, patienceMs, clock))
  const unanswered = [...silent].map((member) => {
    return { member, error: silenceOf(member, patienceMs) }
  })
  // Later replies are ignored.
  return { values: [...gathered.values], failures: [...gathered.failures, ...unanswered] }
}

/** Resolves as soon as enough have succeeded. @throws the rule's error, as soon as enough cannot succeed any more */
export function enough(asked: readonly Ask<void>[], rule: CompoundRule): Promise<void> {
  return new Promise((resolve, reject) => {
    collect(asked, ({ values, failures }) => {
      if (values.length >= rule.needed) {
        resolve()
      } else if (asked.length - failures.length < rule.needed) {
        reject(rule.tooFew(failures))
      }
    })
  })
}

function collect<T>(
  asked: readonly Ask<T>[],
  onAnswer: (gathered: Gathered<T>, answered: Ask<T>) => void,
): { gathered: Gathered<T>; all: Promise<unknown> } {
  const gathered: Gathered<T> = { values: [], failures: [] }
  const all = asked.map((each) =>
    each.answer
      .then(
        (value) => void gathered.values.push(value),
        (error: unknown) => void gathered.failures.push({ member: each.member, error }),
      )
      .then(() => onAnswer(gathered, each)),
  )
  return { gathered, all: Promise.all(all) }
}

/** The error of a member that has not replied for this long. */
export function silenceOf({ session, lockName }: Member, waitedMs: number): unknown {
  return unansweredWait(session.runner.plight, { lockName, waitedMs }, undefined)
}
