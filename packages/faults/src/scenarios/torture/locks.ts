import { setTimeout as sleep } from 'node:timers/promises'
import { nowMs } from '../../run/shared-clock.js'
import { Attempt, trust } from '../../workload/attempt.js'
import { kindOf, tokensOf } from '../../workload/lock-kinds.js'
import {
  LockSteps,
  READERS,
  waysOf,
  type LockStep,
  type LockWay,
  type Task,
} from '../../workload/lock-steps.js'
import { workMs, type CallerParts } from './workload.js'

const LONGEST_WAIT_MS = 2_500
/** How often an owner whose register is guarded writes without a look at its lock. */
const CARELESS = 0.3
const CARELESS_MS = 25

/** One caller that wants locks, in every way there is, and writes down what it was told. */
export class LockCaller {
  readonly #parts: CallerParts
  readonly #steps: LockSteps
  #attempts = 0

  constructor(parts: CallerParts) {
    this.#parts = parts
    const { locks, history, register } = parts
    this.#steps = new LockSteps({
      ...{ locks, history, countsAtOnce: true, now: nowMs },
      sleep: (ms) => sleep(ms),
      attempt: (call) => new Attempt(history, call),
      impatience: ({ abortMs }) => ({
        signal: AbortSignal.timeout(Math.round(abortMs)),
        over: () => undefined,
      }),
      trusts: (held) => trust(history, held) !== undefined,
      write: async ({ hold: { token }, lock, owner }) => {
        const decision = token === undefined ? { accepted: true } : await register.write(lock, token, owner)
        history.add('write', { lock, owner, token, ...decision })
      },
    })
  }

  async step(): Promise<void> {
    const { random, names } = this.#parts
    const lock = random.pick(names)
    const isReadWrite = kindOf(lock) === 'read-write'
    const mode = isReadWrite ? (random.chance(READERS) ? 'shared' : 'exclusive') : undefined
    const way = random.pick(waysOf(mode))
    await this.#steps.take(way, { ...this.#stepOf(lock, way), mode })
    await sleep(random.between(0, 30))
  }

  #stepOf(lock: string, way: LockWay): LockStep {
    const { name, random, leaseMs: usualMs } = this.#parts
    const isLeased = way === 'hold' && random.chance(0.3)
    const leaseMs = isLeased ? Math.round(random.between(300, usualMs)) : undefined
    return {
      ...{ id: `${name}#${(this.#attempts += 1)}`, lock, leaseMs },
      waitMs: way === 'impatient' ? LONGEST_WAIT_MS : random.between(100, LONGEST_WAIT_MS),
      abortMs: random.between(0, 200),
      tasks: Array.from({ length: random.whole(5) }, () => this.#task(lock, leaseMs)),
    }
  }

  #task(lock: string, leaseMs: number | undefined): Task {
    const { random } = this.#parts
    const isCareless = tokensOf(lock) !== undefined && random.chance(CARELESS)
    const asks = random.chance(0.8) ? 'nothing' : random.pick(['verify', 'extend'] as const)
    // A lease that is not renewed may be over by then, and another owner may have written.
    const carelessMs = random.between(0, leaseMs === undefined ? CARELESS_MS : 2 * leaseMs)
    return { ms: isCareless ? carelessMs : workMs(random), asks, isCareless }
  }
}
