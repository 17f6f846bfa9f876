import { describe, expect, it } from '@jest/globals'
import { Bench, expectNothingLeft, FakeLease, INTERVAL, TTL } from './fixture.js'

expectNothingLeft()

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

/** Three calls about two leases each come up together. */
const rowOfThree = async () => {
  const bench = new Bench({ batchSize: 2, batchesInARow: 3 })
  const leases = NAMES.map((name) => new FakeLease(name))
  const watches = leases.map((lease) => bench.watch(lease))
  await bench.clock.advance(INTERVAL)
  const answer = async (call: number) => {
    bench.store.renewals[call]!.answer(['renewed', 'renewed'])
    await bench.clock.settle()
  }
  const sizes = () => bench.store.batches.map((names) => names.length)
  return { bench, leases, watches, answer, sizes }
}

describe('renewals of one row', () => {
  it('leave one call on the answer of the other', async () => {
    const { bench, answer, sizes } = await rowOfThree()
    expect(sizes()).toEqual([2])
    await answer(0)
    expect(sizes()).toEqual([2, 2])
    await answer(1)
    await answer(2)
    expect([sizes(), bench.store.batches.flat().sort()]).toEqual([[2, 2, 2], NAMES])
    bench.renewAll()
    await bench.clock.advance(INTERVAL)
    expect(sizes()).toEqual([2, 2, 2, 2, 2, 2])
  })

  it('are asked in the order they were taken', async () => {
    const { bench } = await rowOfThree()
    bench.renewAll()
    await bench.answer(0, ['renewed', 'renewed'])
    await bench.clock.advance(INTERVAL)
    const inOrder = [NAMES.slice(0, 2), NAMES.slice(2, 4), NAMES.slice(4)]
    expect(bench.store.batches).toEqual([...inOrder, ...inOrder])
  })

  it('what is released while it waits for its turn is not asked about', async () => {
    const { bench, watches, answer } = await rowOfThree()
    const [asked] = bench.store.batches
    const [kept, ...others] = NAMES.filter((name) => !asked!.includes(name))
    for (const name of others) watches[NAMES.indexOf(name)]!.stop()
    bench.renewAll()
    await answer(0)
    expect(bench.store.batches).toEqual([asked, [kept]])
  })

  it('a call without an answer holds the others up for a tenth of the interval', async () => {
    const { bench, leases, sizes } = await rowOfThree()
    await bench.clock.advance(INTERVAL / 10 - 1)
    expect(sizes()).toEqual([2])
    await bench.clock.advance(1)
    expect(sizes()).toEqual([2, 2, 2])
    for (const call of bench.store.renewals) call.answer(['renewed', 'renewed'])
    await bench.clock.settle()
    expect([leases.flatMap(({ losses }) => losses), bench.clock.pendingTimers]).toEqual([[], 1])
  })

  it('a call that fails holds nobody up, and is made again', async () => {
    const { bench, leases, sizes } = await rowOfThree()
    bench.renewAll()
    await bench.fail(0)
    expect(sizes()).toEqual([2, 2, 2])
    await bench.clock.advance(1_000)
    const { batches } = bench.store
    expect(batches.slice(3)).toEqual([batches[0]])
    const failed = leases.filter(({ failures }) => failures.length === 1).map(({ name }) => name)
    expect(failed.sort()).toEqual(batches[0]!.toSorted())
  })

  it('nothing more is sent after close, and no timer stays', async () => {
    const { bench, answer, sizes } = await rowOfThree()
    const closing = bench.dog.close()
    await answer(0)
    await closing
    expect([sizes(), bench.clock.pendingTimers]).toEqual([[2], 0])
    await bench.clock.advance(TTL)
    expect(sizes()).toEqual([2])
  })

  it.each([0, 1.5])('batchesInARow of %d is refused', (batchesInARow) => {
    expect(() => new Bench({ batchesInARow })).toThrow(
      `batchesInARow must be a whole number above 0, got ${batchesInARow}`,
    )
  })
})
