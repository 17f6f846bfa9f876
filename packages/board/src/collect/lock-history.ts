import type { ClientReport, LockEvent, SeenLock } from '@holdfast/core/observe'
import type { Segment, Wait } from '../../page/wire.js'

type Changing<T> = { -readonly [K in keyof T]: T[K] }

interface KeptSegment extends Changing<Segment> {
  /** Told by its client, and not found by looking from time to time. */
  isTold: boolean
}

const MOST_SEGMENTS = 400
const MOST_WAITS = 400
/** A look may have been answered before an event that arrived earlier. */
const LOOK_BEHIND_MS = 1_000

/** Who held one lock when, and who waited, while a page looks on. */
export class LockHistory {
  readonly segments: KeptSegment[] = []
  readonly waits: Changing<Wait>[] = []
  private readonly openWaits = new Map<string, Changing<Wait>>()

  constructor(readonly lockName: string) {}

  /** @param sentAt when the look was sent, ms of the wall clock */
  looked(seen: SeenLock | undefined, sentAt: number, isReporting: (clientId: string) => boolean): void {
    const present = new Set(seen?.holders.map(({ owner }) => owner))
    const clients = new Set([...present].map(clientIdOf))
    for (const segment of this.segments) {
      // Within a client that tells of its holds, a lock changes hands before Redis has the new name.
      const isThere = segment.isTold ? clients.has(clientIdOf(segment.owner)) : present.has(segment.owner)
      if (segment.to === null && !isThere && segment.from < sentAt - (segment.isTold ? LOOK_BEHIND_MS : 0)) {
        Object.assign(segment, { to: sentAt, end: 'gone' })
      }
    }
    for (const holder of seen?.holders ?? []) {
      const { owner } = holder
      const isKnown = this.openOf(owner) !== undefined
      const isToldElse = isReporting(clientIdOf(owner)) && this.isLive(clientIdOf(owner))
      if (!isKnown && !isToldElse) {
        const from = holder.heldForMs === undefined ? sentAt : sentAt - holder.heldForMs
        this.begin({ owner, kind: seen?.kind ?? '', from, isTold: false })
      }
    }
  }

  happened(event: LockEvent, now: number): void {
    const at = now - event.agoMs
    const { type, owner, kind, reason, clientId } = event
    const waitKey = `${clientId} ${owner}`
    switch (type) {
      case 'held': {
        const open = this.openOf(owner)
        if (open) {
          Object.assign(open, { from: Math.min(open.from, at), isTold: true })
        } else {
          this.endLooked(clientId, at)
          this.begin({ owner, kind, from: at, isTold: true })
        }
        break
      }
      case 'released':
      case 'lost': {
        const open = this.openOf(owner)
        if (open) {
          Object.assign(open, { to: Math.max(open.from, at), end: type, reason, isTold: true })
        }
        break
      }
      case 'waits':
        this.beginWait(waitKey, { lane: clientId, from: at, to: null })
        break
      case 'left': {
        const wait = this.openWaits.get(waitKey)
        this.openWaits.delete(waitKey)
        if (wait) {
          wait.to = Math.max(wait.from, at)
        }
        break
      }
    }
  }

  /** Waits of clients that report no more. */
  keepWaitsOf(reports: readonly ClientReport[], now: number): void {
    const present = new Set(reports.map(({ clientId }) => clientId))
    for (const [key, wait] of this.openWaits) {
      if (!present.has(wait.lane)) {
        wait.to = now
        this.openWaits.delete(key)
      }
    }
  }

  private isLive(clientId: string): boolean {
    return this.segments.some(
      (each) => each.isTold && each.to === null && clientIdOf(each.owner) === clientId,
    )
  }

  /** A holder that was found by looking has the name of an earlier owner of the same client. */
  private endLooked(clientId: string, at: number): void {
    for (const segment of this.segments) {
      if (segment.to === null && !segment.isTold && segment.lane === clientId) {
        Object.assign(segment, { to: Math.max(segment.from, at), end: 'gone' })
      }
    }
  }

  private openOf(owner: string): KeptSegment | undefined {
    return this.segments.findLast((each) => each.to === null && each.owner === owner)
  }

  private begin(segment: Pick<KeptSegment, 'owner' | 'kind' | 'from' | 'isTold'>): void {
    this.segments.push({ ...segment, lane: clientIdOf(segment.owner), to: null, end: '', reason: '' })
    if (this.segments.length > MOST_SEGMENTS) {
      this.segments.splice(0, 1)
    }
  }

  private beginWait(key: string, wait: Changing<Wait>): void {
    if (!this.openWaits.has(key)) {
      this.openWaits.set(key, wait)
      this.waits.push(wait)
    }
    if (this.waits.length > MOST_WAITS) {
      this.waits.splice(0, 1)
    }
  }
}

/** The part before the thread: one client, of Holdfast or of Redisson. */
export function clientIdOf(owner: string): string {
  return owner.replace(/:\d+(:write)?$/, '')
}
