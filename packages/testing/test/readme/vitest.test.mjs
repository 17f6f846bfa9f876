import { afterEach, expect, test, vi } from 'vitest'
import { LockClient } from '@holdfast/core'
import { TestRedis } from '@holdfast/testing'

afterEach(() => {
  vi.useRealTimers()
})

test('a report of a day is made once, also with faked timers', async () => {
  vi.useFakeTimers()
  const redis = new TestRedis()
  const locks = new LockClient(redis)
  const hold = await locks.getLock('report').acquire()

  // Two clocks: that of the test for its own timers, that of the TestRedis for locks.
  await vi.advanceTimersByTimeAsync(60_000)
  await redis.advance(60_000)
  expect(hold.signal.aborted).toBe(false)

  await locks.close({ graceMs: 0 })
})
