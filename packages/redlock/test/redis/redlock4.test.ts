import { describe, expect, it } from '@jest/globals'
import { createRequire } from 'node:module'
import { useRig } from '../../../core/test/redis/support/rig.js'
import Redlock, { Lock, LockError, type Disposer, type Options } from '../../src/v4/index.js'

// It has no types of its own.
const { using } = createRequire(import.meta.url)('bluebird') as {
  using: <T, R>(disposer: Disposer<T>, use: (value: T) => PromiseLike<R>) => Promise<R>
}

describe('Redlock of redlock 4', () => {
  const harness = useRig({ redis: 'all' })
  const make = (options: Options = {}): Redlock => new Redlock([harness.connection()], options)
  const once = { retryCount: 1, retryDelay: 1, retryJitter: 0 }

  it('calls back', async () => {
    const redlock = make(once)
    const name = harness.name()
    const lock = await new Promise<Lock>((resolve) => {
      void redlock.lock(name, 5_000, (error, got) => {
        expect(error).toBe(null)
        resolve(got!)
      })
    })
    expect([lock.resource, lock.attempts, lock.attemptsRemaining]).toEqual([[name], 1, 0])
    const refused = await new Promise((resolve) => {
      redlock.lock(name, 5_000, (error) => resolve(error)).catch(() => undefined)
    })
    expect(refused).toBeInstanceOf(LockError)
    expect(refused).toBeInstanceOf(Redlock.LockError)
    expect(refused).toMatchObject({ attempts: 2, name: 'LockError' })
    await new Promise<void>((resolve) => void lock.unlock(() => resolve()))
    expect(lock.expiration).toBe(0)
    expect(await harness.admin.exists(name)).toBe(0)
  })

  it('extends the very lock, and refuses an expired one', async () => {
    const redlock = make(once)
    const lock = await redlock.acquire([harness.name('{x}a'), harness.name('{x}b')], 5_000)
    expect(await lock.extend(10_000)).toBe(lock)
    expect(await harness.admin.pttl(harness.name('{x}b'))).toBeGreaterThan(8_000)
    await redlock.release(lock)
    await expect(lock.extend(1_000)).rejects.toMatchObject({ name: 'LockError', attempts: 0 })
    await expect(lock.unlock()).rejects.toBeInstanceOf(LockError)
  })

  it('releases no other resources than it has locked', async () => {
    const redlock = make(once)
    const lock = await redlock.lock(harness.name(), 5_000)
    lock.resource = harness.name('other')
    await expect(lock.unlock()).rejects.toBeInstanceOf(LockError)
    lock.resource = harness.name()
    await lock.unlock()
  })

  it('is for using of bluebird, with a handler for errors of the release', async () => {
    const redlock = make(once)
    const errors: Error[] = []
    const result = await using(redlock.disposer(harness.name(), 5_000), async (lock: Lock) => {
      expect(await harness.admin.exists(harness.name())).toBe(1)
      return lock.attempts
    })
    expect(result).toBe(1)
    expect(await harness.admin.exists(harness.name())).toBe(0)
    const disposer = redlock.disposer(harness.name(), 5_000, (error) => errors.push(error))
    await using(disposer, () => harness.admin.del(harness.name()))
    expect(errors).toEqual([expect.any(LockError)])
  })

  it('tells of errors of clients, and not of refusals', async () => {
    const redlock = make({ retryCount: 2, retryDelay: 1, retryJitter: 0 })
    const errors: unknown[] = []
    redlock.on('clientError', (error) => errors.push(error))
    const lock = await redlock.lock(harness.name(), 5_000)
    await expect(redlock.lock(harness.name(), 5_000)).rejects.toMatchObject({ attempts: 3 })
    expect(errors).toEqual([])
    await lock.unlock()
    await harness.admin.sadd(harness.name(), 'a set')
    await expect(redlock.lock(harness.name(), 5_000)).rejects.toMatchObject({ attempts: 3 })
    expect(errors).toHaveLength(3)
    await harness.admin.del(harness.name())
  })

  it('takes other retries for one call, and its own for 0', async () => {
    const redlock = make({ ...once, retryCount: 2 })
    const lock = await redlock.lockWithOptions(harness.name(), 5_000, { retryCount: 9 })
    expect(lock.attemptsRemaining).toBe(8)
    const refused = redlock.acquireWithOptions(harness.name(), 5_000, { retryCount: 0 })
    await expect(refused).rejects.toMatchObject({ attempts: 3 })
    await lock.unlock()
  })

  it('refuses to be made without a client or with scripts, and a ttl that is none', async () => {
    for (const none of [[], harness.connection()])
      expect(() => new Redlock(none as never)).toThrow(/^clients must be/)
    const scripts = { lockScript: (text: string) => text } as Options
    expect(() => new Redlock([harness.connection()], scripts)).toThrow(/^lockScript must be/)
    await expect(make().lock('a', 1.5)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'ttl' })
    await expect(make().lock('', 1)).rejects.toMatchObject({ argument: 'resources' })
    await expect(make().unlock(undefined as never)).rejects.toMatchObject({ argument: 'lock' })
  })

  it('ends its connections', async () => {
    const connection = harness.connection()
    const redlock = new Redlock([connection])
    await (await redlock.lock(harness.name(), 5_000)).unlock()
    expect(await redlock.quit()).toEqual(['OK'])
    expect(connection.status).toBe('end')
  })
})
