import { describe, expect, it } from '@jest/globals'
import { own, soon, useRig } from './support/rig.js'

// The answer to a call for permits has come, and nobody has looked at it yet.

const rig = useRig()
const locks = own(() => rig.client())

const turnsTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** Calls, and does something so many microtasks after an answer that came together with that to the call. */
async function afterAnswer<T>(turns: number, call: () => Promise<T>, act: () => unknown): Promise<T> {
  const together = locks.getCountDownLatch('latch').countDown()
  const called = call()
  called.catch(() => undefined)
  await together
  for (let i = 0; i < turns; i += 1) {
    await Promise.resolve()
  }
  await act()
  return soon(called)
}

describe('a call for permits that is aborted', () => {
  const abortAfter = <T>(turns: number, call: (signal: AbortSignal) => Promise<T>) => {
    const controller = new AbortController()
    const called = afterAnswer(
      turns,
      () => call(controller.signal),
      () => controller.abort(),
    )
    return called.catch(() => undefined)
  }

  it.each(turnsTo(6))(
    '%d turns after the answer and before it is looked at: no permit stays behind (I8)',
    async (turns) => {
      const semaphore = locks.getSemaphore('pool')
      await semaphore.trySetPermits(1)
      const taken = await abortAfter(turns, (signal) =>
        semaphore.acquire({ signal, waitMs: 0 }).then(() => true),
      )
      if (taken) await semaphore.release()
      expect(await semaphore.tryAcquire(1, 500)).toBe(true)
      await rig.admin.del('pool')

      const seats = locks.getPermitExpirableSemaphore('seats')
      await seats.trySetPermits(1)
      const id = await abortAfter(turns, (signal) => seats.acquire({ signal, waitMs: 0 }))
      if (id !== undefined) await seats.release(id)
      expect(await seats.tryAcquire({ waitMs: 500 })).not.toBeNull()
      await rig.admin.del('seats', '{seats}:timeout')
    },
  )
})

describe('a permit that comes while its client is being closed', () => {
  const close = () => locks.close({ graceMs: 0 })

  it.each(turnsTo(8))('to withPermits, %d turns before: told, and released (I5)', async (turns) => {
    const semaphore = locks.getSemaphore('pool')
    await semaphore.trySetPermits(1)
    const work = (signal: AbortSignal): Promise<unknown> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))
    const call = () => semaphore.withPermits(work, { waitMs: 0 }).catch((error: unknown) => error)
    expect(await afterAnswer(turns, call, close)).toMatchObject({ code: 'CLIENT_CLOSED' })
    expect(await rig.admin.getdel('pool')).toBe('1')
  })

  it.each(turnsTo(8))('to acquirePermit, %d turns before: told, and released (I5)', async (turns) => {
    const semaphore = locks.getPermitExpirableSemaphore('seats')
    await semaphore.trySetPermits(1)
    const call = () =>
      semaphore.acquirePermit({ renew: true, waitMs: 0 }).then(
        (permit) => () => permit.lossError,
        (error: unknown) => () => error,
      )
    const told = (await afterAnswer(turns, call, close))() as { code: string; reason?: string }
    expect([told.code, told.reason].join(' ')).toMatch(/^(CLIENT_CLOSED |LOCK_LOST closed)$/)
    expect([await rig.admin.getdel('seats'), await rig.admin.zcard('{seats}:timeout')]).toEqual(['1', 0])
  })
})
