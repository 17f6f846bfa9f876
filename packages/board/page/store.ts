import { leaseLeftAtLook, rowIn, type Row, type WireRow } from './rows.js'

export interface BoardState {
  readonly now: number
  readonly locks: number
  /** There are more than the board keeps. */
  readonly isFull: boolean
  /** Clients that report, and the calls that wait in them. */
  readonly clients: number
  readonly waiting: number
  readonly passes: number
  readonly keysInPass: number
  readonly passBeganAt: number
  readonly trouble: string
}

export type Connection = 'connecting' | 'live' | 'lost'

/** How far the server's clock is ahead of this machine's, ms. */
let clockAhead = 0

export function heardTime(now: number): void {
  clockAhead = now - Date.now()
}

/** The server's clock, by which all times on the page are. */
export const serverNow = (): number => Date.now() + clockAhead

/** A stream of the server. The browser connects again by itself; each time the server begins anew. */
export class Live {
  private readonly source: EventSource

  constructor(path: string, onConnection: (connection: Connection) => void) {
    this.source = new EventSource(path)
    this.source.onopen = () => onConnection('live')
    this.source.onerror = () => onConnection('lost')
  }

  on<T>(event: string, listener: (data: T) => void): this {
    this.source.addEventListener(event, (message) =>
      listener(JSON.parse((message as MessageEvent<string>).data) as T),
    )
    return this
  }

  close(): void {
    this.source.close()
  }
}

/** All rows, as the stream of the table tells them. Rows change in place: who shows them looks again when `version` is new. */
export class TableStore {
  readonly rows = new Map<number, Row>()
  state: BoardState | null = null
  canBreak = false
  connection: Connection = 'connecting'
  /** Of what rows show; and of that and their ages. */
  version = 0
  private readonly live: Live

  constructor(onChange: () => void) {
    this.live = new Live('live', (connection) => {
      this.connection = connection
      onChange()
    })
    this.live
      .on<{ now: number; canBreak: boolean }>('hello', ({ now, canBreak }) => {
        heardTime(now)
        this.canBreak = canBreak
      })
      .on('begin', () => {
        this.rows.clear()
        this.version += 1
      })
      .on<{ rows: WireRow[] }>('rows', ({ rows }) => {
        rows.forEach((wire) => this.rows.set(wire[0], rowIn(wire, this.rows.get(wire[0]))))
        this.version += 1
      })
      .on<{ seen: [number, number | null, number][]; removed: number[] }>('seen', ({ seen, removed }) => {
        for (const [id, leaseEndsAt, seenAt] of seen) {
          const row = this.rows.get(id)
          if (row) {
            Object.assign(row, { leaseEndsAt, seenAt })
            row.leaseMs = Math.max(row.leaseMs, leaseLeftAtLook(row))
          }
        }
        removed.forEach((id) => this.rows.delete(id))
        this.version += 1
      })
      .on<BoardState>('state', (state) => {
        heardTime(state.now)
        this.state = state
        onChange()
      })
  }

  close(): void {
    this.live.close()
  }
}
