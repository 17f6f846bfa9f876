import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LockClient } from '@holdfast/core'
import { TestRedis } from '@holdfast/testing'

test('an outage is survived within the lease', async () => {
  const redis = new TestRedis()
  const locks = new LockClient(redis)
  const hold = await locks.getLock('order:42').acquire()

  redis.stop()
  await redis.advance(10_000)
  redis.start()
  await redis.advance(20_000)

  assert.equal(hold.signal.aborted, false)
  assert.equal(await hold.release(), 'released')
  await locks.close()
})
