import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { LockClient, LockTimeoutError } from 'holdfast'

// TypeScript 6 loads no @types/node unless it is told to, and here nobody has told it anything.
declare const process: { env: Record<string, string | undefined> }

let locks: LockClient
beforeAll(async () => {
  locks = await LockClient.connect(process.env.REDIS_URL ?? 'redis://localhost:6379')
})
afterAll(() => locks.close())

test('two buyers, one piece', async () => {
  let stock = 1
  const outcomes = ['Ann', 'Bob'].map((buyer) =>
    locks.getLock('stock:42').withLock(async (hold) => {
      if (stock === 0) return `${buyer}: sold out`
      await hold.verify()
      stock -= 1
      return `${buyer}: bought it`
    }),
  )
  expect(await Promise.all(outcomes)).toEqual(['Ann: bought it', 'Bob: sold out'])
})

test('errors keep their class and name', async () => {
  const lock = locks.getLock('stock:43')
  const hold = await lock.acquire()
  const refused: unknown = await lock.acquire({ waitMs: 0 }).catch((error: unknown) => error)
  await hold.release()
  expect(refused).toBeInstanceOf(LockTimeoutError)
  expect(refused).toMatchObject({ name: 'LockTimeoutError', code: 'LOCK_TIMEOUT' })
})
