import type { Runtime } from '@holdfast/core'
import type { SeededRandom } from '../../harness/seeded-random.js'
import type { World } from './world.js'

const STARTED_AT = Date.UTC(2026, 0, 1)
// Node rounds delays down to whole ms, fires from its loop's clock, which is behind, and comes late when it has work.
const EARLIEST_MS = -0.5
const LATEST_MS = 1.5
const LONGEST_TIMER_MS = 2 ** 31 - 1
const ID_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'
const ID_LENGTH = 21

/** Sources that wake a process: its timers, or its connections. */
type Source = 'timer' | 'connection'

/** A delivery of a connection to a process: the so-many-th, a moment before or after the process takes it. */
export interface Arrival {
  readonly count: number
  readonly side: 'before' | 'after'
}

/** One process of a fleet: its clocks, its timers, its chance. It can stand still, and die. */
export class Process {
  readonly runtime: Runtime
  isDead = false
  /** How many of its timers are to fire. */
  timersSet = 0
  /** How many connections it has made. */
  linksMade = 0
  private isPaused = false
  private wallStepMs = 0
  private readonly missed: { readonly source: Source; readonly run: () => void }[] = []
  private readonly arrivals = new Set<(side: Arrival['side']) => void>()
  private readonly onDeath: (() => void)[] = []

  constructor(
    readonly world: World,
    readonly name: string,
    private readonly chance: SeededRandom,
    /** How many ms its monotonic clock counts in one ms of the world. */
    private readonly rate = 1,
  ) {
    this.runtime = this.itsRuntime()
  }

  get nowMs(): number {
    return this.world.nowMs * this.rate
  }

  /** How long the world takes for what this process takes for so many ms. */
  readonly toWorldMs = (ms: number): number => ms / this.rate

  /** By a timer of its own. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.runtime.setTimer(ms, resolve))
  }

  /** Runs at once what a timer or a connection has for it; when it stands still, afterwards; when it is dead, never. */
  wake(source: Source, run: () => void): void {
    if (this.isDead) return
    if (this.isPaused) this.missed.push({ source, run })
    else if (source === 'connection') this.take(run)
    else run()
  }

  /**
   * Runs this once, in the turn in which its connections have something for it for the so-many-th time.
   * @returns what stops it
   */
  readonly onArrival = ({ count, side }: Arrival, run: () => void): (() => void) => {
    let left = count
    const arrived = (now: Arrival['side']): void => {
      if (now !== side) return
      left -= 1
      if (left === 0) {
        this.arrivals.delete(arrived)
        run()
      }
    }
    this.arrivals.add(arrived)
    return () => this.arrivals.delete(arrived)
  }

  private take(run: () => void): void {
    for (const each of [...this.arrivals]) each('before')
    run()
    for (const each of [...this.arrivals]) each('after')
  }

  pause(): void {
    this.isPaused = true
  }

  /** Goes on: each thing that was missed in a turn of its own, timers first or connections first. */
  resume(): void {
    this.isPaused = false
    const first: Source = this.chance.chance(0.7) ? 'timer' : 'connection'
    const missed = this.missed.splice(0)
    const inTurns = [
      ...missed.filter(({ source }) => source === first),
      ...missed.filter(({ source }) => source !== first),
    ]
    for (const { source, run } of inTurns) this.world.after(0, () => this.wake(source, run))
  }

  die(): void {
    this.isDead = true
    this.onDeath.splice(0).forEach((each) => each())
  }

  whenDead(run: () => void): void {
    this.onDeath.push(run)
  }

  /** Its wall clock is set. */
  stepWallClock(byMs: number): void {
    this.wallStepMs += byMs
  }

  private setTimer(delayMs: number, fire: () => void): { cancel(): void } {
    const whole = delayMs >= 1 && delayMs <= LONGEST_TIMER_MS ? Math.trunc(delayMs) : 1
    let isSet = true
    this.timersSet += 1
    const unset = (): void => {
      this.timersSet -= isSet ? 1 : 0
      isSet = false
    }
    const afterMs = whole / this.rate + this.chance.between(EARLIEST_MS, LATEST_MS)
    const planned = this.world.after(afterMs, () =>
      this.wake('timer', () => {
        if (isSet) {
          unset()
          fire()
        }
      }),
    )
    return {
      cancel: () => {
        unset()
        planned.cancel()
      },
    }
  }

  private itsRuntime(): Runtime {
    const { chance, world } = this
    const nextByte = (): number => chance.whole(256)
    return {
      now: () => this.nowMs,
      wallNow: () => STARTED_AT + this.nowMs + this.wallStepMs,
      setTimer: (delayMs, fire) => this.setTimer(delayMs, fire),
      afterTurn: (work) => world.afterTurn(work),
      nextTick: process.nextTick.bind(process),
      microtask: queueMicrotask,
      random: chance.next,
      id: () => Array.from({ length: ID_LENGTH }, () => ID_LETTERS[chance.whole(ID_LETTERS.length)]).join(''),
      bytes: (count) => Uint8Array.from({ length: count }, nextByte),
    }
  }
}
