import { LockLostError, type Hold, type ReleaseOutcome } from '../../index.js'
import { refuseLazy, type LockServices } from '../door.js'
import type { TickCommands } from './tick-commands.js'

type RunOutcome = 'done' | 'failed' | 'lost'

/**
 * One run of a task, from the acquisition of its lock to the release, which happens after `atMostForMs` at the
 * latest.
 */
export class BoundedRun {
  tick = new Date(0)
  missed: readonly Date[] = []
  readonly signal: AbortSignal
  private readonly overrun = new AbortController()
  private timer: { cancel(): void } | null = null
  private ending: Promise<ReleaseOutcome | null> | null = null

  constructor(
    readonly name: string,
    readonly hold: Hold,
    private readonly commands: TickCommands,
    private readonly session: Pick<LockServices, 'runtime' | 'releaseWaits'>,
  ) {
    this.signal = AbortSignal.any([hold.signal, this.overrun.signal])
  }

  begun(
    { tick, missed }: { tick: number; missed: readonly number[] },
    atMostForMs: number | undefined,
  ): void {
    this.tick = new Date(tick)
    this.missed = missed.map((each) => new Date(each))
    if (atMostForMs !== undefined) {
      this.timer = this.session.runtime.setTimer(atMostForMs, () => this.cutShort(atMostForMs))
    }
  }

  assertLocked(): void {
    this.signal.throwIfAborted()
    this.hold.ensure()
  }

  /** Runs the task and records its outcome. */
  async through<T>(task: () => Promise<T> | T): Promise<T> {
    let result: T
    try {
      result = refuseLazy('task', await task())
    } catch (error) {
      await this.end(this.signal.aborted ? 'lost' : 'failed', error)
      throw error
    }
    if (this.signal.aborted) {
      throw this.lossError(result)
    }
    const outcome = await this.end('done')
    if (outcome === 'lost' || (outcome === null && this.hold.isLost)) {
      throw this.lossError(result)
    }
    return result
  }

  /**
   * Records the outcome while the lock is still held, then releases it. Only the first call counts. Waits for the
   * reply as `withLock` does; null: no reply in time, or the release failed.
   */
  end(outcome?: 'done' | 'failed' | 'lost', error?: unknown): Promise<ReleaseOutcome | null> {
    this.ending ??= this.leave(outcome ?? (this.signal.aborted ? 'lost' : undefined), error)
    return this.ending
  }

  lossError(result?: unknown): LockLostError {
    const { lockName, owner, lossError } = this.hold
    const cause: unknown = lossError ?? this.overrun.signal.reason
    return new LockLostError({ lockName, owner, reason: lossError?.reason ?? 'expired', result, cause })
  }

  private leave(outcome: RunOutcome | undefined, error: unknown): Promise<ReleaseOutcome | null> {
    const { releaseWaits } = this.session
    const whenWritten = this.commands.isFinishKnown ? this.hold.whenWritten : null
    const atOnce = releaseWaits.needWrites && whenWritten !== null
    return releaseWaits.leave({ whenWritten, release: () => this.finish(outcome, error, atOnce) })
  }

  /** @param atOnce sends both in one turn: the record is there first all the same, because Redis knows its script */
  private async finish(
    outcome: RunOutcome | undefined,
    error: unknown,
    atOnce: boolean,
  ): Promise<ReleaseOutcome | null> {
    this.timer?.cancel()
    if (outcome) {
      const recorded = this.commands.finish(this.hold.owner, outcome, error)
      if (!atOnce) {
        await recorded
      }
    }
    // The lock is free when its lease ends at the latest; 'release-failed' reports it.
    return this.hold.release().catch(() => null)
  }

  private cutShort(atMostForMs: number): void {
    const { lockName, owner } = this.hold
    const cause = new Error(`The run exceeded its atMostForMs of ${atMostForMs} ms.`)
    // Aborts before another owner can acquire the lock.
    this.overrun.abort(new LockLostError({ lockName, owner, reason: 'expired', cause }))
    void this.end('lost', cause)
  }
}
