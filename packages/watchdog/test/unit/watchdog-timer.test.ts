import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import { Bench, expectNothingLeft, FakeLease, INTERVAL, TRUST, TTL } from './fixture.js'

expectNothingLeft()

describe('one timer', () => {
  it('serves all watches', async () => {
    const bench = new Bench()
    bench.renewAll()
    const random = seededRandom(7).next
    for (let count = 0; count < 500; count += 1) {
      bench.watch(new FakeLease('job', 500 + Math.floor(random() * TTL)), { renew: count % 2 === 0 })
      await bench.clock.advance(3)
    }
    await bench.clock.advance(2 * TTL)
    expect(bench.mostTimers).toBe(1)
  })

  it('a watch that comes and goes sets no timer of its own', async () => {
    const bench = new Bench()
    for (let count = 0; count < 1_000; count += 1) {
      bench.watch(new FakeLease()).stop()
      if (count % 100 === 0) await bench.clock.advance(1)
    }
    expect([bench.timersSet, bench.clock.pendingTimers]).toEqual([1, 1])
  })

  it('fires in vain when the earliest watch left, and is set for the one that is left', async () => {
    const bench = new Bench()
    const first = bench.watch(new FakeLease(), { renew: false })
    await bench.clock.advance(1_000)
    const lease = new FakeLease()
    bench.watch(lease, { renew: false })
    first.stop()
    await bench.clock.advance(TRUST - 1)
    expect([bench.timersSet, lease.losses]).toEqual([2, []])
    await bench.clock.advance(1)
    expect([bench.timersSet, lease.losses]).toEqual([2, ['expired']])
  })

  it('is not set again when nothing is left', async () => {
    const bench = new Bench()
    bench.watch(new FakeLease()).stop()
    await bench.clock.advance(INTERVAL)
    expect([bench.timersSet, bench.clock.pendingTimers]).toEqual([1, 0])
  })

  it('is set anew only for a watch that is due before the armed time', () => {
    const bench = new Bench()
    bench.watch(new FakeLease('long', TTL))
    bench.watch(new FakeLease('longer', 2 * TTL))
    expect(bench.timersSet).toBe(1)
    bench.watch(new FakeLease('short', 300))
    expect([bench.timersSet, bench.clock.pendingTimers]).toEqual([2, 1])
  })

  it('is set once after all that was due has been handled', async () => {
    const bench = new Bench()
    const lease = new FakeLease('first', 400)
    lease.onLost = () => {
      // Each of them due earlier than all before it, and than the timer that is firing.
      for (const ageMs of [1_000, 2_000, 3_000]) {
        bench.watch(new FakeLease('next', 400), { sentAt: bench.clock.now() - ageMs })
      }
    }
    bench.watch(lease, { renew: false })
    await bench.clock.advance(400)
    expect([bench.timersSet, bench.dog.size]).toEqual([2, 0])
  })

  it('a retry adds one timer per pause, and none when it is over', async () => {
    const bench = new Bench({ batchSize: 1 })
    bench.watch(new FakeLease())
    bench.watch(new FakeLease())
    await bench.clock.advance(INTERVAL)
    for (const call of bench.store.renewals) call.fail()
    await bench.clock.settle()
    expect(bench.clock.pendingTimers).toBe(3)
    bench.renewAll()
    await bench.clock.advance(100)
    expect(bench.clock.pendingTimers).toBe(1)
  })

  it('one timer of a lease longer than a timer can be is no busy loop', async () => {
    const bench = new Bench()
    const lease = new FakeLease('years', 1e12)
    bench.watch(lease, { renew: false })
    await bench.clock.advance(2 ** 31)
    expect([bench.timersSet, lease.losses]).toEqual([2, []])
  })
})

/** A store with a life of its own: what it keeps is what the trust of the watches is held against. */
class SimulatedStore {
  readonly keptUntil = new Map<FakeLease, number>()

  constructor(
    private readonly bench: Bench,
    private readonly random: () => number,
  ) {
    bench.store.renew = async (leases) => {
      await this.#travel()
      const answers = leases.map((lease) => this.#renew(lease))
      await this.#travel()
      return answers
    }
    bench.store.remaining = async (lease) => {
      await this.#travel()
      const leftMs = (this.keptUntil.get(lease) ?? 0) - this.realNow()
      await this.#travel()
      return leftMs > 0 ? leftMs : null
    }
  }

  /** The store does not sleep with the machine: its time is the wall clock. */
  realNow(): number {
    return this.bench.clock.wallNow()
  }

  #renew(lease: FakeLease): 'renewed' | 'lost' | 'unknown' {
    const kept = (this.keptUntil.get(lease) ?? 0) > this.realNow()
    const fate = this.random()
    if (fate < 0.1) return 'unknown'
    if (kept) this.keptUntil.set(lease, this.realNow() + lease.ttlMs)
    if (fate < 0.2) return 'unknown'
    return kept ? 'renewed' : 'lost'
  }

  async #travel(): Promise<void> {
    if (this.random() < 0.1) throw new Error('connection lost')
    const delayMs = Math.floor(this.random() * (this.random() < 0.2 ? 3_000 : 50))
    await new Promise<void>((resolve) => void this.bench.clock.setTimer(delayMs, resolve))
  }
}

describe('I3: whatever happens, trust ends before the lease does', () => {
  it.each([11, 12, 13, 14])('seed %i', async (seed) => {
    const random = seededRandom(seed).next
    const bench = new Bench({ batchSize: 3 })
    bench.random = 0.5
    const simulated = new SimulatedStore(bench, random)
    const alive: { lease: FakeLease; watch: ReturnType<Bench['watch']> }[] = []
    const broken: number[] = []
    for (let step = 0; step < 400; step += 1) {
      if (random() < 0.3) {
        const lease = new FakeLease('job', 300 + Math.floor(random() * 5_000))
        const sentAt = bench.clock.now()
        simulated.keptUntil.set(lease, simulated.realNow() + lease.ttlMs)
        alive.push({ lease, watch: bench.watch(lease, { sentAt, renew: random() < 0.7 }) })
      }
      const chosen = alive[Math.floor(random() * alive.length)]
      if (random() < 0.1) chosen?.watch.setRenewing(random() < 0.5)
      if (random() < 0.05) chosen?.watch.stop()
      if (random() < 0.02) bench.clock.stepWall(100 + Math.floor(random() * 5_000))
      await bench.clock.advance(Math.floor(random() * 300))
      for (const { lease, watch } of alive) {
        const keptMs = (simulated.keptUntil.get(lease) ?? 0) - simulated.realNow()
        if (watch.trustedForMs >= Math.max(keptMs, 1e-9) || lease.losses.length > 1) broken.push(step)
      }
    }
    expect(broken).toEqual([])
    expect(alive.some(({ lease }) => lease.losses.includes('expired'))).toBe(true)
  })
})
