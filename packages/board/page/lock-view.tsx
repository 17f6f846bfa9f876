import { useEffect, useState } from 'preact/hooks'
import { BreakDialog } from './break-dialog.js'
import { Lease } from './now-view.js'
import { holderName, rowIn, type Row } from './rows.js'
import { serverNow, type BoardStore } from './store.js'
import { SwimLane } from './swim-lane.js'
import type { Holder, LockState } from './wire.js'
import { counted, kindInWords, spoken } from './words.js'

interface Shown {
  readonly state: LockState | null
  readonly row: Row | null
}

export function LockView({ name, store }: { name: string; store: BoardStore }) {
  const [{ state, row }, setShown] = useState<Shown>({ state: null, row: null })
  const { canBreak } = store
  const [breaking, setBreaking] = useState<Holder | null>(null)
  const [outcome, setOutcome] = useState('')
  useEffect(() => {
    store.showLock(name, (told) => {
      setShown(({ row: before }) => {
        return { state: told, row: told.row && rowIn(told.row, before ?? undefined) }
      })
    })
  }, [store, name])
  return (
    <article class="lock" aria-labelledby="lock-name">
      <p>
        <a href="#/">All locks</a>
      </p>
      <h2 id="lock-name">{name}</h2>
      <p class="outcome" role="status">
        {outcome}
      </p>
      {state && <Facts row={row} trouble={state.trouble} canBreak={canBreak} onBreak={setBreaking} />}
      {state && (
        <section aria-label="Who held it when">
          <h3>Who held it when</h3>
          <SwimLane segments={state.segments} waits={state.waits} now={serverNow()} />
          <p class="note">{precision(row, state.reporting.length)}</p>
        </section>
      )}
      {state && <Line row={row} />}
      {state && <Losses losses={state.losses} />}
      {state && <Keys keys={state.keys} />}
      {breaking && row && (
        <BreakDialog
          name={name}
          holder={breaking}
          waiting={row.waiting}
          onDone={(text) => {
            setBreaking(null)
            setOutcome(text)
          }}
        />
      )}
    </article>
  )
}

function precision(row: Row | null, reporting: number): string {
  return row === null || reporting > 0
    ? 'Clients that report tell of each hold and wait as it happens.'
    : 'The holder’s client does not report: holds shorter than a quarter of a second may be missing.'
}

function Facts({
  row,
  trouble,
  canBreak,
  onBreak,
}: {
  row: Row | null
  trouble: string
  canBreak: boolean
  onBreak: (holder: Holder) => void
}) {
  if (!row) {
    return <p class="free">{trouble === '' ? 'The lock is free.' : trouble}</p>
  }
  return (
    <>
      <dl class="facts">
        <dt>Kind</dt>
        <dd>{kindInWords(row.kind, row.mode)}</dd>
        <dt>Lease left</dt>
        <dd>
          <Lease row={row} />
        </dd>
        <dt>Waiting</dt>
        <dd>{row.waiting.toLocaleString('en')}</dd>
        {row.token !== '' && <dt>Fencing token</dt>}
        {row.token !== '' && <dd>{row.token}</dd>}
        <dt>Seen</dt>
        <dd>{spoken(serverNow() - row.seenAt)} ago</dd>
      </dl>
      <table>
        <caption>{row.holders.length === 1 ? 'Holder' : counted(row.holders.length, 'holder')}</caption>
        <thead>
          <tr>
            <th scope="col">Client</th>
            <th scope="col">Owner</th>
            <th scope="col">Held for</th>
            <th scope="col">Holds</th>
            {canBreak && <th scope="col">Action</th>}
          </tr>
        </thead>
        <tbody>
          {row.holders.map((holder) => (
            <tr key={holder.owner}>
              <td>{holder.client || 'unknown'}</td>
              <td>
                <code>{holder.owner}</code>
              </td>
              <td>
                {holder.isSinceExact ? '' : '≥ '}
                {spoken(serverNow() - holder.since)}
              </td>
              <td>{holder.holds}</td>
              {canBreak && (
                <td>
                  {row.isUnbreakable ? (
                    'not breakable'
                  ) : (
                    <button type="button" class="danger" onClick={() => onBreak(holder)}>
                      Break<span class="unseen"> the lock of {holderName(holder)}</span>
                    </button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

function Line({ row }: { row: Row | null }) {
  if (!row || row.waiting === 0) {
    return null
  }
  const untold = row.waiting - row.waiters.length
  return (
    <section aria-label="Waiters">
      <h3>Waiters, in order</h3>
      <ol>
        {row.waiters.map(({ owner, client, since }) => (
          <li key={owner}>
            <span title={owner}>{holderName({ owner, client })}</span>
            {since === null ? '' : `, for ${spoken(serverNow() - since)}`}
          </li>
        ))}
      </ol>
      {untold > 0 && (
        <p class="note">
          {counted(untold, 'more call waits', 'more calls wait')} inside the clients, or behind these.
        </p>
      )}
    </section>
  )
}

function Losses({ losses }: { losses: LockState['losses'] }) {
  return (
    <section aria-label="Losses">
      <h3>Losses</h3>
      {losses.length === 0 ? (
        <p class="note">No client that reports has lost this lock.</p>
      ) : (
        <ul>
          {losses.map(({ owner, reason }) => (
            <li key={owner}>
              <code>{owner}</code>: {reason}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Keys({ keys }: { keys: LockState['keys'] }) {
  return (
    <section aria-label="Keys in Redis">
      <h3>Keys in Redis</h3>
      {keys.length === 0 ? (
        <p class="note">None.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Type</th>
              <th scope="col">Ends in</th>
            </tr>
          </thead>
          <tbody>
            {keys.map(({ key, type, endsAt }) => (
              <tr key={key}>
                <td>
                  <code>{key}</code>
                </td>
                <td>{type}</td>
                <td>{endsAt === null ? 'never' : spoken(endsAt - serverNow())}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
