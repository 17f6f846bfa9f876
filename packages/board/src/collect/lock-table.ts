import type { ClientReport, SeenLock } from '@holdfast/core/observe'
import type { LockRow } from '../../page/wire.js'
import { rowOf, showSame, type KnownHold, type ReportedWaiting } from './lock-row.js'

interface Entry {
  row: LockRow
  seen: SeenLock
  /** Monotonic ms. */
  lookedAt: number
  /** When the row last changed what it shows, and when it was last seen: numbers of changes. */
  changedIn: number
  seenIn: number
}

/** When Redis was asked. */
export interface LookTime {
  /** The board's wall clock, ms: for those who look. */
  readonly seenAt: number
  /** Monotonic ms: for what is due. */
  readonly at: number
}

/** Changes that a reader of the table has not seen yet. */
export interface TableChanges {
  /** The number to go on from. */
  readonly through: number
  /** Everything before has to be forgotten: the reader is new, or too far behind. */
  readonly isWhole: boolean
  readonly changed: readonly LockRow[]
  /** Rows of which only the lease, or when they were seen, is new. */
  readonly seen: readonly LockRow[]
  readonly removed: readonly number[]
}

interface Reported {
  readonly report: ClientReport
  /** The board's wall clock, ms. */
  readonly at: number
}

/** The number of locks that a page can show and this process should keep. */
const MOST_ROWS = 50_000
const MOST_REMOVALS_KEPT = 20_000
const NOBODY: ReportedWaiting = { count: 0, longestSince: 0 }

/** All held locks that the board knows, and what clients report of them. The first is the one seen longest ago. */
export class LockTable {
  private readonly entries = new Map<string, Entry>()
  private readonly reported = new Map<string, Reported>()
  private readonly holds = new Map<string, Map<string, KnownHold>>()
  private readonly waits = new Map<string, Map<string, ReportedWaiting>>()
  private readonly removals: { readonly id: number; readonly change: number }[] = []
  /** Readers at an earlier number need the whole table. */
  private removalsFrom = 0
  private change = 0
  private nextId = 0
  private hasLeftOut = false

  constructor(private readonly mostRows = MOST_ROWS) {}

  get size(): number {
    return this.entries.size
  }

  /** Whether there are more held locks than it keeps. */
  get isFull(): boolean {
    return this.hasLeftOut && this.entries.size >= this.mostRows
  }

  get clients(): readonly ClientReport[] {
    return [...this.reported.values()].map(({ report }) => report)
  }

  has(name: string): boolean {
    return this.entries.has(name)
  }

  row(name: string): LockRow | undefined {
    return this.entries.get(name)?.row
  }

  /** The kind of lock that a client reports for one of these owners. */
  kindOf(name: string): string {
    return this.entries.get(name)?.row.kind ?? ''
  }

  /** Names of the rows seen longest ago, at most so many, and none seen after `before`, monotonic ms. */
  oldest(most: number, before: number): string[] {
    const names: string[] = []
    for (const [name, { lookedAt }] of this.entries) {
      if (names.length === most || lookedAt > before) {
        break
      }
      names.push(name)
    }
    return names
  }

  /** Rows whose lease must have ended since they were seen. */
  ended(now: number, most: number): string[] {
    const names: string[] = []
    for (const [name, { row }] of this.entries) {
      if (row.leaseEndsAt !== null && row.leaseEndsAt < now && names.length < most) {
        names.push(name)
      }
    }
    return names
  }

  /** @param found what Redis answered about `names`: a name without an entry is free */
  looked(names: readonly string[], found: ReadonlyMap<string, SeenLock>, time: LookTime): void {
    for (const name of names) {
      const seen = found.get(name)
      if (seen) {
        this.put(name, seen, time)
      } else {
        this.remove(name)
      }
    }
  }

  /** @returns names of locks that the report tells of and the table does not have */
  takeReport(report: ClientReport, now: number): string[] {
    const at = now - report.agoMs
    const { clientId } = report
    const before = this.forgetReport(clientId)
    this.reported.set(clientId, { report, at })
    for (const { lockName, owner, kind, heldMs } of report.holds) {
      placeIn(this.holds, lockName).set(owner, { kind, since: at - heldMs })
    }
    for (const { lockName, count, longestMs } of report.waits) {
      placeIn(this.waits, lockName).set(clientId, { count, longestSince: at - longestMs })
    }
    const names = new Set([...report.holds, ...report.waits].map(({ lockName }) => lockName))
    for (const name of new Set([...before, ...names])) {
      this.refresh(name)
    }
    return [...names].filter((name) => !this.entries.has(name))
  }

  /** Clients that report no more. */
  keepReportsOf(clientIds: readonly string[]): void {
    const present = new Set(clientIds)
    for (const id of this.reported.keys()) {
      if (!present.has(id)) {
        this.forgetReport(id).forEach((name) => this.refresh(name))
      }
    }
  }

  isReporting(clientId: string): boolean {
    return this.reported.has(clientId)
  }

  changesAfter(number: number | null): TableChanges {
    const through = this.change
    const isWhole = number === null || number < this.removalsFrom
    const changed: LockRow[] = []
    const seen: LockRow[] = []
    for (const { row, changedIn, seenIn } of this.entries.values()) {
      if (isWhole || changedIn > number) {
        changed.push(row)
      } else if (seenIn > number) {
        seen.push(row)
      }
    }
    const removed = isWhole ? [] : this.removals.filter(({ change }) => change > number).map(({ id }) => id)
    return { through, isWhole, changed, seen, removed }
  }

  private put(name: string, seen: SeenLock, { seenAt, at }: LookTime): void {
    const entry = this.entries.get(name)
    if (!entry && this.entries.size >= this.mostRows) {
      this.hasLeftOut = true
      return
    }
    const row = this.compose(entry?.row.id ?? (this.nextId += 1), seen, seenAt, entry?.row)
    const seenIn = (this.change += 1)
    const isSame = entry !== undefined && showSame(entry.row, row)
    // Behind all others: it is the one seen last.
    this.entries.delete(name)
    this.entries.set(name, { row, seen, lookedAt: at, seenIn, changedIn: isSame ? entry.changedIn : seenIn })
  }

  private remove(name: string): void {
    const entry = this.entries.get(name)
    if (!entry) {
      return
    }
    this.entries.delete(name)
    this.removals.push({ id: entry.row.id, change: (this.change += 1) })
    if (this.removals.length > MOST_REMOVALS_KEPT) {
      const dropped = this.removals.splice(0, MOST_REMOVALS_KEPT / 2)
      this.removalsFrom = dropped.at(-1)?.change ?? this.removalsFrom
    }
  }

  /** A report has changed what is known of a lock. */
  private refresh(name: string): void {
    const entry = this.entries.get(name)
    if (entry) {
      const row = this.compose(entry.row.id, entry.seen, entry.row.seenAt, entry.row)
      if (!showSame(entry.row, row)) {
        entry.row = row
        entry.changedIn = this.change += 1
      }
    }
  }

  private compose(id: number, seen: SeenLock, seenAt: number, before: LockRow | undefined): LockRow {
    const holds = this.holds.get(seen.name)
    return rowOf(id, {
      seen,
      seenAt,
      before,
      holdOf: (owner) => holds?.get(owner),
      waiting: this.waitingFor(seen.name),
    })
  }

  private waitingFor(name: string): ReportedWaiting {
    let all = NOBODY
    for (const { count, longestSince } of this.waits.get(name)?.values() ?? []) {
      const longest = all.count === 0 ? longestSince : Math.min(all.longestSince, longestSince)
      all = { count: all.count + count, longestSince: longest }
    }
    return all
  }

  /** @returns the names that it told of */
  private forgetReport(clientId: string): string[] {
    const { holds, waits } = this.reported.get(clientId)?.report ?? { holds: [], waits: [] }
    this.reported.delete(clientId)
    for (const { lockName, owner } of holds) {
      takeFrom(this.holds, lockName, owner)
    }
    for (const { lockName } of waits) {
      takeFrom(this.waits, lockName, clientId)
    }
    return [...holds, ...waits].map(({ lockName }) => lockName)
  }
}

function placeIn<V>(map: Map<string, Map<string, V>>, name: string): Map<string, V> {
  const inner = map.get(name) ?? new Map<string, V>()
  map.set(name, inner)
  return inner
}

function takeFrom<V>(map: Map<string, Map<string, V>>, name: string, key: string): void {
  const inner = map.get(name)
  inner?.delete(key)
  if (inner?.size === 0) {
    map.delete(name)
  }
}
