import type { LockObserver, SeenLock } from '@holdfast/core/observe'
import { LockHistory } from './lock-history.js'
import { LockTable, type LookTime } from './lock-table.js'

export interface CollectorLimits {
  readonly scanKeysPerSecond: number
  readonly looksPerSecond: number
}

/** How far the search through the keys of Redis is. */
export interface Progress {
  /** Passes through all keys that are complete. */
  readonly passes: number
  /** Keys in this pass so far, about. */
  readonly keysInPass: number
  readonly passBeganAt: number
  /** Why the latest command failed: '' when it did not. */
  readonly trouble: string
}

const TICK_MS = 100
/** A look at what a page shows alone. */
const FOLLOW_EVERY_MS = 250
/** Nothing is asked for again before. */
const FRESH_MS = 1_000
const REPORTS_EVERY_MS = 2_000
const ASK_EVERY_MS = 5_000
const ASK_FOR_MS = 15_000
/** Names that wait for a look; with so many, the search waits. */
const MOST_CANDIDATES = 2_000
/** For a page that is loaded again, and for one that shows a second lock and comes back. */
const LINGER_MS = 60_000
const MOST_WAITERS_SHOWN = 50

interface Followed {
  readonly history: LockHistory
  pages: number
  lookedAt: number
  /** Why nothing is known of it; '': something is, or Redis is away. */
  trouble: string
}

/**
 * Keeps the table as Redis has it, while pages are open: searches all keys, a few at a time; asks for known locks again,
 * those seen longest ago first; reads the reports of clients; and follows the locks that a page shows alone.
 */
export class Collector {
  readonly table = new LockTable()
  private readonly candidates = new Set<string>()
  private readonly followed = new Map<string, Followed>()
  private pages = 0
  private timer: { cancel(): void } | null = null
  private isScanning = false
  private isLooking = false
  private reportsReadAt = Number.NEGATIVE_INFINITY
  private askedAt = Number.NEGATIVE_INFINITY
  private idleSince: number | null = null
  private unlisten: Promise<() => Promise<void>> | null = null
  private passEndedAt = Number.NEGATIVE_INFINITY
  private scanned = { passes: 0, keysInPass: 0, passBeganAt: 0 }
  private trouble = ''
  private isClosed = false

  constructor(
    private readonly observer: LockObserver,
    private readonly limits: CollectorLimits,
  ) {}

  get now(): number {
    return this.observer.runtime.wallNow()
  }

  /** The wall clock is for those who look, and may be set; what is due goes by the other. */
  private get times(): LookTime {
    return { seenAt: this.now, at: this.observer.runtime.now() }
  }

  get progress(): Progress {
    return { ...this.scanned, trouble: this.trouble }
  }

  /** A page begins to look. @returns what ends that */
  open(): () => void {
    this.pages += 1
    this.idleSince = null
    this.begin()
    return once(() => {
      this.pages -= 1
      this.idleSince = this.pages === 0 ? this.observer.runtime.now() : null
    })
  }

  /** A page begins to look at one lock, beside `open()`. */
  follow(name: string): { readonly history: LockHistory; end(): void } {
    const followed = this.followed.get(name) ?? {
      history: new LockHistory(name),
      pages: 0,
      lookedAt: Number.NEGATIVE_INFINITY,
      trouble: '',
    }
    followed.pages += 1
    this.followed.set(name, followed)
    this.askedAt = Number.NEGATIVE_INFINITY
    const end = once(() => {
      followed.pages -= 1
      if (followed.pages === 0) {
        this.followed.delete(name)
      }
    })
    return { history: followed.history, end }
  }

  /** Locks that pages show alone, and pages that show one of them. */
  get followedLocks(): number {
    return this.followed.size
  }

  /** Text of a page that shows this lock alone, instead of its holders; '': none. */
  troubleOf(name: string): string {
    return this.trouble === '' ? (this.followed.get(name)?.trouble ?? '') : this.trouble
  }

  followers(name: string): number {
    return this.followed.get(name)?.pages ?? 0
  }

  /** Asks Redis for one lock at once. */
  async lookAt(name: string): Promise<SeenLock | undefined> {
    const found = await this.observer.look([name], MOST_WAITERS_SHOWN)
    this.table.looked([name], found, this.times)
    return found.get(name)
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.rest()
  }

  private begin(): void {
    if (this.timer || this.isClosed) {
      return
    }
    this.scanned = { ...this.scanned, keysInPass: 0, passBeganAt: this.now }
    this.timer = this.observer.runtime.setTimer(TICK_MS, () => this.tick())
    this.unlisten ??= this.observer.listen((events) => {
      for (const event of events) {
        this.followed.get(event.lockName)?.history.happened(event, this.now)
      }
    })
    // Without messages the picture of one lock has what looks find.
    this.unlisten.catch((error: unknown) => {
      this.unlisten = null
      this.failed(error)
    })
  }

  private async rest(): Promise<void> {
    this.timer?.cancel()
    this.timer = null
    const { unlisten } = this
    this.unlisten = null
    const stop = await unlisten?.catch(() => undefined)
    await stop?.()
  }

  private tick(): void {
    const now = this.observer.runtime.now()
    if (this.idleSince !== null && now - this.idleSince > LINGER_MS) {
      void this.rest()
      return
    }
    this.timer = this.observer.runtime.setTimer(TICK_MS, () => this.tick())
    this.scan(now)
    this.look(now)
    if (now - this.reportsReadAt >= REPORTS_EVERY_MS) {
      this.reportsReadAt = now
      this.readReports().catch((error: unknown) => this.failed(error))
    }
    if (this.followed.size > 0 && now - this.askedAt >= ASK_EVERY_MS) {
      this.askedAt = now
      this.observer
        .follow([...this.followed.keys()], ASK_FOR_MS)
        .catch((error: unknown) => this.failed(error))
    }
  }

  private scan(now: number): void {
    const { keysInPass, passes } = this.scanned
    const isTooSoon = passes > 0 && keysInPass === 0 && now - this.passEndedAt < FRESH_MS
    if (this.isScanning || isTooSoon || this.candidates.size > MOST_CANDIDATES) {
      return
    }
    this.isScanning = true
    const count = Math.ceil((this.limits.scanKeysPerSecond * TICK_MS) / 1_000)
    this.observer
      .scan(count)
      .then(
        ({ names, endsPass }) => {
          this.trouble = ''
          names.filter((name) => !this.table.has(name)).forEach((name) => this.candidates.add(name))
          const { passes, keysInPass, passBeganAt } = this.scanned
          if (endsPass) {
            this.passEndedAt = this.observer.runtime.now()
          }
          this.scanned = endsPass
            ? { passes: passes + 1, keysInPass: 0, passBeganAt: this.now }
            : { passes, keysInPass: keysInPass + count, passBeganAt }
        },
        (error: unknown) => this.failed(error),
      )
      .finally(() => (this.isScanning = false))
  }

  private look(now: number): void {
    if (this.isLooking) {
      return
    }
    const most = Math.ceil((this.limits.looksPerSecond * TICK_MS) / 1_000)
    const names = this.namesToLookAt(now, most)
    if (names.length === 0) {
      return
    }
    this.isLooking = true
    this.lookAtAll(names)
      .catch((error: unknown) => this.failed(error))
      .finally(() => (this.isLooking = false))
  }

  /** Those that a page shows alone first; then half of new names and half of known ones, unless either has less. */
  private namesToLookAt(now: number, most: number): string[] {
    const names = new Set<string>()
    for (const [name, followed] of this.followed) {
      if (names.size < most && now - followed.lookedAt >= FOLLOW_EVERY_MS) {
        followed.lookedAt = now
        names.add(name)
      }
    }
    const known = [...this.table.ended(this.now, most), ...this.table.oldest(most, now - FRESH_MS)]
    const forNew = Math.max(Math.ceil(most / 2), most - names.size - known.length)
    for (const name of this.candidates) {
      if (names.size >= Math.min(most, forNew + this.followed.size)) {
        break
      }
      this.candidates.delete(name)
      names.add(name)
    }
    for (const name of known) {
      if (names.size >= most) {
        break
      }
      names.add(name)
    }
    return [...names]
  }

  private async lookAtAll(names: readonly string[]): Promise<void> {
    const sentAt = this.now
    const found = new Map(await this.observer.look(names))
    this.trouble = ''
    await Promise.all(names.map((name) => this.ask(name, found)))
    this.table.looked(names, found, this.times)
    for (const name of names) {
      this.followed
        .get(name)
        ?.history.looked(found.get(name), sentAt, (clientId) => this.table.isReporting(clientId))
    }
  }

  /** A page that shows one lock guesses nothing: any string has it, and it is not free because nobody may look. */
  private async ask(name: string, found: Map<string, SeenLock>): Promise<void> {
    const followed = this.followed.get(name)
    if (!followed) {
      return
    }
    try {
      const seen = found.get(name) ?? (await this.observer.ask(name))
      followed.trouble = ''
      if (seen) {
        found.set(name, seen)
      }
    } catch (error) {
      followed.trouble = inWords(error)
    }
  }

  private async readReports(): Promise<void> {
    const { fresh, clientIds } = await this.observer.reports()
    for (const report of fresh) {
      this.table.takeReport(report, this.now).forEach((name) => this.candidates.add(name))
    }
    this.table.keepReportsOf(clientIds)
    for (const { history } of this.followed.values()) {
      history.keepWaitsOf(this.table.clients, this.now)
    }
  }

  private failed(error: unknown): void {
    this.trouble = inWords(error)
  }
}

function inWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) {
      isDone = true
      work()
    }
  }
}
