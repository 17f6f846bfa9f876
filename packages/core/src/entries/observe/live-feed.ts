import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { LOCK_CHANNELS, type LockKind, type ObservedHold, type Runtime } from '../../index.js'
import { eventsText, wantedIn, type EventRow } from './live-events.js'
import { MOST_TOLD } from './report-text.js'

/** How long events are collected before they are sent, ms. */
const COLLECT_MS = 100
/** The longest time that an observer can ask for. It asks again while it follows the lock. */
const LONGEST_WANTED_MS = 60_000
/** The number of names followed at a time, of all observers together. */
const MOST_WANTED = 50

/** A hold or a wait that is there when an observer begins to look. */
export interface Present {
  readonly type: 'held' | 'waits'
  readonly owner: string
  readonly kind: LockKind
  readonly forMs: number
}

export interface FeedParts {
  readonly clientId: string
  /** With timers that do not keep the process alive. */
  readonly runtime: Runtime
  presentOf(lockName: string): readonly Present[]
  send(text: string): void
}

interface Happened {
  readonly row: EventRow
  readonly at: number
}

/**
 * Publishes the holds and waits of one client to observers, for the locks that they follow and while they follow them.
 * Without such a lock it has no subscription, so that locks publish nothing.
 */
export class LiveFeed {
  private readonly wantedUntil = new Map<string, number>()
  /** Holds that began before the lock was followed, by owner: their end is not published. */
  private readonly earlier = new Map<string, { readonly lockName: string; readonly kind: LockKind }>()
  private collected: Happened[] = []
  private timer: { cancel(): void } | null = null
  private isListening = false

  constructor(private readonly parts: FeedParts) {}

  /** A message of an observer. */
  wanted(message: string): void {
    const { names, forMs } = wantedIn(message) ?? { names: [], forMs: 0 }
    const now = this.parts.runtime.now()
    const until = now + Math.min(forMs, LONGEST_WANTED_MS)
    for (const name of names) {
      if (this.wantedUntil.has(name) || this.wantedUntil.size < MOST_WANTED) {
        const isNew = !this.wantedUntil.has(name)
        this.wantedUntil.set(name, Math.max(until, this.wantedUntil.get(name) ?? 0))
        if (isNew) {
          this.tellPresent(name, now)
        }
      }
    }
    this.listen()
  }

  wait(type: 'waits' | 'left', lockName: string, owner: string, kind: LockKind): void {
    this.add([type, lockName, owner, kind, 0, ''])
  }

  /** For a hold that began before the lock was followed. */
  lost(owner: string, reason: string): void {
    const hold = this.earlier.get(owner)
    if (hold) {
      this.earlier.delete(owner)
      this.add(['lost', hold.lockName, owner, hold.kind, 0, reason])
    }
  }

  stop(): void {
    this.wantedUntil.clear()
    this.earlier.clear()
    this.collected = []
    this.timer?.cancel()
    this.timer = null
    this.listen()
  }

  private readonly onHold = (message: unknown): void => {
    const { clientId, lockName, owner, kind, phase, outcome, reason = '' } = message as ObservedHold
    if (clientId === this.parts.clientId) {
      const type = phase === 'begun' ? 'held' : outcome === 'lost' ? 'lost' : 'released'
      this.add([type, lockName, owner, kind, 0, reason])
    }
  }

  private tellPresent(name: string, now: number): void {
    for (const { type, owner, kind, forMs } of this.parts.presentOf(name)) {
      this.collect([type, name, owner, kind, 0, ''], now - forMs)
      if (type === 'held') {
        this.earlier.set(owner, { lockName: name, kind })
      }
    }
  }

  private endEarlier(): void {
    for (const [owner, { lockName, kind }] of this.earlier) {
      const isThere = this.parts.presentOf(lockName).some((each) => each.owner === owner)
      if (!isThere || !this.wantedUntil.has(lockName)) {
        this.earlier.delete(owner)
        this.add(['released', lockName, owner, kind, 0, ''])
      }
    }
  }

  private add(row: EventRow): void {
    const now = this.parts.runtime.now()
    if (now < (this.wantedUntil.get(row[1]) ?? 0)) {
      this.collect(row, now)
    }
  }

  /** If there are more than a message has room for, the latest: the present matters more than the past. */
  private collect(row: EventRow, at: number): void {
    this.collected.push({ row, at })
    if (this.collected.length > 2 * MOST_TOLD) {
      this.collected.splice(0, MOST_TOLD)
    }
    this.schedule()
  }

  private schedule(): void {
    this.timer ??= this.parts.runtime.setTimer(COLLECT_MS, () => this.flush())
  }

  private flush(): void {
    this.timer = null
    const now = this.parts.runtime.now()
    for (const [name, until] of this.wantedUntil) {
      if (until <= now) {
        this.wantedUntil.delete(name)
      }
    }
    this.endEarlier()
    this.listen()
    const rows = this.collected.splice(0).slice(-MOST_TOLD)
    if (rows.length > 0) {
      const told = rows.map(({ row: [type, name, owner, kind, , reason], at }): EventRow => {
        return [type, name, owner, kind, Math.max(0, Math.round(now - at)), reason]
      })
      this.parts.send(eventsText(this.parts.clientId, told))
    }
    if (this.wantedUntil.size > 0) {
      this.schedule()
    }
  }

  private listen(): void {
    const isWanted = this.wantedUntil.size > 0
    if (isWanted === this.isListening) {
      return
    }
    this.isListening = isWanted
    const change = isWanted ? subscribe : unsubscribe
    change(LOCK_CHANNELS.holdBegun, this.onHold)
    change(LOCK_CHANNELS.holdEnded, this.onHold)
    if (isWanted) {
      this.schedule()
    }
  }
}
