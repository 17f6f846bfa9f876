import { describe, expect, it } from '@jest/globals'
import type { ClientReport, SeenLock } from '@holdfast/core/observe'
import { LockTable } from '../../src/collect/lock-table.js'

const NOW = 1_000_000

const seen = (name: string, more: Partial<SeenLock> = {}): SeenLock => ({
  ...{ name, kind: undefined, mode: undefined, token: undefined, waiting: 0, waiters: [], overtaken: 0 },
  leaseLeftMs: 30_000,
  holders: [{ owner: `c~1:${name}`, holds: 1, leaseLeftMs: 30_000, heldForAtLeastMs: 0 }],
  ...more,
})

const look = (
  table: LockTable,
  names: readonly string[],
  found: readonly SeenLock[],
  seenAt = NOW,
  at = seenAt,
): void => table.looked(names, new Map(found.map((each) => [each.name, each])), { seenAt, at })

const reportOf = (more: Partial<ClientReport>): ClientReport => ({
  ...{ clientId: 'c~1', agoMs: 0, everyMs: 10_000, held: 0, holds: [], waiting: 0, waits: [], losses: [] },
  ...more,
})

describe('LockTable', () => {
  it('tells a reader what has changed since it last asked, and no more', () => {
    const table = new LockTable()
    look(table, ['a', 'b'], [seen('a'), seen('b')])
    const first = table.changesAfter(null)
    expect([first.isWhole, first.changed.map(({ name }) => name)]).toEqual([true, ['a', 'b']])
    // The same, later: only the lease and when it was seen.
    look(table, ['a'], [seen('a')], NOW + 1_000)
    const second = table.changesAfter(first.through)
    expect(second).toMatchObject({ isWhole: false, changed: [], removed: [], seen: [{ name: 'a' }] })
    look(table, ['a', 'b'], [seen('a', { waiting: 2 })], NOW + 2_000)
    const third = table.changesAfter(second.through)
    expect(third).toMatchObject({ changed: [{ name: 'a', waiting: 2 }], seen: [] })
    expect(third.removed).toEqual([first.changed[1]!.id])
    expect(table.changesAfter(third.through)).toMatchObject({ changed: [], seen: [], removed: [] })
  })

  it('a reader that is too far behind gets everything', () => {
    const table = new LockTable()
    look(table, ['kept'], [seen('kept')])
    const { through } = table.changesAfter(null)
    for (let i = 0; i < 20_001; i += 1) {
      look(table, ['gone'], [seen('gone')])
      look(table, ['gone'], [])
    }
    expect(table.changesAfter(through)).toMatchObject({ isWhole: true, changed: [{ name: 'kept' }] })
  })

  it('a holder is known to hold from when it was first seen, or from when its client or its note says', () => {
    const table = new LockTable()
    look(table, ['a'], [seen('a')])
    look(table, ['a'], [seen('a')], NOW + 5_000)
    expect(table.row('a')!.holders).toMatchObject([{ since: NOW, isSinceExact: false }])
    const hold = { lockName: 'a', owner: 'c~1:a', kind: 'fair', heldMs: 60_000 } as const
    table.takeReport(reportOf({ holds: [hold], agoMs: 2_000 }), NOW + 5_000)
    expect(table.row('a')).toMatchObject({
      kind: 'fair',
      holders: [{ since: NOW - 57_000, isSinceExact: true }],
    })
    // The report says nothing of an owner that has it no more.
    look(
      table,
      ['a'],
      [seen('a', { holders: [{ owner: 'c~2:9', holds: 1, leaseLeftMs: 1, heldForAtLeastMs: 0 }] })],
      NOW + 9_000,
    )
    expect(table.row('a')).toMatchObject({ kind: '', holders: [{ since: NOW + 9_000, isSinceExact: false }] })
  })

  it('counts waiting calls of all clients that report, and forgets those of a client that does not any more', () => {
    const table = new LockTable()
    look(table, ['a'], [seen('a', { waiting: 1 })])
    const waits = [{ lockName: 'a', count: 5, longestMs: 7_000 }]
    expect(
      table.takeReport(reportOf({ waits: [...waits, { lockName: 'b', count: 1, longestMs: 1 }] }), NOW),
    ).toEqual(['b'])
    table.takeReport(reportOf({ clientId: 'c~2', waits }), NOW)
    expect(table.row('a')).toMatchObject({ waiting: 10, longestWaitSince: NOW - 7_000 })
    table.takeReport(reportOf({ clientId: 'c~2' }), NOW)
    expect(table.row('a')!.waiting).toBe(5)
    table.keepReportsOf(['c~2'])
    expect(table.row('a')).toMatchObject({ waiting: 1, longestWaitSince: null })
  })

  it('keeps so many rows, and says when there are more', () => {
    const table = new LockTable(2)
    look(table, ['a', 'b'], [seen('a'), seen('b')])
    expect([table.size, table.isFull]).toEqual([2, false])
    look(table, ['c'], [seen('c')])
    expect([table.size, table.isFull, table.has('c')]).toEqual([2, true, false])
    look(table, ['a'], [])
    expect([table.size, table.isFull]).toEqual([1, false])
  })

  it('names those seen longest ago first, and those whose lease must have ended', () => {
    const table = new LockTable()
    look(table, ['a', 'b', 'c'], [seen('a'), seen('b', { leaseLeftMs: 10 }), seen('c')])
    look(table, ['a'], [seen('a')], NOW + 100)
    expect(table.oldest(2, NOW + 1_000)).toEqual(['b', 'c'])
    expect(table.oldest(9, NOW)).toEqual(['b', 'c'])
    expect(table.ended(NOW + 11, 9)).toEqual(['b'])
  })

  it('asks for rows again when the wall clock was set back', () => {
    const table = new LockTable()
    look(table, ['a', 'b'], [seen('a'), seen('b')], NOW, 0)
    look(table, ['a'], [seen('a')], NOW - 3_600_000, 1_000)
    expect(table.oldest(9, 2_000)).toEqual(['b', 'a'])
    expect(table.oldest(9, 500)).toEqual(['b'])
  })
})
