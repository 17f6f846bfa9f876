import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { LockClient } from '@holdfast/core'
import { TestRedis } from '@holdfast/testing'

/** The code under test: each order is shipped by one worker at a time. */
const ship = (locks: LockClient, order: string, work: (signal: AbortSignal) => Promise<void>) =>
  locks.getLock(`order:${order}`).withLock((hold) => work(hold.signal), { waitMs: 5_000 })

let redis: TestRedis
let locks: LockClient

beforeEach(() => {
  redis = new TestRedis()
  locks = new LockClient(redis)
})
afterEach(() => locks.close({ graceMs: 0 }))

test('an order that somebody else ships is waited for, for five seconds', async () => {
  const other = new LockClient(redis) // as another process has one
  await other.getLock('order:42').acquire()
  const refused = expect(ship(locks, '42', async () => {})).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
  await redis.advance(5_000)
  await refused
  await other.close({ graceMs: 0 })
})

test('work is told when its lock is lost', async () => {
  const shipped = ship(locks, '42', async (signal) => {
    redis.drop('order:42')
    await redis.advance(30_000) // the next renewal finds out
    signal.throwIfAborted()
  })
  await expect(shipped).rejects.toMatchObject({ code: 'LOCK_LOST' })
})
