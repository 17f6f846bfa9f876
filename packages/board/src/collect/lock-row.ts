import type { SeenLock } from '@holdfast/core/observe'
import type { Holder, LockRow, Waiter } from '../../page/wire.js'

/** Calls that wait for a lock inside the clients that report. */
export interface ReportedWaiting {
  readonly count: number
  readonly longestSince: number
}

export interface KnownHold {
  readonly kind: string
  readonly since: number
}

export interface RowFacts {
  readonly seen: SeenLock
  readonly seenAt: number
  /** A hold as its client reports it. */
  holdOf(owner: string): KnownHold | undefined
  readonly waiting: ReportedWaiting
  readonly before: LockRow | undefined
}

/** Waits that began within so many ms of each other are the same: durations are told in whole ms, a round trip late. */
const SAME_MS = 250

export function rowOf(id: number, facts: RowFacts): LockRow {
  const { seen, seenAt, waiting, before } = facts
  const kinds = seen.holders.flatMap(({ owner }) => facts.holdOf(owner)?.kind ?? [])
  const waiters = seen.waiters.map(({ owner, clientName = '', waitedMs }, i): Waiter => {
    const since = waitedMs === undefined ? null : steady(seenAt - waitedMs, before?.waiters[i]?.since)
    return { owner, client: clientName, since }
  })
  const sinceOf = waiters.flatMap(({ since }) => since ?? [])
  const longest = Math.min(...sinceOf, waiting.count > 0 ? waiting.longestSince : Number.POSITIVE_INFINITY)
  return {
    id,
    name: seen.name,
    kind: seen.kind ?? kinds[0] ?? '',
    mode: seen.mode ?? '',
    holders: seen.holders.map((holder) => holderOf(holder, facts)),
    waiting: Math.max(seen.waiting, waiting.count),
    waiters,
    longestWaitSince: Number.isFinite(longest) ? steady(longest, before?.longestWaitSince) : null,
    overtaken: seen.overtaken > seen.waiting ? seen.overtaken : 0,
    token: seen.token ?? '',
    isUnbreakable: seen.holders.some((each) => each.foreign === true || each.handedOver === true),
    leaseEndsAt: seen.leaseLeftMs < 0 ? null : seenAt + seen.leaseLeftMs,
    seenAt,
  }
}

function holderOf(holder: SeenLock['holders'][number], facts: RowFacts): Holder {
  const { owner, clientName = '', holds, heldForMs, mayBeIdle } = holder
  const known = facts.before?.holders.find((each) => each.owner === owner)
  const reported =
    facts.holdOf(owner)?.since ?? (heldForMs === undefined ? undefined : facts.seenAt - heldForMs)
  const since = reported === undefined ? (known?.since ?? facts.seenAt) : steady(reported, known?.since)
  const isSinceExact = reported !== undefined || known?.isSinceExact === true
  const client = mayBeIdle ? `held or idle at ${clientName}` : clientName
  return { owner, client, holds, since, isSinceExact }
}

function steady(at: number, before: number | null | undefined): number {
  const isSame = typeof before === 'number' && Math.abs(at - before) < SAME_MS
  return isSame ? before : at
}

/** Whether two rows of a lock show the same, apart from the lease and when it was seen. */
export function showSame(a: LockRow, b: LockRow): boolean {
  return (
    a.kind === b.kind &&
    a.mode === b.mode &&
    a.waiting === b.waiting &&
    a.longestWaitSince === b.longestWaitSince &&
    a.overtaken === b.overtaken &&
    a.token === b.token &&
    a.isUnbreakable === b.isUnbreakable &&
    JSON.stringify(a.holders) === JSON.stringify(b.holders) &&
    JSON.stringify(a.waiters) === JSON.stringify(b.waiters)
  )
}
