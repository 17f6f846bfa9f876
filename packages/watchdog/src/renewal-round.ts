import pRetry from 'p-retry'
import type { WatchdogClock } from './clock.js'
import type { Asked, LeaseQuery } from './lease-query.js'
import type { RenewableLease } from './renewable-lease.js'
import type { TrackedWatch } from './tracked-watch.js'

const FIRST_PAUSE_MS = 100

/** The watchdog, as a round needs it. */
export interface RoundHost {
  readonly clock: WatchdogClock
  readonly random: () => number
  look(): void
  guard(callback: () => void): void
}

/** Makes p-retry continue. Never the store's own error: p-retry gives up on a TypeError. */
class Unanswered extends Error {}

/** Sends one query about one chunk of watches, and repeats it until each has a result or has ended. */
export class RenewalRound<L extends RenewableLease, A> {
  /** Monotonic ms by which the store must reply; in the past between two calls. Written only here. */
  callEndsBy = -Infinity
  /** The next attempt follows at once. */
  endPause = (): void => undefined

  constructor(
    private readonly question: LeaseQuery<L, A>,
    private members: readonly TrackedWatch<L>[],
    private readonly host: RoundHost,
  ) {}

  /** Marks the members as being asked about: no other round includes them. */
  enter(): this {
    for (const watch of this.members) {
      watch.enter(this)
    }
    return this
  }

  /**
   * Sends the first attempt synchronously. Resolves when nothing is left to ask.
   * @param answered called when an attempt has succeeded or failed, or there was nothing to ask
   */
  async run(answered: () => void): Promise<void> {
    // p-retry's own delay would use Node's timers and Math.random; with 0, `pause` does the waiting.
    await pRetry(() => this.attempt().finally(answered), {
      retries: Infinity,
      minTimeout: 0,
      factor: 1,
      onFailedAttempt: ({ attemptNumber }) => this.pause(attemptNumber),
    })
  }

  private async attempt(): Promise<void> {
    const sentAt = this.host.clock.now()
    const asked = this.stillAsked(sentAt)
    if (asked.length === 0) {
      return
    }
    const ttls = asked.map(({ lease }) => lease.ttlMs)
    const answers = await this.call(asked, sentAt)
    // Before any reply counts: a clock jump removes every watch from this round, whose request preceded it.
    this.host.look()
    const settled = asked.map((watch, i) =>
      this.settle(watch, { sentAt, ttlMs: ttls[i] as number }, answers[i] as A),
    )
    if (settled.includes(false)) {
      throw new Unanswered()
    }
  }

  private async call(asked: readonly TrackedWatch<L>[], sentAt: number): Promise<readonly A[]> {
    const timeoutMs = shortestIntervalMs(asked)
    this.callEndsBy = sentAt + timeoutMs
    try {
      const leases = asked.map((watch) => watch.lease)
      const answers = await this.question.ask(leases, { timeoutMs })
      if (answers.length === asked.length) {
        return answers
      }
      throw new Error(`the store gave ${answers.length} answers about ${asked.length} leases`)
    } catch (error) {
      for (const watch of asked) {
        this.report(watch, error)
      }
      throw new Unanswered()
    } finally {
      this.callEndsBy = -Infinity
    }
  }

  /** False if the outcome is still unknown. */
  private settle(watch: TrackedWatch<L>, asked: Asked, answer: A): boolean {
    if (!watch.isIn(this)) {
      return true
    }
    try {
      this.question.settle(watch, asked, answer)
    } catch (error) {
      this.report(watch, error)
      return false
    }
    watch.leave(this)
    return true
  }

  private report(watch: TrackedWatch<L>, error: unknown): void {
    if (watch.isIn(this)) {
      this.host.guard(() => watch.lease.onRenewalFailed?.(error))
    }
  }

  private stillAsked(now: number): readonly TrackedWatch<L>[] {
    const kept: TrackedWatch<L>[] = []
    for (const watch of this.members) {
      if (watch.isIn(this) && this.question.matters(watch, now)) {
        kept.push(watch)
      } else {
        watch.leave(this)
      }
    }
    this.members = kept
    return kept
  }

  private async pause(attempt: number): Promise<void> {
    const left = this.stillAsked(this.host.clock.now())
    if (left.length === 0) {
      return
    }
    const ms = Math.min(shortestIntervalMs(left) / 2, FIRST_PAUSE_MS * 2 ** (attempt - 1))
    // Jitter, because many watchdogs lose the same store at the same moment.
    const jittered = ms * (0.5 + this.host.random() / 2)
    await new Promise<void>((resolve) => {
      const timer = this.host.clock.setTimer(jittered, resolve)
      this.endPause = () => {
        timer.cancel()
        resolve()
      }
    })
  }
}

export function shortestIntervalMs(watches: readonly { intervalMs: number }[]): number {
  return watches.reduce((shortest, watch) => Math.min(shortest, watch.intervalMs), Infinity)
}
