import { general, parseNumber } from '../lua/numbers.js'
import { ErrorReply, syntaxError, type Reply } from '../reply.js'
import { SortedSet } from '../sorted-set.js'
import { command, count, float, span, type Command, type Data } from './command.js'

/** A score as Redis writes it. */
function scoreText(score: number): string {
  return Number.isInteger(score) && Math.abs(score) < 1e17 && !Object.is(score, -0)
    ? String(score)
    : general(score, 17)
}

interface Bound {
  readonly score: number
  readonly isExcluded: boolean
}

function bound(text: string | undefined): Bound {
  const isExcluded = text?.startsWith('(') ?? false
  const number = (isExcluded ? text?.slice(1) : text) ?? ''
  // Unlike a score it may be empty, which is 0, have blanks in front, and be too large or too small for C.
  const score = number === '' ? 0 : parseNumber(number.replace(/\s$/, 'x'))
  if (score === undefined || Number.isNaN(score)) {
    throw new ErrorReply('ERR min or max is not a float')
  }
  return { score, isExcluded }
}

/** The places in a set between two scores, the second excluded. */
function placesBetween(set: SortedSet, from: Bound, to: Bound): readonly [number, number] {
  const begin = set.placeWhere((score) => (from.isExcluded ? score > from.score : score >= from.score))
  const end = set.placeWhere((score) => (to.isExcluded ? score >= to.score : score > to.score))
  return [begin, Math.max(begin, end)]
}

interface AddRules {
  readonly words: ReadonlySet<string>
  readonly pairs: readonly (readonly [string, number])[]
}

function addRules(args: readonly string[]): AddRules {
  const words = new Set<string>()
  let at = 0
  for (; at < args.length; at += 1) {
    const word = (args[at] as string).toUpperCase()
    if (!['NX', 'XX', 'GT', 'LT', 'CH', 'INCR'].includes(word)) {
      break
    }
    words.add(word)
  }
  const rest = args.slice(at)
  if (rest.length === 0 || rest.length % 2 === 1) {
    throw syntaxError()
  }
  if (words.has('NX') && words.has('XX')) {
    throw new ErrorReply('ERR XX and NX options at the same time are not compatible')
  }
  if ([words.has('NX'), words.has('GT'), words.has('LT')].filter(Boolean).length > 1) {
    throw new ErrorReply('ERR GT, LT, and/or NX options at the same time are not compatible')
  }
  if (words.has('INCR') && rest.length > 2) {
    throw new ErrorReply('ERR INCR option supports a single increment-element pair')
  }
  const pairs: [string, number][] = []
  for (let i = 0; i < rest.length; i += 2) {
    pairs.push([rest[i + 1] as string, float(rest[i])])
  }
  return { words, pairs }
}

function isAllowed(words: ReadonlySet<string>, before: number | undefined, score: number): boolean {
  if (before === undefined) {
    return !words.has('XX')
  }
  return !(words.has('NX') || (words.has('GT') && score <= before) || (words.has('LT') && score >= before))
}

function add([key = '', ...args]: readonly string[], { keyspace }: Data): Reply {
  const { words, pairs } = addRules(args)
  const set = keyspace.sortedSet(key) ?? new SortedSet()
  let [added, changed] = [0, 0]
  let last: number | null = null
  for (const [member, given] of pairs) {
    const before = set.score(member)
    const score = words.has('INCR') && before !== undefined ? before + given : given
    if (Number.isNaN(score)) {
      throw new ErrorReply('ERR resulting score is not a number (NaN)')
    }
    last = null
    if (isAllowed(words, before, score)) {
      // Kept as an integer, which knows no -0.
      set.set(member, score + 0)
      last = score
      added += before === undefined ? 1 : 0
      changed += before !== undefined && before !== score ? 1 : 0
    }
  }
  if (set.size > 0) {
    keyspace.set(key, set)
  }
  if (words.has('INCR')) {
    return last === null ? null : scoreText(last)
  }
  return words.has('CH') ? added + changed : added
}

function withScores(set: SortedSet, members: readonly string[], isWanted: boolean): Reply {
  return isWanted ? members.flatMap((member) => [member, scoreText(set.score(member) as number)]) : members
}

interface RangeRules {
  /** null: a word may say it, which is by rank otherwise. */
  isByScore: boolean | null
  /** null: a word may say it. */
  isReversed: boolean | null
  hasScores: boolean
  limit: readonly [number, number] | null
}

function rangeRules(words: readonly string[], rules: RangeRules): RangeRules {
  for (let i = 0; i < words.length; i += 1) {
    const word = (words[i] as string).toUpperCase()
    if (word === 'WITHSCORES') {
      rules.hasScores = true
    } else if (word === 'LIMIT' && i + 2 < words.length) {
      rules.limit = [count(words[i + 1]), count(words[i + 2])]
      i += 2
    } else if (word === 'BYSCORE' && rules.isByScore === null) {
      rules.isByScore = true
    } else if (word === 'REV' && rules.isReversed === null) {
      rules.isReversed = true
    } else {
      throw word === 'BYLEX' && rules.isByScore === null
        ? new ErrorReply('ERR BYLEX is not known to the engine for tests')
        : syntaxError()
    }
  }
  if (rules.limit && rules.limit[1] !== -1 && !rules.isByScore) {
    throw new ErrorReply(
      'ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX',
    )
  }
  return rules
}

function range(args: readonly string[], { keyspace }: Data, rules: RangeRules): Reply {
  const [key = '', one, other, ...words] = args
  const { isByScore, isReversed, hasScores, limit } = rangeRules(words, rules)
  if (isByScore) {
    const [low, high] = isReversed ? [bound(other), bound(one)] : [bound(one), bound(other)]
    const set = keyspace.sortedSet(key) ?? new SortedSet()
    const found = set.members.slice(...placesBetween(set, low, high))
    const ordered = isReversed ? found.reverse() : found
    const [offset, most] = limit ?? [0, -1]
    const cut = offset < 0 ? [] : ordered.slice(offset, most < 0 ? undefined : offset + most)
    return withScores(set, cut, hasScores)
  }
  const [from, to] = [count(one), count(other)]
  const set = keyspace.sortedSet(key) ?? new SortedSet()
  const members = isReversed ? [...set.members].reverse() : set.members
  return withScores(set, members.slice(...span(members.length, from, to)), hasScores)
}

function removed([key = '', ...members]: readonly string[], { keyspace }: Data): number {
  const set = keyspace.sortedSet(key)
  const gone = members.filter((member) => set?.delete(member)).length
  keyspace.deleteIfEmpty(key)
  return gone
}

/** The members of one set at these places. */
function removeBetween(
  key: string,
  data: Data,
  placesIn: (set: SortedSet) => readonly [number, number],
): number {
  const set = data.keyspace.sortedSet(key)
  return set ? removed([key, ...set.members.slice(...placesIn(set))], data) : 0
}

const rules = (isByScore: boolean | null, isReversed: boolean | null): RangeRules => ({
  ...{ isByScore, isReversed, hasScores: false, limit: null },
})
const rangeArgs = { args: [3, Infinity] } as const

export const sortedSets: readonly Command[] = [
  command('zadd', { args: [3, Infinity], flags: ['write', 'denyoom'] }, add),
  command('zincrby', { args: 3, flags: ['write', 'denyoom'] }, ([key = '', by = '', member = ''], data) =>
    add([key, 'INCR', by, member], data),
  ),
  command('zcard', { args: 1 }, ([key = ''], { keyspace }) => keyspace.sortedSet(key)?.size ?? 0),
  command('zscore', { args: 2 }, ([key = '', member = ''], { keyspace }) => {
    const score = keyspace.sortedSet(key)?.score(member)
    return score === undefined ? null : scoreText(score)
  }),
  command(
    'zrank',
    { args: 2 },
    ([key = '', member = ''], { keyspace }) => keyspace.sortedSet(key)?.rank(member) ?? null,
  ),
  command('zcount', { args: 3 }, ([key = '', from, to], { keyspace }) => {
    const bounds = [bound(from), bound(to)] as const
    const set = keyspace.sortedSet(key)
    const [begin, end] = set ? placesBetween(set, ...bounds) : [0, 0]
    return end - begin
  }),
  command('zrange', rangeArgs, (args, data) => range(args, data, rules(null, null))),
  command('zrevrange', rangeArgs, (args, data) => range(args, data, rules(false, true))),
  command('zrangebyscore', rangeArgs, (args, data) => range(args, data, rules(true, false))),
  command('zrevrangebyscore', rangeArgs, (args, data) => range(args, data, rules(true, true))),
  command('zrem', { args: [2, Infinity], flags: ['write'] }, removed),
  command('zremrangebyscore', { args: 3, flags: ['write'] }, ([key = '', from, to], data) => {
    const bounds = [bound(from), bound(to)] as const
    return removeBetween(key, data, (set) => placesBetween(set, ...bounds))
  }),
  command('zremrangebyrank', { args: 3, flags: ['write'] }, ([key = '', from, to], data) => {
    const places = [count(from), count(to)] as const
    return removeBetween(key, data, (set) => span(set.size, ...places))
  }),
]
