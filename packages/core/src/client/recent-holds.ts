import type { Clock } from '../runtime/runtime.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import type { ReleaseReply } from '../scripts/lock.js'

/** The latest turn of this client at one lock. */
interface RecentHold {
  /** For how long others come first, at most, ms. */
  readonly longestMs: number
  readonly heldMs: number
  readonly endedAt: number
  /** Whether this client hears the announcement of its own release. */
  readonly hearsItself: boolean
  /** Announcements of the lock heard since. */
  heard: number
  /** Connections of other clients that listen. */
  others: number
  /** How it ended, once the release has its reply: another waiter was granted the lock, or others were told. */
  end: 'unknown' | 'given' | 'announced'
}

interface AnnouncedLock {
  readonly key: string
  readonly announcedOn?: string | null
}

interface EndingHold {
  readonly protocol: AnnouncedLock
  readonly lease: { readonly heldSince: number }
}

interface RecentHoldsParts {
  readonly runtime: Clock
  readonly runner: Pick<ScriptRunner, 'countsSubscribers'>
  readonly waiter: { isListening(key: string): boolean }
}

// A part of the hold, so that standing back costs little of what the lock is used for.
const SHARE_OF_HOLD = 6
const LONGEST_MS = 10
/** No client stands back for shorter ones: they are over before anybody could starve. */
const SHORTEST_HOLD_MS = 6
/** Until a release has told how many listen. */
const USUAL_OTHERS = 3
const MOST_LOCKS = 1_000

/**
 * How long this client stands back, for locks that it has lately had, so that others get a turn that have waited for
 * longer, or are further away. The time is the shorter the more announcements it has heard since: nobody else's state
 * is needed, and nothing of it is in Redis. See docs/decisions/0073-nobody-starves.md.
 */
export class RecentHolds {
  private readonly byKey = new Map<string, RecentHold>()

  constructor(private readonly parts: RecentHoldsParts) {}

  /** For how many ms others come first, before the head of a line here tries. */
  standsBackMs({ key, announcedOn }: AnnouncedLock, after: 'message' | 'entering'): number {
    const turn = announcedOn ? this.byKey.get(key) : undefined
    if (!turn) {
      return 0
    }
    return after === 'message' ? this.announced(turn) : this.beforeEntering(turn)
  }

  /** The client is about to send its last release, at `now`: its own message may arrive before the reply. */
  ending({ protocol, lease }: EndingHold, now: number): void {
    const { key, announcedOn } = protocol
    const heldMs = now - lease.heldSince
    if (!announcedOn) {
      return
    }
    if (heldMs < SHORTEST_HOLD_MS) {
      if (this.byKey.size > 0) {
        this.byKey.delete(key)
      }
      return
    }
    const others = this.byKey.get(key)?.others ?? USUAL_OTHERS
    // Moved to the end: the first of the map is the oldest.
    this.byKey.delete(key)
    const hearsItself = this.parts.waiter.isListening(key)
    const longestMs = Math.min(heldMs / SHARE_OF_HOLD, LONGEST_MS)
    const heard = hearsItself ? -1 : 0
    this.byKey.set(key, { longestMs, heldMs, endedAt: now, hearsItself, heard, others, end: 'unknown' })
    if (this.byKey.size > MOST_LOCKS) {
      this.byKey.delete(this.byKey.keys().next().value as string)
    }
  }

  ended({ key, announcedOn }: AnnouncedLock, { grantedForMs, heardBy }: ReleaseReply): void {
    const turn = announcedOn ? this.byKey.get(key) : undefined
    if (!turn || !announcedOn) {
      return
    }
    if (grantedForMs !== undefined) {
      turn.end = 'given'
    } else if (heardBy !== undefined) {
      const others = heardBy - Number(turn.hearsItself)
      turn.others = this.parts.runner.countsSubscribers(announcedOn) ? others : Math.max(others, USUAL_OTHERS)
      turn.end = 'announced'
      if (turn.others <= 0) {
        this.byKey.delete(key)
      }
    }
  }

  private announced(turn: RecentHold): number {
    turn.heard += 1
    const { longestMs, heldMs, endedAt, heard, end } = turn
    if (end !== 'given' || heard > 1) {
      return longestMs * shareLeft(turn, heard)
    }
    // The lock goes round along the line, and turns between two races are announced to nobody: they are guessed from
    // the length of its own. Half of the time is kept, for whoever polls, or listens where nobody counts. Whoever hears
    // a second announcement was overtaken by somebody who does not keep to the line, and waits by the rule above.
    const turns = Math.max(heard, Math.floor((this.parts.runtime.now() - endedAt) / heldMs))
    return (longestMs * (1 + shareLeft(turn, turns))) / 2
  }

  /** Others have heard of the latest release just now. */
  private beforeEntering({ end, heard, endedAt, longestMs }: RecentHold): number {
    return end === 'announced' && heard <= 0 ? Math.max(0, endedAt + longestMs - this.parts.runtime.now()) : 0
  }
}

/** Half and more of the time, so that distance decides nothing, unless as many others as listened have had it since. */
function shareLeft({ others }: RecentHold, turns: number): number {
  return turns >= others ? 0 : 1 - turns / others / 2
}
