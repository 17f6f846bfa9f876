import { leaseLeftAtLook, rowIn, type Row } from './rows.js'
import type { BoardState, LockState, WireRow } from './wire.js'

export type Connection = 'connecting' | 'live' | 'lost'

/** How far the server's clock is ahead of this machine's, ms. */
let clockAhead = 0

export function heardTime(now: number): void {
  clockAhead = now - Date.now()
}

/** The server's clock, by which all times on the page are. */
export const serverNow = (): number => Date.now() + clockAhead

/** Browsers connect again by themselves after a broken connection, but never after a reply that is no stream. */
const AGAIN_MS = 2_000

/** A stream of the server, for as long as it is wanted; each time it is connected, the server begins anew. */
export class Live {
  private source: EventSource | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly listeners: [string, (message: Event) => void][] = []

  constructor(
    private readonly path: string,
    private readonly onConnection: (connection: Connection) => void,
  ) {
    this.connect()
  }

  on<T>(event: string, listener: (data: T) => void): this {
    const heard = (message: Event): void => listener(JSON.parse((message as MessageEvent<string>).data) as T)
    this.listeners.push([event, heard])
    this.source?.addEventListener(event, heard)
    return this
  }

  close(): void {
    clearTimeout(this.timer)
    this.source?.close()
    this.source = null
  }

  private connect(): void {
    const source = new EventSource(this.path)
    this.source = source
    this.listeners.forEach(([event, heard]) => source.addEventListener(event, heard))
    source.onopen = () => this.onConnection('live')
    source.onerror = () => {
      this.onConnection('lost')
      // Refused: by whoever asks who may look, or because too many do.
      if (source.readyState === EventSource.CLOSED) {
        this.timer = setTimeout(() => this.connect(), AGAIN_MS)
      }
    }
  }
}

/**
 * What the server tells: all rows, or one lock. One stream at a time, because browsers open six connections to a host for
 * all their tabs. Rows change in place: who shows them looks again when `version` is new.
 */
export class BoardStore {
  readonly rows = new Map<number, Row>()
  state: BoardState | null = null
  canBreak = false
  connection: Connection = 'connecting'
  /** Versions: one of what rows show, one of that and their ages. */
  version = 0
  private live: Live | null = null

  constructor(private readonly onChange: () => void) {}

  showTable(): void {
    this.begin('live')
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
  }

  showLock(name: string, onLock: (told: LockState) => void): void {
    this.begin(`live?lock=${encodeURIComponent(name)}`).on('lock', onLock)
  }

  rest(): void {
    this.live?.close()
    this.live = null
  }

  private begin(path: string): Live {
    this.rest()
    this.connection = 'connecting'
    this.live = new Live(path, (connection) => {
      this.connection = connection
      this.onChange()
    })
      .on<{ now: number; canBreak: boolean }>('hello', ({ now, canBreak }) => {
        heardTime(now)
        this.canBreak = canBreak
      })
      .on<BoardState>('state', (state) => {
        heardTime(state.now)
        this.state = state
        this.onChange()
      })
    return this.live
  }
}
