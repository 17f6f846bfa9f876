import { useMemo } from 'preact/hooks'
import { Grid, type Column } from './grid.js'
import { chosenRows, FIRST_WAY, holderName, type Row, type Sorting, type SortKey } from './rows.js'
import { serverNow, type BoardStore } from './store.js'
import { counted, kindInWords, spoken } from './words.js'

export interface NowSettings {
  readonly filter: string
  readonly sorting: Sorting
}

interface Props {
  readonly store: BoardStore
  readonly settings: NowSettings
  readonly onSettings: (settings: NowSettings) => void
}

/** With so much of its lease left, or less, a lock may soon be somebody else's. */
const NEARLY_OVER = 0.25

function Holder({ row }: { row: Row }) {
  const [first] = row.holders
  if (!first) {
    return null
  }
  const others = row.holders.length - 1
  // One text: an empty one of its own is written anew each time, in every row.
  const text = [
    holderName(first),
    others > 0 ? ` and ${others} more` : '',
    first.holds > 1 ? ` × ${first.holds}` : '',
  ].join('')
  return <span title={row.holders.map(({ owner }) => owner).join('\n')}>{text}</span>
}

function HeldFor({ row }: { row: Row }) {
  const [first] = [...row.holders].sort((a, b) => a.since - b.since)
  if (!first) {
    return null
  }
  const text = spoken(serverNow() - first.since)
  return first.isSinceExact ? (
    <>{text}</>
  ) : (
    <span title="It has held the lock since before the board first saw it.">≥ {text}</span>
  )
}

export function Lease({ row }: { row: Row }) {
  if (row.leaseEndsAt === null) {
    return <>no end</>
  }
  const left = Math.max(0, row.leaseEndsAt - serverNow())
  const share = row.leaseMs > 0 ? Math.min(1, left / row.leaseMs) : 0
  return (
    <span class="lease">
      <span class={share < NEARLY_OVER ? 'bar ending' : 'bar'} aria-hidden="true">
        <span style={{ width: `${(100 * share).toFixed(1)}%` }} />
      </span>
      <span>{spoken(left)}</span>
    </span>
  )
}

function Waiters({ row }: { row: Row }) {
  if (row.waiting === 0) {
    return <span class="none">0</span>
  }
  const told = row.waiters.slice(0, 3).map(({ owner, client, since }) => {
    const wait = since === null ? '' : ` ${spoken(serverNow() - since)}`
    return `${holderName({ owner, client })}${wait}`
  })
  return (
    <span class="waiters">
      <b>{row.waiting.toLocaleString('en')}</b>
      {row.overtaken > 0 && (
        <span class="overtaken" title="More often than there are waiters: it is not served in turn.">
          first overtaken {row.overtaken} times
        </span>
      )}
      {told.length > 0 && <span>{told.join(', ')}</span>}
    </span>
  )
}

const COLUMNS: readonly Column<SortKey>[] = [
  {
    ...{ key: 'name', title: 'Lock', width: 'minmax(12rem, 2.4fr)' },
    cell: (row) => (
      <a href={addressOf(row.name)} tabIndex={-1} title={row.name}>
        {row.name}
      </a>
    ),
  },
  {
    key: 'kind',
    title: 'Kind',
    width: 'minmax(5rem, 0.9fr)',
    cell: (row) => kindInWords(row.kind, row.mode),
  },
  { key: 'holder', title: 'Holder', width: 'minmax(8rem, 1.6fr)', cell: (row) => <Holder row={row} /> },
  { key: 'since', title: 'Held for', width: '7.5rem', cell: (row) => <HeldFor row={row} /> },
  { key: 'lease', title: 'Lease left', width: '9rem', cell: (row) => <Lease row={row} /> },
  { key: 'waiting', title: 'Waiting', width: 'minmax(6rem, 1.6fr)', cell: (row) => <Waiters row={row} /> },
  {
    ...{ key: 'wait', title: 'Longest wait', width: '7.5rem' },
    cell: ({ longestWaitSince }) => (longestWaitSince === null ? '' : spoken(serverNow() - longestWaitSince)),
  },
  { key: 'age', title: 'Seen', width: '6rem', cell: ({ seenAt }) => `${spoken(serverNow() - seenAt)} ago` },
]

export const addressOf = (name: string): string => `#/lock/${encodeURIComponent(name)}`

export function NowView({ store, settings, onSettings }: Props) {
  const { filter, sorting } = settings
  const { version } = store
  const rows = useMemo(
    () => chosenRows(store.rows.values(), filter, sorting),
    [store, version, filter, sorting],
  )
  const sortBy = (key: SortKey): void => {
    const isDown = key === sorting.key ? !sorting.isDown : FIRST_WAY[key]
    onSettings({ filter, sorting: { key, isDown } })
  }
  const total = store.rows.size
  const shown =
    filter.trim() === ''
      ? counted(total, 'held lock')
      : `${rows.length.toLocaleString('en')} of ${counted(total, 'held lock')}`
  return (
    <section aria-label="Held locks" class="now">
      <div class="tools">
        <label>
          Filter{' '}
          <input
            type="search"
            value={filter}
            placeholder="a lock, holder or kind"
            onInput={(event) => onSettings({ sorting, filter: event.currentTarget.value })}
          />
        </label>
        <button
          type="button"
          onClick={() => onSettings({ filter, sorting: { key: 'waiting', isDown: true } })}
        >
          Most contended
        </button>
        <button
          type="button"
          onClick={() => onSettings({ filter, sorting: { key: 'since', isDown: false } })}
        >
          Longest held
        </button>
        <p class="count">
          {shown}
          {store.state?.isFull === true ? ', and more that are not shown' : ''}
        </p>
      </div>
      <Grid
        label="Held locks"
        columns={COLUMNS}
        rows={rows}
        sorting={sorting}
        onSort={sortBy}
        onOpen={(row) => (location.hash = addressOf(row.name))}
        empty={emptyText(store, total)}
      />
    </section>
  )
}

function emptyText({ state, connection }: BoardStore, total: number): string {
  if (total > 0) {
    return 'No held lock has this text.'
  }
  return connection === 'live' && state && state.passes > 0 ? 'No lock is held.' : 'No held lock found yet.'
}
