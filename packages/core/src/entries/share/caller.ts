import type { Runtime } from '../../index.js'
import { afterAnswers, ANSWER_MS } from '../door.js'

/** The argument of the function of a call. */
export interface SharedRun {
  readonly key: string
  /**
   * Aborts with a LockLostError before another run can begin: the result is refused then. After a pause of the process other
   * code may run first, unless it reads this again. Without coordination: aborts when the client closes.
   */
  readonly signal: AbortSignal
  /** False: Redis is not reachable (`onRedisError: 'run'`), and others may run at the same time. */
  readonly coordinated: boolean
  /**
   * Asks Redis whether this run still counts; call it right before what must not happen twice.
   * @throws LockLostError it does not; RedisUnavailableError, always of a run without coordination
   */
  verify(): Promise<void>
}

/** The function of a call: it makes the result. */
export type Task<T> = (run: SharedRun) => Promise<T> | T

/**
 * Where a result comes from. `run`: this call's own function; `joined`: a run of another call; `kept`: a run that had ended
 * before this call, within `keepMs`; `stale`: the same, within `staleMs`; `uncoordinated`: a run of this process, while
 * Redis was not reachable.
 */
export type ResultSource = 'run' | 'joined' | 'kept' | 'stale' | 'uncoordinated'

/** A result, its age, and where it comes from. */
export interface SharedResult<T> {
  readonly value: T
  /** Time since the run ended, by the clock of Redis, ms. */
  readonly ageMs: number
  readonly source: ResultSource
}

/** The flight that a caller waits for, as the caller sees it. */
export interface AwaitedRun<T> {
  leave(caller: Caller<T>): void
  /** Its time to wait is over. */
  overdue(caller: Caller<T>): void
}

/** One call, until it is answered: by its flight, its deadline or its signal, whichever comes first. */
export class Caller<T> {
  readonly outcome: Promise<SharedResult<T>>
  private resolve!: (result: SharedResult<T> | Promise<SharedResult<T>>) => void
  private reject!: (error: unknown) => void
  private timer: { cancel(): void } | null = null
  private flight: AwaitedRun<T> | null = null
  readonly startedAt: number
  /** How many commands its flight had sent when it came: what they were answered may be older than an `invalidate`. */
  joinedAt = 0
  /** Told while it waits for another's run without a limit. */
  endless: { begins(): void; ends(): void } | undefined = undefined

  constructor(
    readonly task: Task<T>,
    private readonly runtime: Runtime,
    private readonly waitMs: number | undefined,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.startedAt = runtime.now()
    this.outcome = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  get waitedMs(): number {
    return this.runtime.now() - this.startedAt
  }

  get isOverdue(): boolean {
    return this.waitMs !== undefined && this.waitedMs >= this.waitMs
  }

  /** Begins to wait for the flight. */
  waitFor(flight: AwaitedRun<T>, joinedAt: number): void {
    this.flight = flight
    this.joinedAt = joinedAt
    this.signal?.addEventListener('abort', this.onAbort, { once: true })
    this.limit()
  }

  /** It waits for another's run, at most `waitMs` from its call on. */
  limit(): void {
    if (this.waitMs !== undefined) {
      this.setTimer(Math.max(0, this.waitMs - this.waitedMs))
    } else {
      this.endless?.begins()
    }
  }

  /** A wait that is shorter than a slow round trip still hears whether others run. */
  allowAnAnswer(): boolean {
    const left = ANSWER_MS - this.waitedMs
    if (left > 0) {
      this.setTimer(left)
    }
    return left > 0
  }

  /** Its own function runs, which `waitMs` is not about. */
  unlimit(): void {
    this.timer?.cancel()
    this.timer = null
    this.endless?.ends()
  }

  succeed(result: Promise<SharedResult<T>>): void {
    this.end()
    this.resolve(result)
  }

  fail(error: unknown): void {
    this.end()
    this.reject(error)
  }

  private setTimer(delayMs: number): void {
    this.timer?.cancel()
    this.timer = afterAnswers(this.runtime, delayMs, () => {
      this.timer = null
      this.flight?.overdue(this)
    })
  }

  private readonly onAbort = (): void => {
    this.flight?.leave(this)
    this.fail(this.signal?.reason)
  }

  private end(): void {
    this.unlimit()
    this.signal?.removeEventListener('abort', this.onAbort)
    this.flight = null
  }
}
