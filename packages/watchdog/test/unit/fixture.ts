import { afterEach, expect } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import {
  Watchdog,
  type Grant,
  type LeaseStore,
  type LossReason,
  type RenewableLease,
  type RenewalAnswer,
  type Watch,
  type WatchdogClock,
  type WatchdogOptions,
} from '../../src/index.js'

export const TTL = 30_000
export const INTERVAL = 10_000
/** TTL less the margin of 350 ms. */
export const TRUST = 29_650

export class FakeLease implements RenewableLease {
  readonly losses: LossReason[] = []
  readonly failures: unknown[] = []

  constructor(
    readonly name = 'job',
    readonly ttlMs = TTL,
  ) {}

  onLost(reason: LossReason): void {
    this.losses.push(reason)
  }

  onRenewalFailed(error: unknown): void {
    this.failures.push(error)
  }
}

export interface Call<A> {
  readonly leases: readonly FakeLease[]
  readonly timeoutMs: number
  readonly sentAt: number
  answer(answer: A): void
  fail(error?: unknown): void
}

/** Every call stays open until the test answers it, unless `renewWith` or `remainWith` is set. */
export class FakeStore implements LeaseStore<FakeLease> {
  readonly renewals: Call<readonly RenewalAnswer[]>[] = []
  readonly remainders: Call<number | null>[] = []
  renewWith: ((leases: readonly FakeLease[]) => readonly RenewalAnswer[]) | undefined
  remainWith: ((lease: FakeLease) => number | null) | undefined

  constructor(readonly clock: ManualClock) {}

  renew(leases: readonly FakeLease[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]> {
    return this.#open(this.renewals, leases, limits.timeoutMs, () => this.renewWith?.(leases))
  }

  remaining(lease: FakeLease, limits: { timeoutMs: number }): Promise<number | null> {
    return this.#open(this.remainders, [lease], limits.timeoutMs, () => this.remainWith?.(lease))
  }

  /** The holds of each `renew` call, in order. */
  get batches(): string[][] {
    return this.renewals.map((call) => call.leases.map((lease) => lease.name))
  }

  #open<A>(
    calls: Call<A>[],
    leases: readonly FakeLease[],
    timeoutMs: number,
    now: () => A | undefined,
  ): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      calls.push({
        leases: [...leases],
        timeoutMs,
        sentAt: this.clock.now(),
        answer: resolve,
        fail: (error = new Error('connection lost')) => reject(error),
      })
      const answer = now()
      if (answer !== undefined) resolve(answer)
    })
  }
}

export class Bench {
  readonly clock = new ManualClock()
  readonly store = new FakeStore(this.clock)
  readonly callbackErrors: unknown[] = []
  readonly dog: Watchdog<FakeLease>
  timersSet = 0
  mostTimers = 0
  random = 1

  constructor(options: Partial<WatchdogOptions> = {}) {
    const { now, wallNow } = this.clock
    const counted: WatchdogClock = { now, wallNow, setTimer: (ms, fire) => this.#setTimer(ms, fire) }
    this.dog = new Watchdog(this.store, {
      clock: counted,
      random: () => this.random,
      onCallbackError: (error) => this.callbackErrors.push(error),
      ...options,
    })
    benches.push(this)
  }

  watch(lease: FakeLease, grant: Partial<Grant> = {}): Watch {
    return this.dog.watch(lease, { sentAt: this.clock.now(), ttlMs: lease.ttlMs, renew: true, ...grant })
  }

  renewAll(): void {
    this.store.renewWith = (leases) => leases.map(() => 'renewed')
  }

  /** The answers to one renewal, and what follows from them. */
  answer(renewal: number, answers: readonly RenewalAnswer[]): Promise<void> {
    this.store.renewals[renewal]!.answer(answers)
    return this.clock.settle()
  }

  /** Answers one question about a lease: so much of it is left, or nothing. */
  remain(question: number, leftMs: number | null): Promise<void> {
    this.store.remainders[question]!.answer(leftMs)
    return this.clock.settle()
  }

  fail(renewal: number, error?: unknown): Promise<void> {
    this.store.renewals[renewal]!.fail(error)
    return this.clock.settle()
  }

  /** The longest time that a call to the store can take, so that hanging ones are abandoned. */
  async close(): Promise<void> {
    const closed = this.dog.close()
    await this.clock.advance(TTL)
    await closed
  }

  #setTimer(delayMs: number, fire: () => void): { cancel(): void } {
    this.timersSet += 1
    const timer = this.clock.setTimer(delayMs, fire)
    this.mostTimers = Math.max(this.mostTimers, this.clock.pendingTimers)
    return timer
  }
}

interface Watched {
  readonly bench: Bench
  readonly lease: FakeLease
  readonly watch: Watch
}

/** One lease, on a bench of its own. */
export function watched(grant: Partial<Grant> = {}): Watched {
  const bench = new Bench()
  const lease = new FakeLease()
  return { bench, lease, watch: bench.watch(lease, grant) }
}

/** The same, whose first renewal was sent and has no answer yet. */
export async function beingRenewed(): Promise<Watched> {
  const one = watched()
  await one.bench.clock.advance(INTERVAL)
  return one
}

const benches: Bench[] = []

/** To be called once per file: after each test no watch and no timer is left. (I5) */
export function expectNothingLeft(): void {
  afterEach(async () => {
    for (const bench of benches.splice(0)) {
      await bench.close()
      expect(bench.clock.pendingTimers).toBe(0)
      expect(bench.dog.size).toBe(0)
    }
  })
}
