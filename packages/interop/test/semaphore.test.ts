import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Matrix } from './support/matrix.js'
import { pairings } from './support/rows.js'
import { rawName } from './support/setting.js'
import type { Side } from './support/side.js'
import { eventually, median, useSides } from './support/sides.js'

const POOL = 'pool'
const RAW = rawName(POOL)

const sides = useSides()
const matrix = new Matrix('gives → waits')
afterAll(() => matrix.print())

describe.each(pairings)('%s gives, %s waits', (giving, waiting) => {
  const row = `${giving} → ${waiting}`
  let one: Side
  let other: Side
  beforeAll(async () => {
    ;[one, other] = await Promise.all([sides.launch(giving), sides.launch(waiting)])
  })

  const untilListening = (channel: string) =>
    eventually(async () => Number((await sides.redis.pubsub('NUMSUB', channel))[1]) > 0)

  /** Median time from the beginning of `give` in one process to the end of a wait in the other. */
  const wakeUp = async (
    channel: string,
    round: {
      prepare: () => Promise<unknown>
      wait: () => Promise<{ to: number }>
      give: () => Promise<{ from: number }>
    },
  ): Promise<string> => {
    const times: number[] = []
    for (let i = 0; i < 20; i += 1) {
      await round.prepare()
      const answer = round.wait()
      await untilListening(channel)
      const { from } = await round.give()
      times.push((await answer).to - from)
    }
    expect(median(times)).toBeLessThan(500)
    return `${median(times).toFixed(1)} ms`
  }

  describe('semaphore', () => {
    const give = (verb: string, options = {}) => one.call('a', verb, 'semaphore', POOL, options)
    const want = (verb: string, options = {}) => other.call('b', verb, 'semaphore', POOL, options)

    it('counts for both', async () => {
      expect(await give('trySetPermits', { permits: 3 })).toMatchObject({ value: true })
      expect(await want('trySetPermits', { permits: 5 })).toMatchObject({ value: false })
      await give('acquire', { permits: 2 })
      expect(await want('available')).toMatchObject({ value: 1 })
      expect(await want('tryAcquire', { permits: 2 })).toMatchObject({ value: false })
      expect(await want('tryAcquire')).toMatchObject({ value: true })
      await give('release', { permits: 2 })
      expect(await want('drain')).toMatchObject({ value: 2 })
      await want('addPermits', { permits: 4 })
      expect(await give('available')).toMatchObject({ value: 4 })
      matrix.note(row, 'semaphore', '✓')
    })

    it('ends a wait at its limit', async () => {
      await give('trySetPermits', { permits: 1 })
      await give('acquire')
      const { value, from, to } = await want('tryAcquire', { wait: 300 })
      expect(value).toBe(false)
      expect(to - from).toBeGreaterThanOrEqual(299)
      matrix.note(row, 'semaphore, time-out of 300 ms', `${(to - from).toFixed(0)} ms`)
    })

    it('wakes the other side', async () => {
      await give('trySetPermits', { permits: 1 })
      await give('acquire')
      const time = await wakeUp(`redisson_sc:{${RAW}}`, {
        prepare: () => Promise.resolve(),
        wait: () => want('acquire'),
        give: () => give('release'),
      })
      matrix.note(row, 'wake-up of the semaphore', time)
    })
  })

  describe('permit-expirable semaphore', () => {
    const give = (verb: string, options = {}) => one.call('a', verb, 'permits', POOL, options)
    const want = (verb: string, options = {}) => other.call('b', verb, 'permits', POOL, options)

    it('counts for both, and either releases what the other took', async () => {
      await give('trySetPermits', { permits: 2 })
      const { value: id } = await give('acquire', { lease: 10_000 })
      expect(id).toMatch(/^[0-9a-f]{32}$/)
      expect(await want('available')).toMatchObject({ value: 1 })
      expect(await want('acquired')).toMatchObject({ value: 1 })
      expect(await want('tryRelease', { id: id as string })).toMatchObject({ value: true })
      expect(await give('tryRelease', { id: id as string })).toMatchObject({ value: false })
      expect(await give('available')).toMatchObject({ value: 2 })
      matrix.note(row, 'permits', '✓')
    })

    it('lets the other side in when a permit ends', async () => {
      await give('trySetPermits', { permits: 1 })
      const { to: taken } = await give('acquire', { lease: 600 })
      const { value, to } = await want('tryAcquire', { wait: 5_000, lease: 1_000 })
      expect(value).toMatch(/^[0-9a-f]{32}$/)
      expect(to - taken).toBeGreaterThan(500)
      matrix.note(row, 'a permit of 600 ms ends', `${(to - taken).toFixed(0)} ms`)
    })

    it('wakes the other side', async () => {
      await give('trySetPermits', { permits: 1 })
      let id = (await give('acquire')).value as string
      const time = await wakeUp(`redisson_sc:{${RAW}}`, {
        prepare: () => Promise.resolve(),
        wait: async () => {
          const answer = await want('acquire')
          id = answer.value as string
          return answer
        },
        give: () => give('release', { id }),
      })
      matrix.note(row, 'wake-up of permits', time)
    })
  })

  describe('count-down latch', () => {
    const give = (verb: string, options = {}) => one.call('a', verb, 'latch', POOL, options)
    const want = (verb: string, options = {}) => other.call('b', verb, 'latch', POOL, options)

    it('counts for both, and ends a wait at its limit', async () => {
      expect(await give('trySetCount', { count: 2 })).toMatchObject({ value: true })
      expect(await want('trySetCount', { count: 3 })).toMatchObject({ value: false })
      expect(await want('await', { wait: 200 })).toMatchObject({ value: false })
      await want('countDown')
      expect(await give('count')).toMatchObject({ value: 1 })
      await give('countDown')
      expect(await want('await', { wait: 200 })).toMatchObject({ value: true })
      // Notes of ours end by themselves.
      expect(await sides.redis.exists(RAW)).toBe(0)
      matrix.note(row, 'latch', '✓')
    })

    it('wakes the other side', async () => {
      const time = await wakeUp(`redisson_countdownlatch__channel__{${RAW}}`, {
        prepare: () => give('trySetCount', { count: 1 }),
        wait: () => want('await'),
        give: () => give('countDown'),
      })
      matrix.note(row, 'wake-up of the latch', time)
    })
  })
})
