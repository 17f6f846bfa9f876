import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import { useRig } from './support/rig.js'

const rig = useRig()
let locks: LockClient

/** Calls close so many microtasks after an answer that came together with the one that is looked at. */
const closeAfter = async (answered: Promise<unknown>, turns: number): Promise<void> => {
  await answered
  for (let i = 0; i < turns; i += 1) {
    await Promise.resolve()
  }
  await locks.close({ graceMs: 0 })
}
const turns = Array.from({ length: 8 }, (_, i) => i)

beforeEach(async () => {
  locks = await rig.client()
})

describe('a permit that comes while its client is being closed', () => {
  it.each(turns)('to withPermits, %d turns before: told, and released (I5)', async (each) => {
    const semaphore = locks.getSemaphore('pool')
    await semaphore.trySetPermits(1)
    const together = locks.getCountDownLatch('latch').countDown()
    const call = semaphore.withPermits(
      (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason))),
      { waitMs: 0 },
    )
    const outcome = call.catch((error: unknown) => error)
    await closeAfter(together, each)
    expect(await outcome).toMatchObject({ code: 'CLIENT_CLOSED' })
    expect(await rig.admin.getdel('pool')).toBe('1')
  })

  it.each(turns)('to acquirePermit, %d turns before: told, and released (I5)', async (each) => {
    const semaphore = locks.getPermitExpirableSemaphore('seats')
    await semaphore.trySetPermits(1)
    const together = locks.getCountDownLatch('latch').countDown()
    const ended = semaphore.acquirePermit({ renew: true, waitMs: 0 }).then(
      (permit) => () => permit.lossError,
      (error: unknown) => () => error,
    )
    await closeAfter(together, each)
    const told = (await ended)() as { code: string; reason?: string }
    expect([told.code, told.reason].join(' ')).toMatch(/^(CLIENT_CLOSED |LOCK_LOST closed)$/)
    expect([await rig.admin.getdel('seats'), await rig.admin.zcard('{seats}:timeout')]).toEqual(['1', 0])
  })
})
