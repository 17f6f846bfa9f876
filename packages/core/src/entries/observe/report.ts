import { type LockKind, type LockClient } from '../../index.js'
import {
  checkInteger,
  type LockServices,
  type ReportedWait,
  type EventObserver,
  observerChannels,
  reportKeys,
  sessionOf,
  checkOptions,
  type KnownKeys,
} from '../door.js'
import { LiveFeed, type Present } from './live-feed.js'
import { INTERVALS_KEPT, MOST_LOSSES, MOST_TOLD, textOf, type ReportedWaits } from './report-text.js'
import { keepReport, tell } from './scripts.js'

/** The options of `report`. */
export interface ReportOptions {
  /**
   * How often the client writes its report, ms. It lasts for three times as long. Shorter: observers see more of what
   * lasts for seconds only. Default 10,000; at least 1,000.
   */
  readonly everyMs?: number | undefined
}

const REPORT_OPTIONS: KnownKeys<ReportOptions> = { everyMs: true }
const SHORTEST_INTERVAL_MS = 1_000
const LONGEST_INTERVAL_MS = 600_000

/** A client that reports. */
export interface Reporting {
  /**
   * Ends it, and removes the report. Resolves when Redis has replied, or cannot be asked; never rejects. May be
   * called twice.
   */
  stop(): Promise<void>
}

const reporting = new WeakMap<LockServices, Reporter>()

/**
 * Lets a client say what it holds, what waits in it and what it lost, in a small key of its own in Redis: every 10 s,
 * for 30 s. Returns at once. Observers (`observe`, `@holdfast/board`) then see what Redis alone does not show: kinds
 * of locks, since when each is held, waiting calls behind the first, losses. While an observer follows a lock, the client
 * also publishes each of its holds and waits as it happens, but not the calls that were waiting before.
 * Ends with the client, or by `stop()`. A second call for the same client returns the same report.
 * @throws InvalidArgumentError
 */
export function report(locks: LockClient, options: ReportOptions = {}): Reporting {
  const session = sessionOf(locks)
  checkOptions('options', options, REPORT_OPTIONS)
  const { everyMs = 10_000 } = options
  checkInteger('everyMs', everyMs, SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS)
  session.assertOpen('')
  const running = reporting.get(session)
  if (running) {
    return running
  }
  const reporter = new Reporter(session, everyMs)
  reporting.set(session, reporter)
  reporter.start()
  return reporter
}

interface Loss {
  readonly lockName: string
  readonly owner: string
  readonly reason: string
  readonly at: number
}

class Reporter implements Reporting, EventObserver {
  private readonly waits = new Map<ReportedWait, string>()
  private readonly losses: Loss[] = []
  private readonly feed: LiveFeed
  private readonly keys: ReturnType<typeof reportKeys>
  private readonly channels: ReturnType<typeof observerChannels>
  private timer: { cancel(): void } | null = null
  private writing: Promise<void> = Promise.resolve()
  private stopped: Promise<void> | null = null
  private nextWait = 0

  constructor(
    private readonly session: LockServices,
    private readonly everyMs: number,
  ) {
    const { clientId, keyPrefix, options } = session
    this.keys = reportKeys(keyPrefix)
    this.channels = observerChannels(keyPrefix)
    this.feed = new LiveFeed({
      clientId,
      runtime: options.background,
      presentOf: (name) => this.presentOf(name),
      send: (text) => this.tellObservers(text),
    })
  }

  start(): void {
    const { events, waiter, closing } = this.session
    events.observer = this
    closing.addEventListener('abort', this.onClosing, { once: true })
    // Refused or without a connection: observers see the reports all the same, and less of what happens between them.
    waiter.topics.add(this.channels.wanted, this.onWanted).catch(() => undefined)
    this.write()
  }

  stop(): Promise<void> {
    this.stopped ??= this.end()
    return this.stopped
  }

  waitParked(given: object): void {
    const wait = given as ReportedWait
    if (wait.what === undefined) {
      const owner = `${(this.nextWait += 1)}`
      this.waits.set(wait, owner)
      this.feed.wait('waits', wait.lockName, owner, kindOf(wait))
    }
  }

  waitEnded(given: object): void {
    const wait = given as ReportedWait
    const owner = this.waits.get(wait)
    if (owner !== undefined) {
      this.waits.delete(wait)
      this.feed.wait('left', wait.lockName, owner, kindOf(wait))
    }
  }

  lost(lockName: string, owner: string, reason: string): void {
    this.losses.unshift({ lockName, owner, reason, at: this.now })
    this.losses.splice(MOST_LOSSES)
    this.feed.lost(owner, reason)
  }

  private readonly onWanted = (message: string): void => this.feed.wanted(message)

  private readonly onClosing = (): void => this.session.background.run(this.stop())

  private get now(): number {
    return this.session.runtime.now()
  }

  private async end(): Promise<void> {
    const { session, channels } = this
    reporting.delete(session)
    session.closing.removeEventListener('abort', this.onClosing)
    session.events.observer = null
    this.timer?.cancel()
    this.feed.stop()
    const unsubscribed = session.waiter.topics.remove(channels.wanted, this.onWanted)
    // After the one that is on its way, which would come back.
    await this.writing
    await this.keep(0, '').catch(() => undefined)
    await unsubscribed
  }

  private write(): void {
    const { runtime, background } = this.session.options
    // A report that Redis does not answer is late: the next one says more.
    this.writing = this.keep(INTERVALS_KEPT * this.everyMs, this.text()).catch(() => undefined)
    void this.writing.then(() => {
      if (!this.stopped) {
        // Clients that start together do not report together.
        const pauseMs = this.everyMs * (0.9 + 0.1 * runtime.random())
        this.timer = background.setTimer(pauseMs, () => this.write())
      }
    })
  }

  private keep(ttlMs: number, text: string): Promise<void> {
    const { clientId, runner } = this.session
    const { clients, reports } = this.keys
    return keepReport(runner, {
      clientsKey: clients,
      reportKey: reports + clientId,
      clientId,
      ttlMs,
      text,
    })
  }

  private text(): string {
    const { now, everyMs } = this
    const held = this.session.held.all
    const longest =
      held.length > MOST_TOLD ? held.sort((a, b) => a.lease.heldSince - b.lease.heldSince) : held
    const waits = this.waitsByName(now)
    return textOf({
      everyMs,
      held: held.length,
      holds: longest.slice(0, MOST_TOLD).map(({ lockName, owner, protocol, lease }) => {
        return { lockName, owner, kind: protocol.kind, heldMs: Math.max(0, now - lease.heldSince) }
      }),
      waiting: this.waits.size,
      waits: waits.slice(0, MOST_TOLD),
      losses: this.losses.map(({ lockName, owner, reason, at }) => {
        return { lockName, owner, reason, agoMs: now - at }
      }),
    })
  }

  private waitsByName(now: number): ReportedWaits[] {
    const byName = new Map<string, ReportedWaits>()
    for (const { lockName, startedAt } of this.waits.keys()) {
      const { count = 0, longestMs = 0 } = byName.get(lockName) ?? {}
      const waitedMs = Math.max(0, now - startedAt)
      byName.set(lockName, { lockName, count: count + 1, longestMs: Math.max(longestMs, waitedMs) })
    }
    return [...byName.values()].sort((a, b) => b.longestMs - a.longestMs)
  }

  private presentOf(name: string): readonly Present[] {
    const { now } = this
    const held = this.session.held.all
      .filter(({ lockName }) => lockName === name)
      .map(({ owner, protocol, lease }): Present => {
        return { type: 'held', owner, kind: protocol.kind, forMs: now - lease.heldSince }
      })
    const waiting = [...this.waits]
      .filter(([{ lockName }]) => lockName === name)
      .map(([wait, owner]): Present => {
        return { type: 'waits', owner, kind: kindOf(wait), forMs: now - wait.startedAt }
      })
    return [...held, ...waiting].slice(0, MOST_TOLD)
  }

  private tellObservers(text: string): void {
    const { runner } = this.session
    tell(runner, this.channels.events, text, this.keys.probe).catch(() => undefined)
  }
}

/** A wait for several locks as one is of no kind. */
function kindOf(wait: ReportedWait & { readonly protocol?: { readonly kind: LockKind } }): LockKind {
  return wait.protocol?.kind ?? 'multi'
}
