import { AsyncResource } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { nanoid } from 'nanoid'

/**
 * Everything a client takes from its process except the connection to Redis: time, scheduling, randomness and ids. A
 * simulator that replaces it can replay a run from a seed. All times in ms.
 */
export interface Runtime {
  /** Reads the monotonic clock. */
  now(): number
  /** Reads the wall clock; only used to notice that the machine was suspended. */
  wallNow(): number
  /** Calls `fire` once after `delayMs`, unless cancelled before. */
  setTimer(delayMs: number, fire: () => void): { cancel(): void }
  /**
   * Runs `work` after the current turn of the event loop, which includes reading from connections: like
   * `setImmediate`.
   */
  afterTurn(work: () => void): void
  /** Runs `work` like `process.nextTick`: called from a promise reaction, after all pending microtasks. */
  nextTick(work: () => void): void
  /** Runs `work` in one queue with promise reactions, like `queueMicrotask`. */
  microtask(work: () => void): void
  /** Draws a number, uniform in [0, 1). */
  random(): number
  /** Makes a globally unique string of letters, digits, `_` and `-`. */
  id(): string
  /** Draws `count` unpredictable bytes. The caller owns the array. */
  bytes(count: number): Uint8Array
}

/** The source of time, replaceable in tests. */
export type Clock = Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>

// Timers made inside a user's async context would keep that request's stores alive, and run in its name.
const outside = new AsyncResource('holdfast')

class SystemTimer {
  private readonly timeout: NodeJS.Timeout

  constructor(delayMs: number, fire: () => void, background: boolean) {
    this.timeout = outside.runInAsyncScope(() => setTimeout(fire, delayMs))
    if (background) {
      this.timeout.unref()
    }
  }

  cancel(): void {
    clearTimeout(this.timeout)
  }
}

const POOL_BYTES = 4_096
let pool: Uint8Array = new Uint8Array()
let poolUsed = 0

/** Hands out slices of a larger draw, each once: a draw is a call of OpenSSL, and its size hardly matters. */
function bytes(count: number): Uint8Array {
  if (poolUsed + count > pool.length) {
    pool = randomBytes(Math.max(POOL_BYTES, count))
    poolUsed = 0
  }
  poolUsed += count
  return pool.subarray(poolUsed - count, poolUsed)
}

function systemRuntimeOf(background: boolean): Runtime {
  return {
    now: () => performance.now(),
    wallNow: () => Date.now(),
    setTimer: (delayMs, fire) => new SystemTimer(delayMs, fire, background),
    afterTurn: (work) => {
      outside.runInAsyncScope(() => setImmediate(work))
    },
    // Bound at load: a test that fakes the process's timers later must not stop the client.
    nextTick: process.nextTick.bind(process),
    microtask: queueMicrotask,
    random: () => Math.random(),
    id: () => nanoid(),
    bytes,
  }
}

/** For what a caller awaits: its timers keep the process alive. */
export const systemRuntime: Runtime = systemRuntimeOf(false)

/** For everything else: its timers do not keep the process alive. */
export const backgroundRuntime: Runtime = systemRuntimeOf(true)

const TIME = ['now', 'wallNow', 'setTimer'] as const
const METHODS = [...TIME, 'afterTurn', 'nextTick', 'microtask', 'random', 'id', 'bytes'] as const

/** @returns the rule that a runtime given as an option breaks, or null */
export function unusableRuntime(given: unknown): string | null {
  const has = (method: string): boolean => typeof (given as Record<string, unknown>)[method] === 'function'
  if (typeof given !== 'object' || given === null || !METHODS.some(has)) {
    return `a runtime with some of ${METHODS.join('(), ')}()`
  }
  if (METHODS.some((method) => method in given && !has(method))) {
    return `a runtime whose ${METHODS.find((method) => method in given && !has(method))} is a function`
  }
  // A timer of one clock and the time of another would disagree about every deadline.
  return TIME.some(has) && !TIME.every(has) ? `a runtime with all of ${TIME.join('(), ')}(), or none` : null
}

/** `base` with what is `given` replaced. */
export function runtimeWith(base: Runtime, given: Partial<Runtime>): Runtime {
  if (METHODS.every((method) => given[method])) {
    return given as Runtime
  }
  const methods = METHODS.map((method) => {
    const owner = given[method] ? given : base
    return [method, (owner[method] as () => unknown).bind(owner)]
  })
  return Object.fromEntries(methods) as Runtime
}

/**
 * Between half of `ms` and all of it, by `random` in [0, 1): spreads clients that begin at the same moment (AWS
 * Architecture Blog, "Exponential Backoff And Jitter", equal jitter).
 */
export function jittered(ms: number, random: number): number {
  return ms * (0.5 + random / 2)
}

/** Pauses between tries. */
export interface BackOff {
  readonly firstMs: number
  readonly longestMs: number
}

/** Half to all of a pause that doubles with each earlier try. @param random in [0, 1) */
export function backOffMs({ firstMs, longestMs }: BackOff, tries: number, random: number): number {
  return jittered(Math.min(firstMs * 2 ** tries, longestMs), random)
}

/** `count` random bytes as hexadecimal digits. */
export function randomHex(runtime: Pick<Runtime, 'bytes'>, count: number): string {
  return Buffer.from(runtime.bytes(count)).toString('hex')
}

/** A random integer of `count` bytes, at most 6: from 0 to 256 ** `count` - 1. */
export function randomNumber(runtime: Pick<Runtime, 'bytes'>, count: number): number {
  return runtime.bytes(count).reduce((number, byte) => number * 256 + byte, 0)
}

/** A timer that fires this late was held up by a busy process; Node's own are about 1 ms late. */
const LATE_MS = 2
const none = (): number => 0

/**
 * A timer that lets replies be read first that have already arrived: after a pause of the process, timers fire before
 * its connections are read, and Redis would seem to hang. A process that was busy may not even have written what it asks:
 * node-redis writes in a later turn of the event loop. So where the timer is late, it gives as much time again, at most
 * `mostAgainMs()`, and only once.
 */
export function afterAnswers(
  runtime: Pick<Runtime, 'now' | 'setTimer' | 'afterTurn'>,
  delayMs: number,
  fire: () => void,
  mostAgainMs: () => number = none,
): { cancel(): void } {
  const dueAt = runtime.now() + delayMs
  let isCancelled = false
  let timer = runtime.setTimer(delayMs, () =>
    runtime.afterTurn(() => {
      if (isCancelled) {
        return
      }
      const againMs = Math.min(runtime.now() - dueAt, mostAgainMs())
      if (againMs > LATE_MS) {
        timer = afterAnswers(runtime, againMs, fire)
      } else {
        fire()
      }
    }),
  )
  return {
    cancel: () => {
      isCancelled = true
      timer.cancel()
    },
  }
}
