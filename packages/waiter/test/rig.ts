import { afterEach, beforeEach, expect } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import {
  type Attempt,
  type Place,
  Waiter,
  type WaiterOptions,
  type WaitOutcome,
  type WaitRequest,
} from '../src/index.js'
import { FakeWakeSource } from './fake-wake-source.js'

export const refused = (retryAfterMs?: number): Attempt<never> =>
  retryAfterMs === undefined ? { kind: 'refused' } : { kind: 'refused', retryAfterMs }
export const done = <T>(value: T): Attempt<T> => ({ kind: 'done', value })
export const unavailable = (error: unknown): Attempt<never> => ({ kind: 'unavailable', error })

/** A caller whose attempts are answered from a script, and by hand once the script is used up. */
export class Caller {
  attempts = 0
  /** Clock time of each attempt. */
  readonly attemptedAt: number[] = []
  readonly undone: string[] = []
  parked = 0
  /** The outcome of the wait, once it has settled; a rejection is `{ rejected }`. */
  result: unknown = undefined
  readonly place: Place<WaitOutcome<string>>
  private readonly inFlight: { resolve: (answer: Attempt<string>) => void; reject: (e: unknown) => void }[] =
    []

  constructor(
    private readonly clock: ManualClock,
    waiter: Waiter,
    request: Partial<WaitRequest<string>>,
    script: Attempt<string>[],
  ) {
    this.place = waiter.enter<string>({
      queue: 'q',
      topic: 't',
      attempt: () => {
        this.attempts += 1
        this.attemptedAt.push(clock.now())
        const answer = script.shift()
        if (answer) return Promise.resolve(answer)
        return new Promise((resolve, reject) => this.inFlight.push({ resolve, reject }))
      },
      undo: (value) => this.undone.push(value),
      onParked: () => (this.parked += 1),
      ...request,
    })
    this.place.outcome.then(
      (outcome) => (this.result = outcome),
      (rejected: unknown) => (this.result = { rejected }),
    )
  }

  /** Answers the oldest attempt in flight. */
  answer(answer: Attempt<string>): void {
    this.inFlight.shift()!.resolve(answer)
  }

  /** The same, and what follows from it. */
  answered(answer: Attempt<string>): Promise<void> {
    this.answer(answer)
    return this.clock.settle()
  }

  failAttempt(error: unknown): void {
    this.inFlight.shift()!.reject(error)
  }
}

/** One waiter on a manual clock and a fake source. */
export class Rig {
  readonly clock = new ManualClock(0)
  readonly source = new FakeWakeSource()
  readonly waiter: Waiter

  constructor(options: Partial<WaiterOptions> = {}) {
    this.waiter = new Waiter(this.source, { clock: this.clock, random: () => 1, ...options })
  }

  enter(request: Partial<WaitRequest<string>> = {}, ...script: Attempt<string>[]): Caller {
    return new Caller(this.clock, this.waiter, request, script)
  }

  /** A head that sleeps on a confirmed subscription: refused twice, the last time just now. */
  async sleepingHead(request: Partial<WaitRequest<string>> = {}): Promise<Caller> {
    const head = this.enter(request, refused(), refused())
    await this.clock.settle()
    expect(head.attempts).toBe(2)
    return head
  }

  async expectNothingLeft(): Promise<void> {
    await this.clock.settle()
    expect(this.waiter.size).toBe(0)
    expect(this.waiter.isWaiting('q')).toBe(false)
    expect(this.clock.pendingTimers).toBe(0)
    expect([...this.source.subscribed.keys()]).toEqual([])
    expect(this.source.breaches).toEqual([])
    await this.waiter.close(new Error('the test is over'))
    expect(this.source.resubscribedListeners.size).toBe(0)
    expect(this.clock.pendingTimers).toBe(0)
  }
}

/** That of the test that runs. */
export let rig: Rig

/** A rig for each test, after which nothing is left. */
export function useRig(): void {
  beforeEach(() => {
    rig = new Rig()
  })
  afterEach(() => rig.expectNothingLeft())
}
