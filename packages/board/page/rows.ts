import type { LockRow, WireRow } from './wire.js'

/** A held lock, as the page keeps it. */
export interface Row extends LockRow {
  /** The longest lease left that the page has seen of this holder: the whole of the bar. */
  leaseMs: number
}

export function rowIn(wire: WireRow, before: Row | undefined): Row {
  const [
    id,
    name,
    kind,
    mode,
    holders,
    waiting,
    waiters,
    longestWaitSince,
    token,
    unbreakable,
    ends,
    seenAt,
    overtaken,
  ] = wire
  const row: Row = {
    ...{ id, name, kind, mode, waiting, longestWaitSince, overtaken, token },
    isUnbreakable: unbreakable === 1,
    holders: holders.map(([owner, client, holds, since, exact]) => {
      return { owner, client, holds, since, isSinceExact: exact === 1 }
    }),
    waiters: waiters.map(([owner, client, since]) => ({ owner, client, since })),
    leaseEndsAt: ends,
    seenAt,
    leaseMs: 0,
  }
  const isSameHolder = before?.holders[0]?.owner === row.holders[0]?.owner
  row.leaseMs = Math.max(isSameHolder ? (before?.leaseMs ?? 0) : 0, leaseLeftAtLook(row))
  return row
}

export function leaseLeftAtLook({ leaseEndsAt, seenAt }: Row): number {
  return leaseEndsAt === null ? 0 : Math.max(0, leaseEndsAt - seenAt)
}

export const holderName = ({ client, owner }: { client: string; owner: string }): string => client || owner

export type SortKey = 'name' | 'kind' | 'holder' | 'since' | 'lease' | 'waiting' | 'wait' | 'age'

const UNKNOWN = Number.POSITIVE_INFINITY

/** By which number or text rows are sorted, upwards. */
const VALUES: Record<SortKey, (row: Row) => number | string> = {
  name: ({ name }) => name,
  kind: ({ kind, mode }) => `${kind} ${mode}`,
  holder: ({ holders: [first] }) => (first ? holderName(first) : ''),
  since: ({ holders }) => Math.min(...holders.map(({ since }) => since)),
  lease: ({ leaseEndsAt }) => leaseEndsAt ?? UNKNOWN,
  waiting: ({ waiting }) => waiting,
  wait: ({ longestWaitSince }) => longestWaitSince ?? UNKNOWN,
  age: ({ seenAt }) => seenAt,
}

export interface Sorting {
  readonly key: SortKey
  readonly isDown: boolean
}

/** The first order of each column: the longest held, the most contended. */
export const FIRST_WAY: Record<SortKey, boolean> = {
  ...{ name: false, kind: false, holder: false, since: false, lease: false },
  ...{ waiting: true, wait: false, age: false },
}

/** Rows that have the text in their name, kind, or in a holder or waiter; sorted. */
export function chosenRows(all: Iterable<Row>, filter: string, { key, isDown }: Sorting): Row[] {
  const text = filter.trim().toLowerCase()
  const rows = [...all].filter((row) => text === '' || hasText(row, text))
  const valueOf = VALUES[key]
  const way = isDown ? -1 : 1
  return rows
    .map((row) => ({ row, value: valueOf(row) }))
    .sort(
      (a, b) =>
        way * compare(a.value, b.value) ||
        (a.row.longestWaitSince ?? UNKNOWN) - (b.row.longestWaitSince ?? UNKNOWN) ||
        compare(a.row.name, b.row.name),
    )
    .map(({ row }) => row)
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function hasText({ name, kind, holders, waiters }: Row, text: string): boolean {
  return (
    name.toLowerCase().includes(text) ||
    kind.includes(text) ||
    [...holders, ...waiters].some(({ owner }) => owner.toLowerCase().includes(text))
  )
}
