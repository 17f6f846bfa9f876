import type { Collector } from '../collect/collector.js'
import type { BoardState, LockRow, WireRow } from '../../page/wire.js'
import type { Sink } from '../http/exchange.js'
import type { BoardClock } from './board-clock.js'

/** Rows in one message: the page shows the first before all have come. */
const ROWS_A_MESSAGE = 500
const TELL_EVERY_MS = 500

export function wireRow(row: LockRow): WireRow {
  return [
    row.id,
    row.name,
    row.kind,
    row.mode,
    row.holders.map(({ owner, client, holds, since, isSinceExact }) => {
      return [owner, client, holds, Math.round(since), isSinceExact ? 1 : 0]
    }),
    row.waiting,
    row.waiters.map(({ owner, client, since }) => [owner, client, since && Math.round(since)]),
    row.longestWaitSince && Math.round(row.longestWaitSince),
    row.token,
    row.isUnbreakable ? 1 : 0,
    row.leaseEndsAt && Math.round(row.leaseEndsAt),
    Math.round(row.seenAt),
    row.overtaken,
  ]
}

export function message(event: string, data: object): string {
  // JSON has no line break that would end the field.
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Writes the table to one page, and then what changes, until the returned function is called. */
export function streamTable(collector: Collector, clock: BoardClock, sink: Sink): () => void {
  const close = collector.open()
  let through: number | null = null
  const tell = (): void => {
    // A reader that is behind gets the changes of a longer time at once, later.
    if (!sink.isFull()) {
      const changes = collector.table.changesAfter(through)
      through = changes.through
      writeChanges(sink, changes)
      sink.write(message('state', stateOfTable(collector)))
    }
  }
  tell()
  const stop = clock.every(TELL_EVERY_MS, tell)
  return () => {
    stop()
    close()
  }
}

function writeChanges(
  sink: Sink,
  { isWhole, changed, seen, removed }: ReturnType<Collector['table']['changesAfter']>,
): void {
  if (isWhole) {
    sink.write(message('begin', {}))
  }
  for (let i = 0; i < changed.length; i += ROWS_A_MESSAGE) {
    sink.write(message('rows', { rows: changed.slice(i, i + ROWS_A_MESSAGE).map(wireRow) }))
  }
  if (seen.length > 0 || removed.length > 0) {
    const told = seen.map(({ id, leaseEndsAt, seenAt }) => {
      return [id, leaseEndsAt && Math.round(leaseEndsAt), Math.round(seenAt)]
    })
    sink.write(message('seen', { seen: told, removed }))
  }
}

export function stateOfTable(collector: Collector): BoardState {
  const { table, progress, now } = collector
  const { clients } = table
  return {
    now,
    locks: table.size,
    isFull: table.isFull,
    clients: clients.length,
    waiting: clients.reduce((sum, { waiting }) => sum + waiting, 0),
    ...progress,
  }
}
