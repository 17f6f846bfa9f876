import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import type { Watch } from '../../src/index.js'
import { Bench, expectNothingLeft, FakeLease, INTERVAL, TRUST, TTL } from './fixture.js'

expectNothingLeft()

const BATCH = 100

/** Every lease notes how long after the last one each of its renewals was sent. */
class Fleet {
  readonly bench: Bench
  readonly leases: FakeLease[] = []
  readonly startedAt: number
  readonly ages: number[] = []
  readonly #sentAt = new Map<FakeLease, number>()
  readonly #leaseOf = new Map<Watch, FakeLease>()

  constructor(keyOf?: (lease: FakeLease) => string) {
    this.bench = new Bench({ batchSize: BATCH })
    this.startedAt = this.bench.clock.now()
    if (keyOf !== undefined) Object.assign(this.bench.store, { batchKey: keyOf })
    this.bench.store.renewWith = (leases) => {
      const now = this.bench.clock.now()
      for (const lease of leases) {
        this.ages.push(now - this.#sentAt.get(lease)!)
        this.#sentAt.set(lease, now)
      }
      return leases.map(() => 'renewed')
    }
  }

  take(count: number, ttlMs = TTL) {
    return Array.from({ length: count }, () => {
      const lease = new FakeLease(`${this.leases.length}`, ttlMs)
      this.leases.push(lease)
      this.#sentAt.set(lease, this.bench.clock.now())
      const watch = this.bench.watch(lease)
      this.#leaseOf.set(watch, lease)
      return watch
    })
  }

  /** Changes the lease like an owner who has extended or re-entered. */
  confirm(watch: Watch) {
    const lease = this.#leaseOf.get(watch)!
    this.#sentAt.set(lease, this.bench.clock.now())
    watch.confirm(this.bench.clock.now(), lease.ttlMs)
  }

  /** Sizes of the calls between two moments, ms since the start, by when they were sent. */
  callsBetween(from: number, to: number): Map<number, number[]> {
    const calls = new Map<number, number[]>()
    for (const { sentAt, leases } of this.bench.store.renewals) {
      const at = sentAt - this.startedAt
      if (at >= from && at < to) calls.set(at, [...(calls.get(at) ?? []), leases.length])
    }
    return calls
  }

  get lost(): number {
    return this.leases.reduce((sum, lease) => sum + lease.losses.length, 0)
  }
}

const sum = (values: Iterable<number>) => [...values].reduce((total, each) => total + each, 0)

/** Longest time between two moments at which something is sent. */
const widestGap = (calls: Map<number, number[]>) => {
  const at = [...calls.keys()].sort((a, b) => a - b)
  return Math.max(...at.slice(1).map((each, i) => each - at[i]!))
}

describe('leases that were taken in one burst', () => {
  it('10,000: one full chunk at a time, all over the second half of the first interval, and then over the whole', async () => {
    const fleet = new Fleet()
    fleet.take(10_000)
    await fleet.bench.clock.advance(6 * INTERVAL)
    const first = fleet.callsBetween(0, INTERVAL + 1)
    expect([...first.values()].every((sizes) => sizes.length === 1 && sizes[0] === BATCH)).toBe(true)
    expect([first.size, Math.min(...first.keys())]).toEqual([100, 5_050])
    expect(widestGap(first)).toBeLessThanOrEqual(51)
    const later = fleet.callsBetween(4 * INTERVAL, 5 * INTERVAL)
    expect([...later.values()].every((sizes) => sizes.length === 1)).toBe(true)
    expect(sum([...later.values()].flat())).toBe(10_000)
    // The chunks are as far apart as can be: 100 in 10 s.
    expect(widestGap(later)).toBeLessThanOrEqual(110)
    expect([fleet.lost, Math.max(...fleet.ages), fleet.bench.mostTimers]).toEqual([0, INTERVAL, 1])
    expect(Math.min(...fleet.ages)).toBeGreaterThanOrEqual(INTERVAL / 2)
  })

  it('leases that were taken in one burst, and then are renewed as seldom as without a plan', async () => {
    const fleet = new Fleet()
    fleet.take(10_000)
    await fleet.bench.clock.advance(2 * INTERVAL)
    fleet.ages.length = 0
    await fleet.bench.clock.advance(10 * INTERVAL)
    expect(fleet.ages.length / 10_000).toBeGreaterThanOrEqual(9)
    expect(fleet.ages.length / 10_000).toBeLessThan(10.2)
    expect(fleet.bench.store.renewals.every(({ leases }) => leases.length === BATCH)).toBe(true)
  })

  it('few: one chunk, when it has to leave', async () => {
    const fleet = new Fleet()
    fleet.take(BATCH)
    await fleet.bench.clock.advance(3 * INTERVAL)
    expect([...fleet.callsBetween(0, Infinity)]).toEqual([
      [10_000, [BATCH]],
      [20_000, [BATCH]],
      [30_000, [BATCH]],
    ])
  })

  it('a little more than a chunk: two, half an interval apart in the end', async () => {
    const fleet = new Fleet()
    fleet.take(BATCH + 20)
    await fleet.bench.clock.advance(3 * INTERVAL)
    expect([...fleet.callsBetween(0, Infinity).keys()]).toEqual([
      7_500, 10_000, 15_000, 20_000, 25_000, 30_000,
    ])
  })

  it('over a second, a few at a time: full chunks, one at a time', async () => {
    const fleet = new Fleet()
    for (let ms = 0; ms < 1_000; ms += 5) {
      fleet.take(10)
      await fleet.bench.clock.advance(5)
    }
    await fleet.bench.clock.advance(5 * INTERVAL)
    const calls = fleet.callsBetween(3 * INTERVAL, 4 * INTERVAL)
    expect([...calls.values()].every((sizes) => sizes.length === 1)).toBe(true)
    expect(calls.size).toBeLessThanOrEqual(22)
    // Twenty chunks in 10 s.
    expect(widestGap(calls)).toBeLessThanOrEqual(1_250)
    expect([fleet.lost, Math.max(...fleet.ages)]).toEqual([0, INTERVAL])
  })

  it('leases that were taken in one burst that are gone before half an interval is over cost nothing', async () => {
    const fleet = new Fleet()
    const held = fleet.take(1_000)
    await fleet.bench.clock.advance(INTERVAL / 2 - 1)
    for (const watch of held) watch.stop()
    await fleet.bench.clock.advance(INTERVAL)
    expect([fleet.bench.store.renewals.length, fleet.bench.timersSet]).toEqual([0, 1])
    expect(fleet.bench.clock.pendingTimers).toBe(0)
  })
})

describe('with batch keys', () => {
  it('leases of thousands of keys: never more at one moment than a chunk has, and each key travels together', async () => {
    const fleet = new Fleet((lease) => `slot ${Number(lease.name) % 5_000}`)
    fleet.take(10_000)
    await fleet.bench.clock.advance(5 * INTERVAL)
    const calls = fleet.callsBetween(3 * INTERVAL, 4 * INTERVAL)
    expect(Math.max(...[...calls.values()].map(sum))).toBe(BATCH)
    expect([...calls.values()].flat().every((size) => size === 2)).toBe(true)
    expect(sum([...calls.values()].flat())).toBe(10_000)
    expect(fleet.lost).toBe(0)
  })

  it('leases of a hundred keys, taken in turn: one full chunk of each key', async () => {
    const fleet = new Fleet((lease) => `slot ${Number(lease.name) % 100}`)
    fleet.take(10_000)
    await fleet.bench.clock.advance(5 * INTERVAL)
    const calls = fleet.callsBetween(3 * INTERVAL, 4 * INTERVAL)
    expect([...calls.values()].every((sizes) => sizes.length === 1 && sizes[0] === BATCH)).toBe(true)
    expect(calls.size).toBe(100)
  })
})

describe('what brings renewals together again', () => {
  it('a pause of the process: what is late leaves at once, and is spread again', async () => {
    const fleet = new Fleet()
    const held = fleet.take(2_000)
    // Blocks the event loop, so to speak: no timer fired meanwhile.
    for (const watch of held) watch.setRenewing(false)
    await fleet.bench.clock.advance(TRUST - 5_000)
    for (const watch of held) watch.setRenewing(true)
    await fleet.bench.clock.advance(0)
    expect(fleet.bench.store.renewals).toHaveLength(20)
    await fleet.bench.clock.advance(5 * INTERVAL)
    const calls = fleet.callsBetween(6 * INTERVAL, 7 * INTERVAL)
    expect([...calls.values()].every((sizes) => sizes.length === 1)).toBe(true)
    expect([fleet.lost, widestGap(calls) <= 550]).toEqual([0, true])
  })

  it('a machine that was suspended: all are asked about at once, and spread again', async () => {
    const fleet = new Fleet()
    const held = fleet.take(1_000)
    await fleet.bench.clock.advance(2 * INTERVAL)
    fleet.bench.clock.stepWall(60_000)
    const before = fleet.bench.store.renewals.length
    expect(held[0]!.trustedForMs).toBe(0)
    await fleet.bench.clock.settle()
    expect(fleet.bench.store.renewals.length - before).toBe(10)
    expect(held.every((watch) => watch.trustedForMs === TRUST)).toBe(true)
    await fleet.bench.clock.advance(4 * INTERVAL)
    const calls = fleet.callsBetween(4 * INTERVAL, 5 * INTERVAL)
    expect([...calls.values()].every((sizes) => sizes.length === 1)).toBe(true)
    expect(fleet.lost).toBe(0)
  })

  it('leases prolonged by their owner, all at once', async () => {
    const fleet = new Fleet()
    const held = fleet.take(1_000)
    await fleet.bench.clock.advance(2.5 * INTERVAL)
    for (const watch of held) fleet.confirm(watch)
    await fleet.bench.clock.advance(4 * INTERVAL)
    const calls = fleet.callsBetween(4 * INTERVAL, 5 * INTERVAL)
    expect([...calls.values()].every((sizes) => sizes.length === 1)).toBe(true)
  })
})

describe('whatever comes and goes', () => {
  it.each([21, 22])('nobody is renewed later than due, and nobody is lost: seed %i', async (seed) => {
    const random = seededRandom(seed).next
    const fleet = new Fleet((lease) => `${Number(lease.name) % 7}`)
    let held: Watch[] = []
    for (let step = 0; step < 600; step += 1) {
      if (random() < 0.1)
        held.push(...fleet.take(Math.floor(random() * 400), random() < 0.3 ? TTL / 10 : TTL))
      held = held.filter((watch) => random() > 0.02 || watch.stop())
      for (const watch of held) if (random() < 0.002) fleet.confirm(watch)
      await fleet.bench.clock.advance(Math.floor(random() * 400))
    }
    const renewedInAll = fleet.ages.length
    expect([fleet.lost, renewedInAll > 1_000]).toEqual([0, true])
    expect(fleet.bench.dog.size).toBe(held.length)
    expect(Math.max(...fleet.ages)).toBeLessThanOrEqual(INTERVAL)
    expect(fleet.bench.mostTimers).toBe(1)
  })
})
