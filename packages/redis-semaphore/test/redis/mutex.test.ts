import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { runInThisContext } from 'node:vm'
import { renewed } from '../../../core/test/redis/support/outcomes.js'
import { eventually, signalled, useRig } from '../../../core/test/redis/support/rig.js'
import { LostLockError, Mutex, TimeoutError, type LockOptions } from '../../src/index.js'

describe('Mutex', () => {
  const harness = useRig({ redis: 'all' })
  const make = (options: LockOptions<Mutex> = {}): Mutex =>
    new Mutex(harness.connection(), harness.name(), { onLockLost: () => undefined, ...options })
  const key = (): string => `mutex:${harness.name()}`

  it('is acquired by one at a time, under the name that redis-semaphore uses (I1)', async () => {
    const [first, second] = [make(), make({ acquireAttemptsLimit: 1 })]
    expect(first.isAcquired).toBe(false)
    await first.acquire()
    expect([first.isAcquired, await harness.admin.exists(key())]).toEqual([true, 1])
    expect(await second.tryAcquire()).toBe(false)
    expect(await first.tryAcquire(AbortSignal.abort(new Error('no'))).catch(String)).toBe('Error: no')
    await expect(second.acquire()).rejects.toThrow(TimeoutError)
    await first.release()
    expect([first.isAcquired, await harness.admin.exists(key())]).toEqual([false, 0])
    await first.release()
    expect(await second.tryAcquire()).toBe(true)
    await second.release()
  })

  it('wakes a waiter with the release: it does not poll', async () => {
    const [first, second] = [make(), make({ acquireAttemptsLimit: 2, retryInterval: 9_999 })]
    await first.acquire()
    const acquired = second.acquire()
    await eventually(async () => (await harness.admin.pubsub('CHANNELS', `*${key()}*`)).length > 0)
    await first.release()
    await acquired
    await second.release()
  })

  it('is refreshed until it is released, or until that is stopped', async () => {
    const mutex = make({ lockTimeout: 1_500, refreshInterval: 50 })
    await mutex.acquire()
    const { hold } = mutex
    for (let i = 0; i < 3; i += 1) await renewed(hold!)
    expect([mutex.isAcquired, await harness.admin.hlen(key())]).toEqual([true, 1])
    expect(await harness.admin.hexists(key(), hold!.owner)).toBe(1)
    mutex.stopRefresh()
    await eventually(async () => (await harness.admin.exists(key())) === 0)
    await eventually(() => !mutex.isAcquired)
    await mutex.release()
  })

  it('tells of a loss once, with itself as this, and can be acquired again', async () => {
    const lost = signalled<[Mutex, Error]>()
    const mutex = make({
      lockTimeout: 1_000,
      refreshInterval: 30,
      onLockLost(error) {
        lost.resolve([this, error])
      },
    })
    await mutex.acquire()
    await harness.admin.del(key())
    const [self, error] = await lost.promise
    expect(self).toBe(mutex)
    expect(error).toBeInstanceOf(LostLockError)
    expect(error.cause).toMatchObject({ code: 'LOCK_LOST' })
    expect(mutex.isAcquired).toBe(false)
    await mutex.acquire()
    expect(mutex.isAcquired).toBe(true)
    await mutex.release()
  })

  it('waits behind the string of the real redis-semaphore, and leaves it as it is', async () => {
    await harness.admin.set(key(), 'theirs', 'PX', 60_000)
    const mutex = make({ acquireTimeout: 500 })
    expect(await mutex.tryAcquire()).toBe(false)
    expect(await harness.admin.get(key())).toBe('theirs')
    const acquired = make().acquire()
    await harness.admin.del(key())
    await acquired
    await harness.admin.del(key())
  })

  it.each([
    ['client', () => new Mutex(undefined as never, 'a')],
    ['key', () => new Mutex({} as never, '')],
    ['identifier', () => make({ identifier: 'a' } as never)],
    ['acquiredExternally', () => make({ acquiredExternally: true } as never)],
    ['lockTimeout', () => make({ lockTimeout: 0 })],
    ['acquireAttemptsLimit', () => make({ acquireAttemptsLimit: 0 })],
    ['options', () => make({ lockTimeOut: 5 } as never)],
  ])('refuses at once, and names, a wrong %s', (argument, call) => {
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }))
  })
})

/** The one that rejections come to: that of tests is a copy. */
function realProcess(): NodeJS.Process {
  return runInThisContext('process') as NodeJS.Process
}

describe('A loss that nobody listens to', () => {
  const harness = useRig({ redis: 'all' })
  const unhandled: unknown[] = []
  const note = (error: unknown): unknown => unhandled.push(error)
  // Jest listens too.
  const outer = realProcess()
  let others: NodeJS.UnhandledRejectionListener[] = []
  beforeEach(() => {
    others = outer.listeners('unhandledRejection')
    outer.removeAllListeners('unhandledRejection')
    outer.on('unhandledRejection', note)
  })
  afterEach(() => {
    outer.off('unhandledRejection', note)
    others.forEach((listener) => outer.on('unhandledRejection', listener))
  })

  it('is an unhandled rejection, as in redis-semaphore', async () => {
    const mutex = new Mutex(harness.connection(), harness.name(), { lockTimeout: 1_000, refreshInterval: 30 })
    await mutex.acquire()
    await harness.admin.del(`mutex:${harness.name()}`)
    await eventually(() => unhandled.length > 0)
    expect(unhandled[0]).toBeInstanceOf(LostLockError)
  })
})
