import type { Attempt, Place, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import { unavailableOrThrow } from '../acquire/failed-try.js'
import { LineBound } from '../acquire/line-bound.js'
import type { CallPublication } from '../diagnostics/call-publication.js'
import type { ReportedWait, WaitFacts } from '../diagnostics/wait-reporter.js'
import { LockTimeoutError } from '../errors.js'
import { unansweredWait } from '../redis/failures.js'
import type { OperationStamp } from '../scripts/counter.js'
import type { SynchronizerServices } from './services.js'
import type { CountedCommands, Subject } from './counted-commands.js'
import type { Operation } from './operations.js'
import { enterSeen, leaveSeen, type SeenPermits } from './seen-permits.js'
import { limitWait, type PermitLimits } from './wait-limits.js'
import { namingKind } from './wrong-kind.js'

/** The result of one try. */
export type Take<T> =
  | { readonly kind: 'taken'; readonly value: T; readonly left: number; readonly retryAfterMs?: number }
  /** `left`: permits that are free, fewer than wanted. `retryAfterMs`: when a permit expires. */
  | {
      readonly kind: 'refused'
      readonly left: number
      readonly retryAfterMs?: number
      /** The semaphore does not exist. */
      readonly isMissing: boolean
    }
  /** A copy of a try that was given up. */
  | { readonly kind: 'over' }

/** A semaphore, and how one call acquires its permits. */
export interface PermitSource<T> extends Subject {
  readonly kind: 'semaphore' | 'permit'
  readonly queue: string
  readonly topic: string
  /** Number of permits the call wants. */
  readonly permits: number
  take(stamp: OperationStamp): Promise<Take<T>>
  /** Undoes an acquisition, whether or not it has run. */
  cancel(stamp: OperationStamp): Promise<unknown>
}

/**
 * One call for permits. All calls of one client for one semaphore form one queue; the first that fits into what is
 * free gets it, even past callers that want more (docs/decisions/0047).
 */
export class PermitWait<T> implements ReportedWait {
  readonly startedAt: number
  /** The try in flight, or without a reply. Each answered try is followed by a new operation. */
  private operation: Operation | null = null
  private over = false
  /** Null until this call is refused, or queued behind others. */
  private seen: SeenPermits | null = null
  /** Whether this call, which has no limit, has found no semaphore. Reported once at most. */
  private hasFoundNone = false
  private publication: CallPublication | null = null
  /** Null without `maxWaiting`. */
  private bound: LineBound | null = null

  constructor(
    private readonly session: SynchronizerServices,
    private readonly commands: CountedCommands,
    private readonly source: PermitSource<T>,
    private readonly options: PermitLimits,
  ) {
    this.startedAt = session.runtime.now()
  }

  get what(): string {
    return this.source.what
  }

  get isUnlimited(): boolean {
    return this.options.isUnlimited
  }

  get lockName(): string {
    return this.source.lockName
  }

  /** @returns null: the wait is over, and the last reply was that too few permits are free */
  async obtain(): Promise<{ readonly value: T } | null> {
    const { runtime } = this.session
    this.publication = this.session.reports.begun(this.source, this.startedAt)
    try {
      const obtained = await this.take()
      if (obtained) {
        this.publication?.acquired('remote', undefined, runtime.now())
      } else {
        this.publication?.timedOut(undefined, runtime.now())
      }
      return obtained
    } catch (error) {
      this.publication?.failed(error, this.options.signal, runtime.now())
      throw error
    }
  }

  private async take(): Promise<{ readonly value: T } | null> {
    let outcome: WaitOutcome<T>
    try {
      outcome = await this.standInLine()
      if (outcome.kind === 'left' && this.bound?.busy) {
        throw this.bound.busy
      }
    } catch (error) {
      this.abandon()
      throw error
    } finally {
      this.settled()
    }
    if (outcome.kind === 'done') {
      this.over = true
      this.operation?.end()
      return { value: outcome.value }
    }
    this.abandon()
    if (outcome.kind === 'unavailable') {
      const { lockName, startedAt, session } = this
      const waitedMs = session.runtime.now() - startedAt
      throw this.options.waitMs === 0
        ? outcome.error
        : unansweredWait(session.runner.plight, { lockName, waitedMs }, outcome.error)
    }
    return null
  }

  /** The error for callers that throw when `obtain` has returned null. */
  timedOut(): LockTimeoutError {
    const { lockName, source } = this
    const waitedMs = this.session.runtime.now() - this.startedAt
    const what = `${source.permits} permit${source.permits === 1 ? '' : 's'} of semaphore`
    return new LockTimeoutError({ lockName, waitedMs, holder: undefined, what, permits: this.permits })
  }

  explain(): WaitFacts {
    return { holder: undefined, placeInLine: undefined, permits: this.permits }
  }

  private get permits(): WaitFacts['permits'] {
    const { free, isMissing = false } = this.seen ?? {}
    return { wanted: this.source.permits, free, isMissing }
  }

  private standInLine(): Promise<WaitOutcome<T>> {
    const { queue, topic, permits, lockName, key } = this.source
    const { runtime, waiter, background } = this.session
    const { publication, startedAt } = this
    const { maxWaiting, waitMs } = this.options
    if (maxWaiting !== undefined && waitMs !== 0) {
      const wanted = { lockName, key, what: 'Semaphore' }
      this.bound = new LineBound(this.session, wanted, { queue, topic }, maxWaiting)
    }
    const wait: WaitRequest<T> = {
      queue,
      topic,
      startedAt,
      wants: permits,
      attempt: () => (this.bound?.decides ? this.bound.after(this.attempt()) : this.attempt()),
      onParked: (place) => this.parked(place),
      onWoken: publication ? () => publication.woken(runtime.now()) : undefined,
    }
    const place = waiter.enter<T>(limitWait(wait, this.options))
    if (this.bound?.isFirst === false) {
      background.run(this.bound.watch(place))
    }
    return place.outcome
  }

  private async attempt(): Promise<Attempt<T>> {
    if (this.over) {
      return { kind: 'refused' }
    }
    try {
      this.publication?.trying()
      return this.read(await this.tryOnce())
    } catch (error) {
      return unavailableOrThrow(namingKind(error, this.source.what))
    }
  }

  private async tryOnce(): Promise<Take<T>> {
    const operation = (this.operation ??= this.commands.operations.begin(this.source.key))
    const take = await operation.send((stamp) => this.source.take(stamp))
    if (take.kind === 'taken' || this.over) {
      return take
    }
    operation.end()
    this.operation = null
    // The refusal may be that of a copy that ran long ago: permits released since would not be seen (I4).
    const isOld = take.kind === 'refused' && take.left >= this.source.permits
    return operation.mayHaveCopies || isOld ? this.tryOnce() : take
  }

  private read(take: Take<T>): Attempt<T> {
    switch (take.kind) {
      case 'taken':
        this.publication?.succeeded(this.session.runtime)
        return { ...take, kind: 'done' }
      case 'refused':
        this.refused(take)
        return { ...take, kind: 'refused' }
      case 'over':
        return { kind: 'refused' }
    }
  }

  private parked(place: Place<unknown>): void {
    this.see()
    this.session.reports.parked(this, place)
    this.publication?.parked(undefined)
  }

  private refused({ left, isMissing }: { readonly left: number; readonly isMissing: boolean }): void {
    this.publication?.refused()
    // A late refusal of a call that is over: an entry made for it now would never be left.
    if (this.over) {
      return
    }
    const seen = this.see()
    seen.free = left
    seen.isMissing = isMissing
    if (isMissing && !this.hasFoundNone && this.options.waitMs === undefined) {
      this.hasFoundNone = true
      this.session.missingSemaphores.add(this, seen)
    }
  }

  private see(): SeenPermits {
    this.seen ??= enterSeen(this.session, this.source.key)
    return this.seen
  }

  /** The count that was seen stays known to this call, for its time-out. */
  private settled(): void {
    this.session.reports.waits.ended(this)
    this.session.missingSemaphores.remove(this)
    if (this.seen) {
      this.seen = { ...this.seen }
      leaveSeen(this.session, this.source.key)
    }
  }

  /** Releases what a late or unanswered try may have acquired. */
  private abandon(): void {
    this.over = true
    if (this.operation) {
      this.commands.cancel(this.source, this.operation, (stamp) => this.source.cancel(stamp))
    }
  }
}
