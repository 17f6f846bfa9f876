import type { LockObserver } from '@holdfast/core/observe'
import type { LockState } from '../../page/wire.js'
import type { Collector } from '../collect/collector.js'
import type { LockHistory } from '../collect/lock-history.js'
import type { Sink } from '../http/exchange.js'
import type { BoardClock } from './board-clock.js'
import { message, stateOfTable, wireRow } from './live-table.js'

const TELL_EVERY_MS = 250
const KEYS_EVERY_MS = 2_000

/** Writes one lock to one page, and again whenever something about it changes. */
export function streamLock(
  name: string,
  parts: { readonly collector: Collector; readonly observer: LockObserver; readonly clock: BoardClock },
  sink: Sink,
): () => void {
  const { collector, observer, clock } = parts
  const close = collector.open()
  const followed = collector.follow(name)
  const { history } = followed
  let keys: LockState['keys'] = []
  let isAsking = false
  let last = ''
  const tell = (): void => {
    if (sink.isFull()) {
      return
    }
    const text = JSON.stringify(stateOf(name, collector, history, keys))
    if (text !== last) {
      sink.write(`event: lock\ndata: ${text}\n\n`)
    }
    // A page of one lock has no other stream: browsers open six to one host, for all their tabs.
    sink.write(message('state', stateOfTable(collector)))
    last = text
  }
  const askForKeys = (): void => {
    if (isAsking) {
      return
    }
    isAsking = true
    observer
      .keysOf(name)
      .then((found) => {
        keys = found
          .filter(({ type }) => type !== 'none')
          .map(({ key, type, ttlMs }) => ({ key, type, endsAt: ttlMs < 0 ? null : collector.now + ttlMs }))
      })
      // The table says what is wrong with Redis.
      .catch(() => undefined)
      .finally(() => (isAsking = false))
  }
  askForKeys()
  tell()
  const stops = [clock.every(TELL_EVERY_MS, tell), clock.every(KEYS_EVERY_MS, askForKeys)]
  return () => {
    stops.forEach((stop) => stop())
    followed.end()
    close()
  }
}

function stateOf(
  name: string,
  collector: Collector,
  { segments, waits }: LockHistory,
  keys: LockState['keys'],
): LockState {
  const { table } = collector
  const row = table.row(name)
  const losses = table.clients.flatMap(({ clientId, losses: lost }) =>
    lost
      .filter(({ lockName }) => lockName === name)
      .map(({ owner, reason }) => ({ clientId, owner, reason })),
  )
  return {
    name,
    row: row ? wireRow(row) : null,
    reporting: [...new Set(row?.holders.map(({ owner }) => owner.replace(/:\d+(:write)?$/, '')))].filter(
      (id) => table.isReporting(id),
    ),
    segments,
    waits,
    losses,
    keys,
    trouble: collector.troubleOf(name),
  }
}
