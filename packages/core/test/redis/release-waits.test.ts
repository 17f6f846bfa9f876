import { describe, expect, it } from '@jest/globals'
import { Locked } from '../../src/decorators/index.js'
import { LockLostError, RedisUnavailableError, type LockClient, type LockEvents } from '../../src/index.js'
import { exclusive } from '../../src/schedule/index.js'
import { systemRuntime } from '../../src/runtime/runtime.js'
import { eventually, signalled } from './support/harness.js'
import { soon, useRig } from './support/rig.js'

const NAME = 'order:42'
// Keeps its data over a crash: every write is on disk before it is answered.
const rig = useRig({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })

// A call that waits until its release is known would outlast the test.
const PATIENT = { unavailableTimeoutMs: 120_000, lockWatchdogTimeout: 120_000, releaseWaitMs: 50 }

const next = <E extends keyof LockEvents>(locks: LockClient, event: E): Promise<LockEvents[E]> =>
  soon(new Promise<LockEvents[E]>((resolve) => locks.on(event, resolve)))

type Work = () => Promise<string>
type Call = (locks: LockClient, work: Work) => Promise<unknown>

const free = async (): Promise<boolean> => (await rig.admin.exists(NAME, 'other')) === 0
const permitsLeft = (locks: LockClient) => async (): Promise<boolean> => {
  const left = await locks.getSemaphore('permits').availablePermits()
  return left === 1
}
const expirableLeft = (locks: LockClient) => async (): Promise<boolean> => {
  const left = await locks.getPermitExpirableSemaphore('permits').availablePermits()
  return left === 1
}

async function disposing(hold: AsyncDisposable, work: Work): Promise<string> {
  const result = await work()
  await hold[Symbol.asyncDispose]()
  return result
}

/** Whatever gives back by itself when its work is done. */
const CALLS: Record<string, Call> = {
  'withLock()': (locks, work) => locks.getLock(NAME).withLock(work),
  'withLock() of a fair lock': (locks, work) => locks.getFairLock(NAME).withLock(work),
  'withLock() of a write lock': (locks, work) => locks.getReadWriteLock(NAME).writeLock().withLock(work),
  'withLock() of a multi lock': (locks, work) =>
    locks.getMultiLock(locks.getLock(NAME), locks.getLock('other')).withLock(work),
  'await using': async (locks, work) => disposing(await locks.getLock(NAME).acquire(), work),
  'await using of a multi lock': async (locks, work) =>
    disposing(await locks.getMultiLock(locks.getLock(NAME), locks.getLock('other')).acquire(), work),
  '@Locked': (locks, work) => {
    class Orders {
      @Locked({ name: NAME, client: locks })
      run(): Promise<string> {
        return work()
      }
    }
    return new Orders().run()
  },
}

const PERMIT_CALLS: Record<string, [Call, (locks: LockClient) => () => Promise<boolean>]> = {
  'withPermits()': [
    async (locks, work) => {
      await locks.getSemaphore('permits').trySetPermits(1)
      return locks.getSemaphore('permits').withPermits(work)
    },
    permitsLeft,
  ],
  'withPermit()': [
    async (locks, work) => {
      await locks.getPermitExpirableSemaphore('permits').trySetPermits(1)
      return locks.getPermitExpirableSemaphore('permits').withPermit(work, { renew: true })
    },
    expirableLeft,
  ],
  'await using of a permit': [
    async (locks, work) => {
      const semaphore = locks.getPermitExpirableSemaphore('permits')
      await semaphore.trySetPermits(1)
      return disposing(await semaphore.acquirePermit({ leaseMs: 120_000 }), work)
    },
    expirableLeft,
  ],
}

const killing: Work = async () => {
  await rig.server.kill()
  return 'done'
}

describe('Redis goes down during the work', () => {
  it.each(Object.keys(CALLS))(
    '%s: the result comes while it is down, and the lock is freed',
    async (name) => {
      const locks = await rig.client(PATIENT)
      expect(await soon(CALLS[name]!(locks, killing))).toBe('done')
      await rig.server.restart()
      // Long before its lease ends.
      await eventually(free)
    },
  )

  it('releaseWaitMs is a second where nothing else is said', async () => {
    const locks = await rig.client({ ...PATIENT, releaseWaitMs: undefined })
    expect(await soon(locks.getLock(NAME).withLock(killing))).toBe('done')
    await rig.server.restart()
    await eventually(free)
  })

  it.each(Object.keys(PERMIT_CALLS))('%s: the same, and the permit comes back', async (name) => {
    const locks = await rig.client(PATIENT)
    const [call, isBack] = PERMIT_CALLS[name]!
    expect(await soon(call(locks, killing))).toBe('done')
    await rig.server.restart()
    await eventually(isBack(locks))
    await rig.admin.flushall()
  })

  it('a run of a schedule: the same', async () => {
    const locks = await rig.client(PATIENT)
    const run = exclusive(NAME, { locks }, killing)
    expect(await soon(run())).toMatchObject({ kind: 'ran', result: 'done' })
    await rig.server.restart()
    await eventually(async () => (await rig.admin.exists(NAME)) === 0)
    await rig.admin.flushall()
  })

  it('the error of the callback comes while it is down', async () => {
    const locks = await rig.client(PATIENT)
    const work = locks.getLock(NAME).withLock(async () => {
      await rig.server.kill()
      throw new Error('the work failed')
    })
    await expect(soon(work)).rejects.toThrow('the work failed')
    await rig.server.restart()
    await eventually(free)
  })

  it('trust that ended before the callback did is still a loss, with the result', async () => {
    const locks = await rig.client({ ...PATIENT, lockWatchdogTimeout: 400, commandTimeout: 100 })
    const work = locks.getLock(NAME).withLock(async (hold) => {
      await rig.server.kill()
      await new Promise((resolve) => hold.signal.addEventListener('abort', resolve))
      return 'done'
    })
    const error = await soon(work).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(LockLostError)
    expect(error).toMatchObject({ reason: 'expired', result: 'done' })
    await rig.server.restart()
    await eventually(free)
  })

  it('release() of a hold still waits until it is known', async () => {
    const locks = await rig.client({ ...PATIENT, releaseWaitMs: 0 })
    const hold = await locks.getLock(NAME).acquire()
    await rig.server.kill()
    const order: string[] = []
    const releasing = hold.release().then((outcome) => order.push(outcome))
    // Later than any wait of 0 ms.
    await soon(locks.getLock('other').tryLock(1)).catch(() => order.push('another call has ended'))
    await rig.server.restart()
    await soon(releasing)
    expect(order).toEqual(['another call has ended', 'released'])
    await eventually(free)
  })

  it('releaseWaitMs: 0 waits for no answer', async () => {
    const locks = await rig.client({ ...PATIENT, releaseWaitMs: 0 })
    const result = await soon(
      locks.getLock(NAME).withLock(async () => {
        await rig.server.pause()
        return 'done'
      }),
    )
    expect(result).toBe('done')
    rig.server.resume()
    await eventually(free)
  })

  it('what is taken by hand inside the callback stays with its context, and can be given back', async () => {
    const locks = await rig.client({ ...PATIENT, releaseWaitMs: 50 })
    const lock = locks.getLock(NAME)
    await locks.run(async () => {
      await soon(
        lock.withLock(async () => {
          await lock.lock()
          await rig.server.kill()
        }),
      )
      const unlocking = lock.unlock()
      await rig.server.restart()
      await soon(unlocking)
    })
    await eventually(free)
  })
})

describe('close() after a withLock that did not wait for its release', () => {
  it('waits for it while the grace lasts (I5)', async () => {
    const locks = await rig.client({ ...PATIENT, commandTimeout: 100, releaseWaitMs: 0 })
    await soon(locks.getLock(NAME).withLock(killing))
    const closing = locks.close({ graceMs: 60_000 })
    // Longer than commandTimeout: it is the grace that lasts.
    await new Promise((resolve) => setTimeout(resolve, 300))
    await rig.server.restart()
    await soon(closing)
    expect(await free()).toBe(true)
  })

  it('ends with the grace, and release-failed tells', async () => {
    const locks = await rig.client({ ...PATIENT, commandTimeout: 100, releaseWaitMs: 0 })
    const failed = next(locks, 'release-failed')
    await soon(locks.getLock(NAME).withLock(killing))
    await soon(locks.close({ graceMs: 200 }))
    expect((await failed).error).toBeInstanceOf(RedisUnavailableError)
    await rig.server.restart()
    await rig.admin.del(NAME)
  })

  it('work that ends after the close leaves no timer (I5), and is told of its loss', async () => {
    const timers = new Set<object>()
    const clock = {
      ...systemRuntime,
      setTimer: (delayMs: number, fire: () => void) => {
        const key = {}
        timers.add(key)
        const timer = systemRuntime.setTimer(delayMs, () => {
          timers.delete(key)
          fire()
        })
        return {
          cancel: () => {
            timers.delete(key)
            timer.cancel()
          },
        }
      },
    }
    const locks = await rig.client({ clock })
    const [inside, end] = [signalled(), signalled()]
    const work = locks.getLock(NAME).withLock(async () => {
      inside.resolve()
      await end.promise
      return 'done'
    })
    await inside.promise
    await soon(locks.close({ graceMs: 0 }))
    expect(timers.size).toBe(0)
    end.resolve()
    const error = await soon(work).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'closed', result: 'done' })
    expect(timers.size).toBe(0)
  })

  it('a close that comes during the wait does not lengthen it', async () => {
    const locks = await rig.client({ ...PATIENT, commandTimeout: 100, releaseWaitMs: 120_000 })
    const inside = signalled()
    const work = locks.getLock(NAME).withLock(async () => {
      await rig.server.kill()
      inside.resolve()
      return 'done'
    })
    await inside.promise
    await soon(locks.close({ graceMs: 200 }))
    expect(await soon(work)).toBe('done')
    await rig.server.restart()
    await rig.admin.del(NAME)
  })
})
