/** How often a candidate says that it lives. */
export const heartbeatOf = (leaseMs: number): number => leaseMs / 4

/** What the processes of an election write down, besides the events of every history. */
export type ElectionEventKind = 'began' | 'ended' | 'unexpected' | 'data-lost'

export interface ElectionEvent {
  readonly atMs: number
  readonly process: string
  /** One of these, or of those of every history. */
  readonly kind: string
  /** Of a term: each has another one, also after tokens began again. */
  readonly owner?: string
  readonly token?: string
  readonly untilMs?: number
  readonly reason?: string
  readonly error?: string
}

/** One term, as its leader saw it. */
interface SeenTerm {
  readonly owner: string
  readonly token: string
  readonly process: string
  readonly beganMs: number
  /** Until when it believed that it leads. */
  trustedMs: number
  endedMs: number
  reason: string
}

/** In the order in which they began. */
const termsIn = (events: readonly ElectionEvent[]): SeenTerm[] => {
  const terms = new Map<string, SeenTerm>()
  for (const { atMs, process, kind, owner = '', token = '', untilMs = atMs, reason = '' } of events) {
    const term = terms.get(owner)
    if (kind === 'began') {
      terms.set(owner, {
        ...{ owner, token, process, beganMs: atMs, trustedMs: untilMs, endedMs: Infinity, reason: '' },
      })
    } else if (kind === 'trusted' && term) {
      term.trustedMs = untilMs
    } else if (kind === 'ended' && term) {
      term.endedMs = atMs
      term.reason = reason
    } else if (kind === 'killed') {
      for (const each of terms.values()) {
        if (each.process === process && each.endedMs === Infinity) {
          each.endedMs = atMs
          each.reason = 'killed'
        }
      }
    }
  }
  return [...terms.values()].sort((a, b) => a.beganMs - b.beganMs)
}

/** The end of a belief: of the term, or of the trust in it, whichever was first. */
const endOf = ({ endedMs, trustedMs }: SeenTerm): number => Math.min(endedMs, trustedMs)

/** What a follower was told of, in that order. */
export interface ToldTerm {
  readonly owner: string
  readonly token: string
  readonly atMs: number
}

export interface Judged {
  readonly violations: string[]
  /** What the loss of data in Redis explains: no lock in Redis can promise more. */
  readonly apart: { losses: number; overlaps: number; tokens: number; untold: number }
}

export const judge = (
  events: readonly ElectionEvent[],
  told: readonly ToldTerm[],
  leaseMs: number,
): Judged => {
  const losses = events.filter(({ kind }) => kind === 'data-lost')
  const apart = { losses: losses.length, overlaps: 0, tokens: 0, untold: 0 }
  const violations: string[] = []
  // A leader learns of its term at most a lease after Redis wrote it: later its trust is over.
  const hasLostData = (fromMs: number, toMs: number): boolean =>
    losses.some(({ atMs, untilMs = atMs }) => untilMs >= fromMs - leaseMs && atMs <= toMs)
  const add = (kind: 'overlaps' | 'tokens' | 'untold', fromMs: number, toMs: number, text: string): void => {
    if (hasLostData(fromMs, toMs)) apart[kind] += 1
    else violations.push(text)
  }
  const toldOwners = new Set(told.map(({ owner }) => owner))
  let before: SeenTerm | undefined
  let latest: { token: string; atMs: number } | undefined
  for (const term of termsIn(events)) {
    const { beganMs, token } = term
    const name = `term ${token} of ${term.process}`
    if (before && beganMs < endOf(before)) {
      const overlapMs = (endOf(before) - beganMs).toFixed(3)
      const text = `I1 ${name} began ${overlapMs} ms before term ${before.token} of ${before.process} was over`
      add('overlaps', before.beganMs, beganMs, text)
    }
    const isLarger = !latest || BigInt(token) > BigInt(latest.token)
    if (latest && !isLarger)
      add('tokens', latest.atMs, beganMs, `I9 ${name} began after term ${latest.token}`)
    // Tokens begin again where the data was lost. Without that, each later one has to exceed the largest, too.
    if (isLarger || hasLostData(latest?.atMs ?? beganMs, beganMs)) latest = { token, atMs: beganMs }
    if (!toldOwners.has(term.owner)) {
      add('untold', beganMs, Math.max(beganMs, endOf(term)) + leaseMs, `a follower was never told of ${name}`)
    }
    // The one that is trusted for longest: a later one may have been short.
    if (!before || endOf(term) >= endOf(before)) before = term
  }
  told.forEach(({ token, atMs }, i) => {
    const previous = told[i - 1]
    if (!previous || BigInt(token) > BigInt(previous.token)) return
    // Those that a loss explains were counted where they began.
    if (hasLostData(previous.atMs, atMs)) return
    violations.push(`I9 a follower was told of token ${token} after ${previous.token}`)
  })
  const unexpected = events.filter(({ kind }) => kind === 'unexpected')
  violations.push(...unexpected.map(({ process, error }) => `${process} survived ${error ?? ''}`))
  return { violations, apart }
}

const WAYS: Readonly<Record<string, string>> = {
  resigned: 'it resigned',
  stopped: 'it closed its election',
  settled: 'its callback settled',
  killed: 'it was killed',
  endangered: 'it could not renew, and had its grace',
  expired: 'its trust ran out',
}

const LONGEST_AFTER_A_LEASE_MS = 1_000

/** How soon those who were killed were followed, beside what is asked for: dead candidates cost two heartbeats each. */
const afterKills = (
  events: readonly ElectionEvent[],
  terms: readonly SeenTerm[],
  leaseMs: number,
): string => {
  const killed = events.filter(({ kind }) => kind === 'killed')
  let [all, behindDead, late] = [0, 0, 0]
  terms.forEach((term, i) => {
    const next = terms[i + 1]
    if (term.reason !== 'killed' || !next) return
    const isDead = ({ atMs, process }: ElectionEvent): boolean =>
      process !== term.process && atMs > term.beganMs && atMs < next.beganMs
    const dead = killed.filter(isDead).length
    all += 1
    behindDead += dead > 0 ? 1 : 0
    const asked = leaseMs + LONGEST_AFTER_A_LEASE_MS + dead * 2 * heartbeatOf(leaseMs)
    late += next.beganMs - term.endedMs > asked ? 1 : 0
  })
  return (
    `${all} leaders were killed, and in ${behindDead} of these terms candidates too; ${all - late} were followed within ` +
    'the lease and 1 s, with two heartbeats more for each of those candidates'
  )
}

/**
 * How long nobody led after a term, by the way it ended.
 *
 * @param calmUntilMs before it no fault was at work
 */
export const figuresOf = (
  events: readonly ElectionEvent[],
  leaseMs: number,
  calmUntilMs: number,
): { report: string[]; figures: object } => {
  const terms = termsIn(events)
  const gaps = new Map<string, number[]>()
  terms.forEach((term, i) => {
    const next = terms[i + 1]
    if (!next) return
    const how = WAYS[term.reason] ?? 'it was lost otherwise'
    const way = next.beganMs < calmUntilMs ? `${how}, before any fault` : how
    gaps.set(way, [...(gaps.get(way) ?? []), next.beganMs - endOf(term)])
  })
  const rows = [...gaps]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([way, all]) => {
      const sorted = all.toSorted((a, b) => a - b)
      const at = (part: number): string => {
        const value = sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0
        return value.toFixed(1)
      }
      return { way, terms: all.length, p50: at(0.5), p99: at(0.99), most: at(1) }
    })
  const table = rows.map(
    ({ way, terms: number, p50, p99, most }) => `| ${way} | ${number} | ${p50} | ${p99} | ${most} |`,
  )
  return {
    figures: { terms: terms.length, leaseMs, gaps: rows },
    report: [
      `${terms.length} terms began in their processes, in the order of their tokens; no two were trusted at once${
        events.some(({ kind }) => kind === 'data-lost') ? ', apart from those' : ''
      }`,
      afterKills(events, terms, leaseMs),
      '',
      `| how a term ended (lease ${leaseMs} ms) | terms | until the next began, p50 ms | p99 | most |`,
      '| --- | ---: | ---: | ---: | ---: |',
      ...table,
    ],
  }
}
