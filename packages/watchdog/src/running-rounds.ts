import type { WatchdogClock } from './clock.js'
import type { LeaseQuery } from './lease-query.js'
import type { RenewableLease } from './renewable-lease.js'
import { RenewalRound, shortestIntervalMs, type RoundHost } from './renewal-round.js'
import type { TrackedWatch } from './tracked-watch.js'

/** Fraction of the interval after which the rest of a row is sent at once. */
const PART_FOR_A_ROW = 0.1

interface Running {
  readonly callEndsBy: number
  endPause(): void
}

/** All rounds in progress, so that `close` can wait for the store, but not without limit. */
export class RunningRounds<L extends RenewableLease> {
  private readonly running = new Map<Running, Promise<void>>()
  /** Pauses of rows between two of their rounds. */
  private readonly delays = new Set<Delay>()

  constructor(private readonly host: RoundHost) {}

  /** Runs each chunk as a round of its own: one that fails or hangs delays no other. */
  start<A>(question: LeaseQuery<L, A>, chunks: Iterable<readonly TrackedWatch<L>[]>): void {
    for (const chunk of chunks) {
      this.run(this.round(question, chunk), () => undefined)
    }
  }

  /**
   * Sends each chunk after the first reply to the one before, but none later than a tenth of the interval from now.
   */
  startInARow<A>(question: LeaseQuery<L, A>, chunks: readonly (readonly TrackedWatch<L>[])[]): void {
    const until = this.host.clock.now() + shortestIntervalMs(chunks.flat()) * PART_FOR_A_ROW
    // All rounds are created first: the next check for due watches would otherwise include watches without a round.
    const rounds = chunks.map((chunk) => this.round(question, chunk))
    void this.runInARow(rounds, until)
  }

  private async runInARow<A>(rounds: readonly RenewalRound<L, A>[], until: number): Promise<void> {
    const { clock } = this.host
    for (const [index, round] of rounds.entries()) {
      const answered = new Promise<void>((resolve) => this.run(round, resolve))
      if (index === rounds.length - 1 || clock.now() >= until) {
        continue
      }
      const waiting = delayUntil(clock, until)
      this.delays.add(waiting)
      await Promise.race([answered, waiting.over])
      this.delays.delete(waiting)
      waiting.cancel()
    }
  }

  private round<A>(question: LeaseQuery<L, A>, chunk: readonly TrackedWatch<L>[]): RenewalRound<L, A> {
    return new RenewalRound(question, chunk, this.host).enter()
  }

  private run<A>(round: RenewalRound<L, A>, answered: () => void): void {
    this.running.set(
      round,
      round.run(answered).finally(() => this.running.delete(round)),
    )
  }

  /** Must be called when no watch is left. Abandons a call when its time is over. */
  async settled(): Promise<void> {
    for (const waiting of this.delays) {
      waiting.cancel()
    }
    if (this.running.size === 0) {
      return
    }
    let lastAnswerBy = -Infinity
    for (const round of this.running.keys()) {
      round.endPause()
      lastAnswerBy = Math.max(lastAnswerBy, round.callEndsBy)
    }
    const waiting = delayUntil(this.host.clock, lastAnswerBy)
    await Promise.race([Promise.all(this.running.values()), waiting.over])
    waiting.cancel()
  }
}

interface Delay {
  readonly over: Promise<void>
  cancel(): void
}

function delayUntil(clock: WatchdogClock, until: number): Delay {
  let cancel = (): void => undefined
  const over = new Promise<void>((resolve) => {
    const timer = clock.setTimer(Math.max(0, until - clock.now()), resolve)
    cancel = () => timer.cancel()
  })
  return { over, cancel }
}
