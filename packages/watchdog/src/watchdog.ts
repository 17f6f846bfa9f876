import { RenewalPlanner } from './renewal-planner.js'
import { batches } from './batches.js'
import type { WatchdogClock } from './clock.js'
import { requireGrant, type Grant } from './grant.js'
import { remainder, renewal, type LeaseQuery } from './lease-query.js'
import type { LeaseStore, RenewableLease, RenewalAnswer } from './renewable-lease.js'
import { RunningRounds } from './running-rounds.js'
import { Schedule } from './schedule.js'
import { SuspensionDetector } from './suspension-detector.js'
import { TrackedWatch, type Keeper } from './tracked-watch.js'
import type { Watch } from './watch.js'

/*
 * Keeps leases alive, and knows until when each may be trusted. The states of one watch:
 *
 *              renewed · confirm · correct
 *                     ┌──────┐
 *   watch()           │      ▼
 *  ─────────────►  TRUSTED ────── stop · lose · trust over · store says lost ──────►  ENDED
 *                   │    ▲                                                              ▲
 *  jump of the wall  │    │ any answer to a request                                      │
 *  clock, or doubt   ▼    │ sent after that                                              │
 *                  SUSPECT ─────── stop · lose · trust over · store says lost ──────────┘
 *
 * The effect of an attempt on trust (T = trusted until, counted from when the request was sent):
 *
 *   answer               TRUSTED                    SUSPECT                     ENDED
 *   renewed              T = max(T, sent + ttl')    T = sent + ttl', TRUSTED    ignored
 *   ... sent before      ignored                    ignored                     ignored
 *       the jump or doubt
 *   lost                 ENDED, onLost('refused')   ENDED, onLost('refused')    ignored
 *   unknown, rejected    T stays, asked again       T stays, asked again        ignored
 *   (ttl' = ttl less the margin)
 *
 * I3: local trust ends before the lease does. That holds because only replies extend T, because T is counted from
 * the sending, and because the clock is monotonic. That clock's one weakness is that it stops while the machine
 * sleeps; this makes every watch SUSPECT, which has no trust until the store has replied.
 *
 * When renewals are sent, so that a burst of leases is not renewed in one burst: renewal-planner.ts. None is delayed.
 */

/** How long a grant requested before a doubt may still arrive, ms: no store takes longer to reply. */
const DOUBTS_LAST_MS = 60_000

/** Requests sent before `at`, monotonic ms, prove nothing about these leases. */
interface Doubt<L> {
  readonly at: number
  readonly isDoubted: (lease: L) => boolean
}

/** Options of a watchdog. */
export interface WatchdogOptions {
  readonly clock: WatchdogClock
  /** Uniform in [0, 1), for the jitter of retries. */
  readonly random: () => number
  /** Maximum number of leases in one `renew`. Default 100. Larger: fewer calls, each of them longer. */
  readonly batchSize?: number | undefined
  /**
   * How many `renew` calls for renewals that come due together are sent one after the other, each after the reply to
   * the one before, but none later than a tenth of the interval. Default 1: calls are spread over the interval, one
   * at a time.
   */
  readonly batchesInARow?: number | undefined
  /** Receives exceptions of a lease's callback. Default: ignored, because they must not harm other leases. */
  readonly onCallbackError?: ((error: unknown) => void) | undefined
}

/** Keeps any number of leases of one store alive with one timer. */
export class Watchdog<L extends RenewableLease> {
  private readonly options: WatchdogOptions
  private readonly batchesInARow: number
  private readonly keeper: Keeper<L>
  private readonly schedule: Schedule<TrackedWatch<L>>
  private readonly agenda: RenewalPlanner<L>
  private readonly detector: SuspensionDetector
  private readonly rounds: RunningRounds<L>
  private readonly renewal: LeaseQuery<L, RenewalAnswer>
  private readonly remainder: LeaseQuery<L, number | null>
  private watched = 0
  private closing: Promise<void> | undefined
  /**
   * Recent doubts: a grant requested before a doubt is as doubtful as a lease watched at that time. All of them are
   * kept, not only the last: each concerns leases of its own, and they may arrive out of order.
   */
  private readonly doubts = new Set<Doubt<L>>()

  /**
   * Makes a watchdog of this store; sets no timer yet.
   * @throws RangeError `batchSize` or `batchesInARow` is not a whole number above 0
   */
  constructor(store: LeaseStore<L>, options: WatchdogOptions) {
    this.options = options
    const { batchSize = 100, batchesInARow = 1 } = options
    requireCount('batchSize', batchSize)
    requireCount('batchesInARow', batchesInARow)
    this.batchesInARow = batchesInARow
    const { clock, random } = options
    const guard = (callback: () => void) => this.guard(callback)
    this.detector = new SuspensionDetector(clock)
    this.schedule = new Schedule(clock, this.endOverdueTrust)
    this.agenda = new RenewalPlanner(this.schedule, {
      batchSize,
      portionSize: batchSize * batchesInARow,
      keyOf: (lease) => store.batchKey?.(lease),
    })
    this.rounds = new RunningRounds({ clock, random, guard, look: () => this.look() })
    this.renewal = renewal(store)
    this.remainder = remainder(store)
    this.keeper = {
      clock,
      guard,
      look: () => this.look(),
      schedule: this.schedule,
      verify: (watch) => this.verify([watch]),
    }
  }

  /** Number of live watches. */
  get size(): number {
    return this.schedule.size
  }

  /** Starts to watch a lease. @throws RangeError for an invalid ttl, `sentAt` or `renewForMs`; Error after `close` */
  watch(lease: L, grant: Grant): Watch {
    if (this.closing !== undefined) {
      throw new Error('the watchdog is closed: watch leases before close(), or make another')
    }
    requireGrant(lease.ttlMs, grant)
    const watch = new TrackedWatch(this.keeper, lease, grant, (this.watched += 1))
    this.schedule.add(watch)
    let provenFrom = this.detector.jumpedAt
    for (const { at, isDoubted } of this.doubts) {
      if (at > Math.max(provenFrom, grant.sentAt) && isDoubted(lease)) {
        provenFrom = at
      }
    }
    if (grant.sentAt < provenFrom) {
      // The machine slept since the request, or the store was replaced: the time left is unknown.
      watch.becomeSuspect(provenFrom)
      this.verify([watch])
    }
    return watch
  }

  /**
   * Ends every watch whose trust is over, synchronously, and sends the renewals that are due. Must be called before
   * user code is resumed: after a pause of the process, promises are resolved before timers fire. O(1) if nothing
   * is due.
   * @returns when it was done, monotonic ms: see `Watch.trustAt`
   */
  readonly endOverdueTrust = (): number => {
    this.look()
    const now = this.detector.lookedAt
    if (this.schedule.earliest > now) {
      return now
    }
    for (const watch of this.schedule.until(now)) {
      if (watch.trustOverAt(now)) {
        watch.lose('expired')
      }
    }
    for (const row of batches(this.agenda.due(now), this.batchesInARow, () => 'one row')) {
      this.rounds.startInARow(this.renewal, row)
    }
    this.agenda.plan(now)
    // A user's `onLost` may have taken long.
    return this.options.clock.now()
  }

  /**
   * Makes leases suspect because the store may have been replaced, by a replica or by one that has lost its data.
   * They are not trusted until the store, which is asked at once, has confirmed them.
   * @param at requests sent before (monotonic ms) prove nothing; default now
   *
   * @returns the number of leases
   */
  doubt(isDoubted: (lease: L) => boolean, at = this.options.clock.now()): number {
    if (this.closing !== undefined) {
      return 0
    }
    const now = this.options.clock.now()
    for (const doubt of this.doubts) {
      if (doubt.at <= now - DOUBTS_LAST_MS) {
        this.doubts.delete(doubt)
      }
    }
    this.doubts.add({ at, isDoubted })
    const doubted = this.schedule
      .until(Infinity)
      .filter((watch) => watch.provenAt < at && isDoubted(watch.lease))
    for (const watch of doubted) {
      watch.becomeSuspect(at)
    }
    this.verify(doubted.filter((watch) => !watch.trustOverAt(now)))
    return doubted.length
  }

  /**
   * Stops everything; no callback is called afterwards. Resolves when the store calls in flight have settled, or
   * their time is over. May be called twice. Leaves no timer. Never rejects.
   */
  close(): Promise<void> {
    this.closing ??= this.shutDown()
    return this.closing
  }

  private renew(watches: readonly TrackedWatch<L>[]): void {
    this.rounds.start(this.renewal, this.agenda.chunks(watches))
  }

  /** True if the machine was suspended since the last check; every live watch is then suspect. */
  private look(): boolean {
    if (!this.detector.look()) {
      return false
    }
    const now = this.detector.jumpedAt
    const living = this.schedule.until(Infinity)
    for (const watch of living) {
      watch.becomeSuspect(now)
    }
    // A watch whose trust is over is left to the timer: renewing it would only delay others.
    this.verify(living.filter((watch) => !watch.trustOverAt(now)))
    return true
  }

  private verify(watches: readonly TrackedWatch<L>[]): void {
    const now = this.options.clock.now()
    const others = watches.filter((watch) => !watch.renewsAt(now))
    this.renew(watches.filter((watch) => watch.renewsAt(now)))
    this.rounds.start(
      this.remainder,
      others.map((watch) => [watch]),
    )
  }

  private guard(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      try {
        this.options.onCallbackError?.(error)
      } catch {
        // There is nowhere to report it, and rethrown it would stop the watches that follow.
      }
    }
  }

  private async shutDown(): Promise<void> {
    for (const watch of this.schedule.until(Infinity)) {
      watch.stop()
    }
    this.schedule.cancelTimer()
    await this.rounds.settled()
  }
}

function requireCount(name: string, value: number): void {
  if (!(Number.isInteger(value) && value > 0)) {
    throw new RangeError(`${name} must be a whole number above 0, got ${value}`)
  }
}
