import { describe, expect, it } from '@jest/globals'
import { InvalidArgumentError, LockTimeoutError, WrongTypeError, type Semaphore } from '../../../src/index.js'
import { eventually, own, signalled, soon, useRig } from '../support/rig.js'
import { aborted } from '../support/outcomes.js'

const NAME = 'pool'
const rig = useRig()
const locks = own(() => rig.client())
const semaphore = own(() => locks.getSemaphore(NAME))

/** Ends the test: what must be there goes, and nothing else may be left. */
const expectAtLast = async (permits: number): Promise<void> => {
  expect(await rig.admin.get(NAME)).toBe(`${permits}`)
  await rig.admin.del(NAME)
}

const isParked = async (): Promise<boolean> => (await rig.listeners(`redisson_sc:{${NAME}}`)) === 1

describe("Redisson's own cases", () => {
  it('testZero: nothing to take, give or wait for, whatever there is', async () => {
    await semaphore.acquire(0)
    expect(await semaphore.tryAcquire(0)).toBe(true)
    await semaphore.release(0)
    expect(await rig.contents()).toEqual({})
  })

  it('testTrySetPermits: once; with a time to live the semaphore ends', async () => {
    expect(await semaphore.trySetPermits(10)).toBe(true)
    expect(await semaphore.trySetPermits(15)).toBe(false)
    expect(await semaphore.availablePermits()).toBe(10)
    await rig.admin.del(NAME)
    expect(await semaphore.trySetPermits(3, 60_000)).toBe(true)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(50_000)
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(60_000)
    await expectAtLast(3)
  })

  it('testAddPermits, testReducePermits: also below 0', async () => {
    await semaphore.addPermits(10)
    expect(await semaphore.availablePermits()).toBe(10)
    await semaphore.acquire(5)
    await semaphore.addPermits(-10)
    expect(await semaphore.availablePermits()).toBe(-5)
    expect(await semaphore.tryAcquire()).toBe(false)
    await semaphore.release(10)
    await expectAtLast(5)
  })

  it('testAcquireAfterAddPermits: who waits for 2 passes when 2 are free, not at the first', async () => {
    await semaphore.trySetPermits(0)
    let passed = false
    const waiting = semaphore.acquire(2).then(() => (passed = true))
    await eventually(isParked)
    await semaphore.release()
    expect(await semaphore.tryAcquire(2)).toBe(false)
    expect(passed).toBe(false)
    await semaphore.addPermits(1)
    await soon(waiting)
    await expectAtLast(0)
  })

  it('testAcquireWithoutSetPermits, testReleaseWithoutPermits: a release makes the semaphore', async () => {
    expect(await semaphore.tryAcquire()).toBe(false)
    expect(await semaphore.availablePermits()).toBe(0)
    await semaphore.release()
    expect(await semaphore.tryAcquire()).toBe(true)
    await expectAtLast(0)
  })

  it('testReleaseIfExists: only where there is one', async () => {
    expect(await semaphore.releaseIfExists()).toBe(false)
    expect(await rig.admin.exists(NAME)).toBe(0)
    await semaphore.trySetPermits(1)
    expect(await semaphore.releaseIfExists(2)).toBe(true)
    await expectAtLast(3)
  })

  it('testDrainPermits: all that are there, and nothing of a debt', async () => {
    await semaphore.trySetPermits(10)
    await semaphore.acquire(3)
    expect(await semaphore.drainPermits()).toBe(7)
    expect(await semaphore.drainPermits()).toBe(0)
    await semaphore.addPermits(-2)
    expect(await semaphore.drainPermits()).toBe(0)
    await expectAtLast(-2)
  })

  it('testTryNAcquire: a wait with a limit is over when it says, and gets what comes in time', async () => {
    await semaphore.trySetPermits(1)
    expect(await (await rig.slow()).getSemaphore(NAME).tryAcquire(2, 1)).toBe(false)
    const waiting = semaphore.tryAcquire({ permits: 2, waitMs: 5_000 })
    await eventually(isParked)
    await semaphore.release()
    expect(await soon(waiting)).toBe(true)
    await expectAtLast(0)
  })
})

describe("JavaScript's face", () => {
  it('acquire with a limit ends in LOCK_TIMEOUT, which says of what', async () => {
    const slow = (await rig.slow()).getSemaphore(NAME)
    const error = await slow.acquire({ permits: 3, waitMs: 1 }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', lockName: NAME, holder: undefined })
    expect((error as Error).message).toMatch(/^3 permits of semaphore "pool" not acquired in \d+ ms/)
  })

  it('withPermits releases by itself, with the result, and with the error of the callback', async () => {
    await semaphore.trySetPermits(2)
    const result = await semaphore.withPermits(() => semaphore.availablePermits(), { permits: 2 })
    expect(result).toBe(0)
    const error = new Error('mine')
    await expect(semaphore.withPermits(() => Promise.reject(error))).rejects.toBe(error)
    await expectAtLast(2)
  })

  it('close aborts the signal of a callback that does not end, and releases its permits', async () => {
    await semaphore.trySetPermits(1)
    const inside = signalled<AbortSignal>()
    const done = signalled()
    const call = semaphore.withPermits((signal) => {
      inside.resolve(signal)
      return done.promise
    })
    const signal = await inside.promise
    await locks.close({ graceMs: 0 })
    expect(signal.reason).toMatchObject({ code: 'CLIENT_CLOSED' })
    expect(await rig.admin.get(NAME)).toBe('1')
    done.resolve()
    await call
    await expectAtLast(1)
  })

  it('a limit that is undefined is one that was left out: one attempt', async () => {
    const undefinedLimits = { permits: undefined, waitMs: undefined, signal: undefined }
    expect(await semaphore.tryAcquire(undefinedLimits)).toBe(false)
    expect(await semaphore.tryAcquire(undefinedLimits, 500)).toBe(false)
  })

  it.each([
    ['waitMs', (s: Semaphore) => s.tryAcquire({ waitMs: null as never }), null],
    ['permits', (s: Semaphore) => s.acquire(-1), -1],
    ['permits', (s: Semaphore) => s.tryAcquire(1.5), 1.5],
    ['permits', (s: Semaphore) => s.release(2 ** 31), 2 ** 31],
    ['permits', (s: Semaphore) => s.trySetPermits(-1), -1],
    ['permits', (s: Semaphore) => s.addPermits(Number.NaN), Number.NaN],
    ['ttlMs', (s: Semaphore) => s.trySetPermits(1, 0), 0],
    ['waitMs', (s: Semaphore) => s.acquire({ waitMs: -1 }), -1],
    ['signal', (s: Semaphore) => s.acquire({ signal: 1 as never }), 1],
    ['options', (s: Semaphore) => s.acquire(null as never), null],
    ['callback', (s: Semaphore) => s.withPermits(1 as never), 1],
  ])('INVALID_ARGUMENT names %s and the value', async (argument, call, value) => {
    const error = await call(semaphore).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error).toMatchObject({ argument, value })
    expect(await rig.contents()).toEqual({})
  })

  it.each([
    ['a hash', () => rig.admin.hset(NAME, 'f', 'v')],
    ['no number', () => rig.admin.set(NAME, 'text')],
  ])('WRONG_TYPE where the key is %s, and nothing is changed', async (_what, put) => {
    await put()
    const before = await rig.contents()
    const calls = [
      () => semaphore.acquire(),
      () => semaphore.release(),
      () => semaphore.drainPermits(),
      () => semaphore.trySetPermits(1),
      () => semaphore.addPermits(1),
      () => semaphore.availablePermits(),
    ]
    for (const call of calls) {
      const error = await call().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(WrongTypeError)
      expect(error).toMatchObject({ key: NAME, lockName: NAME })
      expect(String(error)).toContain(`Key "${NAME}" is not a semaphore: WRONGTYPE`)
    }
    expect(await rig.contents()).toEqual(before)
    await rig.admin.del(NAME)
  })

  it("refuses to start beside redis-semaphore's sorted set under its name, whichever kind it is", async () => {
    const name = 'semaphore:pool'
    // Its `Semaphore('pool')` keeps a permit like this: the identifier, by the time of its client.
    await rig.admin.zadd(name, Date.now(), 'b0f8a0d2-7c1e-4f5e-9f58-0c7d2a1b4c11')
    const before = await rig.contents()
    const counted = locks.getSemaphore(name)
    const permits = locks.getPermitExpirableSemaphore(name)
    for (const call of [
      ...[() => counted.trySetPermits(2), () => counted.tryAcquire(), () => counted.release()],
      ...[() => permits.trySetPermits(2), () => permits.tryAcquire(), () => permits.addPermits(1)],
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'WRONG_TYPE', key: name })
    }
    expect(await rig.contents()).toEqual(before)
    await rig.admin.del(name)
  })

  it('CLIENT_CLOSED after close, from every call', async () => {
    await locks.close()
    expect(() => locks.getSemaphore(NAME)).toThrow('closed')
    await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
    await expect(semaphore.release()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})

// The answer to a call for permits has come, and nobody has looked at it yet.

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
      expect(await semaphore.tryAcquire(1, 20_000)).toBe(true)
      await rig.admin.del('pool')

      const seats = locks.getPermitExpirableSemaphore('seats')
      await seats.trySetPermits(1)
      const id = await abortAfter(turns, (signal) => seats.acquire({ signal, waitMs: 0 }))
      if (id !== undefined) await seats.release(id)
      expect(await seats.tryAcquire({ waitMs: 20_000 })).not.toBeNull()
      await rig.admin.del('seats', '{seats}:timeout')
    },
  )
})

describe('a permit that comes while its client is being closed', () => {
  const close = () => locks.close({ graceMs: 0 })

  it.each(turnsTo(8))('to withPermits, %d turns before: told, and released (I5)', async (turns) => {
    const semaphore = locks.getSemaphore('pool')
    await semaphore.trySetPermits(1)
    const call = () => semaphore.withPermits(aborted, { waitMs: 0 }).catch((error: unknown) => error)
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
