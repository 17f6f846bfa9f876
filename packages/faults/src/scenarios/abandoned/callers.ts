import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AcquireOptions, Hold, Lock, LockClient } from '@holdfast/core'
import type { SeededRandom } from '../../run/random.js'

const FLOWS = 48
// No caller is ever kept waiting for this long, unless a hold was left behind.
const FAR_TOO_LONG_MS = 20_000
const KEPT_LIVES = 64
const LONGEST_WORK_MS = 2
const LONGEST_HOLD_MS = 3
const LEAST_TIMER_MS = 2

type End =
  | 'abort'
  | 'timeout'
  | 'timeout, one attempt'
  | 'abort or timeout'
  | 'abort, shared'
  | 'abort by another'
  | 'patience'

const ENDS: readonly End[] = [
  ...Array<End>(12).fill('abort'),
  ...Array<End>(5).fill('timeout'),
  ...(['timeout, one attempt', 'abort or timeout', 'abort, shared', 'abort by another', 'patience'] as const),
]

export interface CallerParts {
  readonly client: LockClient
  readonly names: readonly string[]
  readonly random: SeededRandom
}

export interface CallerFigures {
  won: number
  aborted: number
  timedOut: number
  unanswered: number
  longestMs: number
}

/** Many callers of one process for a few locks. Most of them go before they have it. */
export class AbandoningCallers {
  readonly figures: CallerFigures = { aborted: 0, timedOut: 0, won: 0, unanswered: 0, longestMs: 0 }
  readonly #parts: CallerParts
  readonly #moments = new Moments()
  /** How long patient callers took until they had it: the ends of the others are spread over that. */
  readonly #lives = [5]
  readonly #pending = new Set<() => void>()

  constructor(parts: CallerParts) {
    this.#parts = parts
  }

  async wait(times: number): Promise<void> {
    let left = times
    const flow = async (): Promise<void> => {
      while (left > 0) {
        const end = this.#parts.random.pick(ENDS)
        const calls = end === 'abort, shared' ? Math.min(3, left) : 1
        left -= calls
        await this.#call(end, calls)
      }
    }
    await Promise.all(Array.from({ length: FLOWS }, flow))
  }

  /** One call, or several that share their end. */
  async #call(end: End, calls: number): Promise<void> {
    const { random } = this.#parts
    const aborting = new AbortController()
    // A caller that goes has to be told why, with the reason that was given.
    const reason = new Error(end)
    const abort = (): void => aborting.abort(reason)
    const afterMs = random.next() * random.pick(this.#lives)
    const options = optionsFor(end, aborting.signal, afterMs)
    const callOff = end.startsWith('abort') ? this.#moments.after(afterMs, abort) : undefined
    if (end === 'abort by another') this.#pending.add(abort)
    const how = { reason, isPatient: end === 'patience' }
    const results = await Promise.allSettled(Array.from({ length: calls }, () => this.#attempt(options, how)))
    callOff?.()
    this.#pending.delete(abort)
    this.#abortAnother()
    for (const result of results) if (result.status === 'rejected') throw result.reason
    const listeners = getEventListeners(aborting.signal, 'abort').length
    if (listeners > 0) throw new Error(`${listeners} listeners stay on a signal (${end}) (I8)`)
  }

  /** In the same turn as the end of this call, which may be the one in which the other is given the lock. */
  #abortAnother(): void {
    const [abort] = this.#pending
    if (abort && this.#parts.random.chance(0.2)) abort()
  }

  async #attempt(
    options: AcquireOptions,
    { reason, isPatient }: { reason: Error; isPatient: boolean },
  ): Promise<void> {
    const { client, names, random } = this.#parts
    const lock = client.getLock(random.pick(names))
    const startedAt = performance.now()
    const won = async (hold: Hold): Promise<void> => {
      this.#note('won', startedAt)
      if (isPatient) this.#learn(performance.now() - startedAt)
      await this.#work(hold)
    }
    try {
      const go = random.pick([acquire, acquire, tryAcquire, withLock])
      const call = (): Promise<unknown> => go(lock, options, won)
      if ((await (random.chance(0.3) ? client.run(call) : call())) === null) this.#timedOut(startedAt)
    } catch (error) {
      const { code } = error as { code?: string }
      if (error === reason) this.#note('aborted', startedAt)
      else if (code === 'LOCK_TIMEOUT') this.#timedOut(startedAt)
      else if (code === 'REDIS_UNAVAILABLE') this.#note('unanswered', startedAt)
      else throw error
    }
  }

  async #work(hold: Hold): Promise<void> {
    const { random } = this.#parts
    if (random.chance(0.05)) await hold.verify()
    await sleep(random.next() * LONGEST_WORK_MS)
    hold.ensure()
  }

  #timedOut(startedAt: number): void {
    this.#note('timedOut', startedAt)
    if (performance.now() - startedAt >= FAR_TOO_LONG_MS) {
      throw new Error(
        `no lock came free for ${FAR_TOO_LONG_MS} ms: a hold was left behind, or a caller forgotten (I4)`,
      )
    }
  }

  #note(outcome: Exclude<keyof CallerFigures, 'longestMs'>, startedAt: number): void {
    this.figures[outcome] += 1
    this.figures.longestMs = Math.max(this.figures.longestMs, performance.now() - startedAt)
  }

  #learn(lifeMs: number): void {
    this.#lives.push(lifeMs)
    if (this.#lives.length > KEPT_LIVES) this.#lives.shift()
  }
}

const optionsFor = (end: End, signal: AbortSignal, afterMs: number): AcquireOptions => {
  const oneAttempt = end === 'timeout, one attempt' ? 0 : afterMs
  return {
    waitMs: end.includes('timeout') ? oneAttempt : FAR_TOO_LONG_MS,
    ...(end.startsWith('abort') && { signal }),
  }
}

type Won = (hold: Hold) => Promise<void>

const acquire = async (lock: Lock, options: AcquireOptions, won: Won): Promise<void> => {
  const hold = await lock.acquire(options)
  await won(hold)
  await release(hold)
}

/** @returns null: it was refused */
const tryAcquire = async (lock: Lock, options: AcquireOptions, won: Won): Promise<null | undefined> => {
  const hold = await lock.tryAcquire(options)
  if (!hold) return null
  await won(hold)
  await release(hold)
  return undefined
}

const withLock = (lock: Lock, options: AcquireOptions, won: Won): Promise<void> => lock.withLock(won, options)

const release = async (hold: Hold): Promise<void> => {
  const outcome = await hold.release()
  if (outcome !== 'released') throw new Error(`the release of ${hold.owner} said ${outcome} (I2)`)
}

/** Takes each lock and gives it back, again and again. */
export class Holders {
  readonly #parts: CallerParts
  #over = false
  #taken = 0
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: CallerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#over = false
    this.#taken = 0
    this.#running = Promise.all(this.#parts.names.map((name) => this.#holdAgainAndAgain(name)))
    // `stop` rejects with it.
    this.#running.catch(() => undefined)
  }

  async stop(): Promise<number> {
    this.#over = true
    await this.#running
    return this.#taken
  }

  async #holdAgainAndAgain(name: string): Promise<void> {
    const { client, random } = this.#parts
    while (!this.#over) {
      const hold = await client.getLock(name).acquire({ waitMs: FAR_TOO_LONG_MS })
      this.#taken += 1
      await sleep(random.next() * LONGEST_HOLD_MS)
      await hold.release()
      await sleep(random.next() * LONGEST_HOLD_MS)
    }
  }
}

interface Moment {
  readonly at: number
  readonly fire: () => void
  timer?: NodeJS.Timeout
}

/**
 * Calls back at any moment. A timer knows whole milliseconds and one place in a turn of the event loop, and an acquire
 * has mostly ended before the first of them.
 */
class Moments {
  readonly #near = new Set<Moment>()
  #spinning = false

  /** @returns a function that calls it off */
  after(delayMs: number, fire: () => void): () => void {
    const moment: Moment = { at: performance.now() + delayMs, fire }
    if (delayMs < LEAST_TIMER_MS) this.#watch(moment)
    else moment.timer = setTimeout(() => this.#watch(moment), delayMs - LEAST_TIMER_MS)
    return () => {
      clearTimeout(moment.timer)
      this.#near.delete(moment)
    }
  }

  #watch(moment: Moment): void {
    this.#near.add(moment)
    if (!this.#spinning) this.#spin()
  }

  #spin(): void {
    const now = performance.now()
    for (const moment of this.#near) {
      if (moment.at > now) continue
      this.#near.delete(moment)
      moment.fire()
    }
    this.#spinning = this.#near.size > 0
    if (this.#spinning) setImmediate(() => this.#spin())
  }
}
