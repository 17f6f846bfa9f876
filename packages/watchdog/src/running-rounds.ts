import type { WatchdogClock } from './clock.js'
import type { Question } from './question.js'
import type { RenewableLease } from './renewable-lease.js'
import { RenewalRound, type RoundHost } from './renewal-round.js'
import type { TrackedWatch } from './tracked-watch.js'

interface Running {
  readonly callEndsBy: number
  endPause(): void
}

/** All rounds under way, so that `close` can wait for the store without waiting for ever. */
export class RunningRounds<L extends RenewableLease> {
  readonly #host: RoundHost
  readonly #running = new Map<Running, Promise<void>>()

  constructor(host: RoundHost) {
    this.#host = host
  }

  /** Each chunk is a round of its own, so that one that fails or hangs delays no other. */
  start<A>(question: Question<L, A>, chunks: Iterable<readonly TrackedWatch<L>[]>): void {
    for (const chunk of chunks) {
      const round = new RenewalRound(question, chunk, this.#host)
      this.#running.set(
        round,
        round.run().finally(() => this.#running.delete(round)),
      )
    }
  }

  /** To be called when no watch is left. Abandons a call when the time it was given is over. */
  async settled(): Promise<void> {
    if (this.#running.size === 0) return
    let lastAnswerBy = -Infinity
    for (const round of this.#running.keys()) {
      round.endPause()
      lastAnswerBy = Math.max(lastAnswerBy, round.callEndsBy)
    }
    const waiting = patience(this.#host.clock, lastAnswerBy)
    await Promise.race([Promise.all(this.#running.values()), waiting.over])
    waiting.cancel()
  }
}

function patience(clock: WatchdogClock, until: number): { over: Promise<void>; cancel(): void } {
  let cancel = (): void => undefined
  const over = new Promise<void>((resolve) => {
    const timer = clock.setTimer(Math.max(0, until - clock.now()), resolve)
    cancel = () => timer.cancel()
  })
  return { over, cancel }
}
