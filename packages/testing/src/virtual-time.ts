import { AsyncResource } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import timers from 'node:timers'
import type { Runtime } from '@holdfast/core'

// Taken when this module loads, and from Node's own modules: fake timers of Jest, Vitest and node:test replace the
// globals, and must not stop the server and the clients of a test that fakes its own timers only.
const { setTimeout, clearTimeout, setImmediate } = timers
const monotonicNow = performance.now.bind(performance)
const startedAt = performance.timeOrigin
const nextTick = process.nextTick.bind(process)
const microtask = queueMicrotask
const random = Math.random

// Not in the async context of whoever happens to set a timer.
const outside = new AsyncResource('holdfast-testing')

// Turns in a row without work before time goes on: what a turn resolves may send something in the next.
const QUIET_TURNS = 3
const MOST_TURNS = 100_000

interface Timer {
  readonly dueAt: number
  readonly fire: () => void
  timeout: NodeJS.Timeout | undefined
  readonly isBackground: boolean
}

/**
 * The time of a `TestRedis` and of all clients on it. It passes as real time does, or only by `advance`; `advance` lets
 * the timers on its way fire in order, each with the time it was set for.
 */
export class VirtualTime {
  /** Its timers keep the process alive. */
  readonly runtime: Runtime
  readonly background: Runtime
  private readonly timers = new Set<Timer>()
  /** Added to the real time, or all there is of it. */
  private offsetMs = 0
  /** Work for later turns that has not been done. */
  private pending = 0
  private advancing: Promise<void> = Promise.resolve()

  constructor(private readonly isReal: boolean) {
    this.runtime = this.runtimeOf(false)
    this.background = this.runtimeOf(true)
  }

  /** Ms since an arbitrary moment; it never goes back. */
  now(): number {
    return this.isReal ? monotonicNow() + this.offsetMs : this.offsetMs
  }

  /** Ms since 1970. */
  wallNow(): number {
    return startedAt + this.now()
  }

  /** Resolves when this much time has passed, and what the timers on the way have begun is done. */
  advance(ms: number): Promise<void> {
    this.advancing = this.advancing.then(() => this.pass(ms))
    return this.advancing
  }

  /** Resolves when no command, answer or message is on its way. */
  async settle(): Promise<void> {
    let quiet = 0
    for (let turn = 0; quiet < QUIET_TURNS; turn += 1) {
      if (turn === MOST_TURNS) {
        throw new Error(`The clients of this TestRedis have not come to rest in ${MOST_TURNS} turns.`)
      }
      quiet = this.pending === 0 ? quiet + 1 : 0
      await new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
    }
  }

  private async pass(ms: number): Promise<void> {
    await this.settle()
    const end = this.now() + ms
    for (;;) {
      const next = this.soonest()
      if (!next || next.dueAt > end) {
        break
      }
      this.jumpTo(next.dueAt)
      this.fire(next)
      await this.settle()
    }
    this.jumpTo(end)
    this.rearm()
    await this.settle()
  }

  private jumpTo(moment: number): void {
    this.offsetMs += Math.max(0, moment - this.now())
  }

  private soonest(): Timer | undefined {
    let soonest: Timer | undefined
    for (const timer of this.timers) {
      // The first that was set, of two for the same moment.
      if (!soonest || timer.dueAt < soonest.dueAt) {
        soonest = timer
      }
    }
    return soonest
  }

  private setTimer(delayMs: number, fire: () => void, isBackground: boolean): { cancel(): void } {
    const dueAt = this.now() + Math.max(0, delayMs)
    const timer: Timer = { dueAt, fire, timeout: undefined, isBackground }
    this.timers.add(timer)
    this.arm(timer)
    return { cancel: () => this.forget(timer) }
  }

  private arm(timer: Timer): void {
    if (!this.isReal) {
      return
    }
    timer.timeout = outside.runInAsyncScope(() =>
      setTimeout(() => this.fire(timer), Math.max(0, timer.dueAt - this.now())),
    )
    if (timer.isBackground) {
      timer.timeout.unref()
    }
  }

  /** Real timers do not know that time has jumped. */
  private rearm(): void {
    for (const timer of this.timers) {
      clearTimeout(timer.timeout)
      this.arm(timer)
    }
  }

  private forget(timer: Timer): void {
    clearTimeout(timer.timeout)
    this.timers.delete(timer)
  }

  private fire(timer: Timer): void {
    this.forget(timer)
    outside.runInAsyncScope(timer.fire)
  }

  private runtimeOf(isBackground: boolean): Runtime {
    return {
      now: () => this.now(),
      wallNow: () => this.wallNow(),
      setTimer: (delayMs, fire) => this.setTimer(delayMs, fire, isBackground),
      afterTurn: (work) => {
        this.pending += 1
        outside.runInAsyncScope(() =>
          setImmediate(() => {
            this.pending -= 1
            work()
          }),
        )
      },
      nextTick,
      microtask,
      random,
      // An id as long as those of other clients: readers of owners go by that.
      id: () => randomBytes(16).toString('base64url').slice(0, 21),
      bytes: (count) => new Uint8Array(randomBytes(count)),
    }
  }
}
