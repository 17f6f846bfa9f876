import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import { soon, useRig } from './support/rig.js'

const rig = useRig()
let locks: LockClient

beforeEach(async () => {
  locks = await rig.client()
})

/** Aborts so many microtasks after an answer that came together with that to the call. */
const abortAfter = async (
  turns: number,
  call: (signal: AbortSignal) => Promise<unknown>,
): Promise<unknown> => {
  const controller = new AbortController()
  const together = locks.getCountDownLatch('latch').countDown()
  const called = call(controller.signal)
  await together
  for (let i = 0; i < turns; i += 1) {
    await Promise.resolve()
  }
  controller.abort()
  return soon(called.catch(() => undefined))
}

describe('a call for permits that is aborted', () => {
  it.each(Array.from({ length: 6 }, (_, i) => i))(
    '%d turns after the answer and before it is looked at: no permit stays behind (I8)',
    async (turns) => {
      const semaphore = locks.getSemaphore('pool')
      await semaphore.trySetPermits(1)
      if (
        (await abortAfter(turns, (signal) => semaphore.acquire({ signal, waitMs: 0 }).then(() => true))) ===
        true
      ) {
        await semaphore.release()
      }
      expect(await semaphore.tryAcquire(1, 500)).toBe(true)
      await rig.admin.del('pool')

      const seats = locks.getPermitExpirableSemaphore('seats')
      await seats.trySetPermits(1)
      const id = await abortAfter(turns, (signal) => seats.acquire({ signal, waitMs: 0 }))
      if (id !== undefined) {
        await seats.release(id as string)
      }
      expect(await seats.tryAcquire({ waitMs: 500 })).not.toBeNull()
      await rig.admin.del('seats', '{seats}:timeout')
    },
  )
})
