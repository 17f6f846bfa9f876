import type { Attempt, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import { unavailableOrThrow } from '../acquire/acquire-call.js'
import { LockTimeoutError } from '../errors.js'
import { publishCall, type CallPublication } from '../diagnostics/call-publication.js'
import { unansweredWait } from '../redis/failures.js'
import type { OperationStamp } from '../scripts/counter.js'
import type { Session } from '../client/session.js'
import type { CountedCommands, Subject } from './counted-commands.js'
import type { Operation } from './operations.js'
import type { ReportedWait } from '../diagnostics/wait-reporter.js'
import { limitWait, type WaitOptions } from './wait-limits.js'
import { namingKind } from './wrong-kind.js'

/** What one try found. */
export type Take<T> =
  /** `moreLeft`: the next in line may have luck, too. */
  | { readonly kind: 'taken'; readonly value: T; readonly moreLeft: boolean }
  /** `left`: so many are free, which is not enough; `retryAfterMs`: when permits end, where they do. */
  | { readonly kind: 'refused'; readonly left?: number; readonly retryAfterMs?: number }

/** Something of which permits are taken. */
export interface PermitSource<T> extends Subject {
  readonly kind: 'semaphore' | 'permit'
  readonly queue: string
  readonly topic: string
  take(stamp: OperationStamp): Promise<Take<T>>
  /** Undoes a take, whether it has run or not. */
  cancel(stamp: OperationStamp): Promise<unknown>
}

/** One call for permits, standing in the line of its name. */
export class PermitWait<T> implements ReportedWait {
  readonly startedAt: number
  /** The try that is under way, or has no answer yet. Each that was answered is followed by another operation. */
  private operation: Operation | null = null
  private over = false
  /** The latest that Redis said. */
  private permitsLeft: number | undefined = undefined
  private publication: CallPublication | null = null

  constructor(
    private readonly session: Session,
    private readonly commands: CountedCommands,
    private readonly source: PermitSource<T>,
    private readonly options: WaitOptions,
  ) {
    this.startedAt = session.clock.now()
  }

  get lockName(): string {
    return this.source.lockName
  }

  /** Null: the wait is over, and the last answer was that there are not enough. */
  async obtain(): Promise<{ readonly value: T } | null> {
    const { clock } = this.session
    this.publication = publishCall(this.session, this.source, this.startedAt)
    try {
      const obtained = await this.take()
      if (obtained) {
        this.publication?.acquired('remote', undefined, clock.now())
      } else {
        this.publication?.timedOut(undefined, clock.now())
      }
      return obtained
    } catch (error) {
      this.publication?.failed(error, this.options.signal, clock.now())
      throw error
    }
  }

  private async take(): Promise<{ readonly value: T } | null> {
    let outcome: WaitOutcome<T>
    try {
      outcome = await this.standInLine()
    } catch (error) {
      this.abandon()
      throw error
    } finally {
      this.session.waitReporter.ended(this)
    }
    if (outcome.kind === 'done') {
      this.over = true
      this.operation?.end()
      return { value: outcome.value }
    }
    this.abandon()
    if (outcome.kind === 'unavailable') {
      const { lockName, startedAt, session } = this
      const waitedMs = session.clock.now() - startedAt
      throw this.options.waitMs === 0
        ? outcome.error
        : unansweredWait(session.runner.plight, { lockName, waitedMs }, outcome.error)
    }
    return null
  }

  /** What a wait that ended without permits throws, where it has to. */
  timedOut(permits: number): LockTimeoutError {
    const { lockName, permitsLeft } = this
    const waitedMs = this.session.clock.now() - this.startedAt
    const what = `${permits} permit${permits === 1 ? '' : 's'} of semaphore`
    return new LockTimeoutError({ lockName, waitedMs, holder: undefined, permitsLeft, what })
  }

  private standInLine(): Promise<WaitOutcome<T>> {
    const { queue, topic } = this.source
    const { clock, waiter, waitReporter } = this.session
    const { publication } = this
    const wait: WaitRequest<T> = {
      queue,
      topic,
      attempt: () => this.attempt(),
      onParked: (ticket) => {
        waitReporter.parked(this, ticket)
        publication?.parked(undefined)
      },
      onWoken: publication ? () => publication.woken(clock.now()) : undefined,
    }
    return waiter.enter<T>(limitWait(wait, this.options)).outcome
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
    // The refusal may be that of a copy that ran long ago: permits that came since then would not be seen (I4).
    return operation.mayHaveCopies ? this.tryOnce() : take
  }

  private read(take: Take<T>): Attempt<T> {
    if (take.kind === 'refused') {
      this.permitsLeft = take.left
      this.publication?.refused()
      return take
    }
    if (take.moreLeft) {
      // During the attempt, so that the next in line tries as soon as this one has what it wanted.
      this.session.waiter.wake(this.source.queue)
    }
    this.publication?.succeeded(this.session.clock)
    return { kind: 'done', value: take.value }
  }

  /** Whatever a late or unanswered try may have taken goes back. */
  private abandon(): void {
    this.over = true
    if (this.operation) {
      this.commands.cancel(this.source, this.operation, (stamp) => this.source.cancel(stamp))
    }
  }
}
