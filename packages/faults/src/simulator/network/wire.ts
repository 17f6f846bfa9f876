import type { SeededRandom } from '../../harness/seeded-random.js'

/** The fate of commands that are on their way when their connection breaks. */
export type Fate = { readonly kind: 'lost' } | { readonly kind: 'late'; readonly afterMs: number }

const FASTEST_MS = 0.1
const RUNS_LATE = 0.3
const LATEST_MS = 5_000
const SPLIT = 0.05

/** The network between one process and its server: how slow it is, and what is broken. */
export class Wire {
  /** No connection is made. */
  refuses = false
  /** Nothing arrives in this direction, and nothing ends. */
  swallowsUp = false
  swallowsDown = false
  /** So many of the next scripts are run, and their answers lost with the connection. */
  repliesToLose = 0
  /** So many of the next scripts are run, lose their answers, and are run again later. */
  copiesToCome = 0
  /** Every so-many-th message is lost; 0: none. */
  dropsNth = 0
  private messages = 0
  private slowestNowMs: number
  private readonly cuts = new Set<() => void>()
  private readonly healed = new Set<() => void>()

  constructor(
    private readonly chance: SeededRandom,
    /** One way. */
    private readonly slowestMs: number,
  ) {
    this.slowestNowMs = slowestMs
  }

  delayMs(): number {
    return this.chance.between(FASTEST_MS, this.slowestNowMs)
  }

  slowDown(slowestMs: number): void {
    this.slowestNowMs = slowestMs
  }

  splits(): boolean {
    return this.chance.chance(SPLIT)
  }

  fate(): Fate {
    return this.chance.chance(RUNS_LATE)
      ? { kind: 'late', afterMs: this.chance.between(0, LATEST_MS) }
      : { kind: 'lost' }
  }

  lateMs(): number {
    return this.chance.between(5, LATEST_MS)
  }

  dropsMessage(): boolean {
    this.messages += 1
    return this.dropsNth > 0 && this.messages % this.dropsNth === 0
  }

  add(cut: () => void, healed: () => void): () => void {
    this.cuts.add(cut)
    this.healed.add(healed)
    return () => {
      this.cuts.delete(cut)
      this.healed.delete(healed)
    }
  }

  /** Ends the connections that there are. */
  cut(): void {
    ;[...this.cuts].forEach((cut) => cut())
  }

  /** Brings back the state of the beginning. */
  heal(): void {
    this.refuses = false
    this.swallowsUp = false
    this.swallowsDown = false
    this.repliesToLose = 0
    this.copiesToCome = 0
    this.dropsNth = 0
    this.slowestNowMs = this.slowestMs
    ;[...this.healed].forEach((each) => each())
  }
}
