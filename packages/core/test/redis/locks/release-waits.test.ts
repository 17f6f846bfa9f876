import { AsyncResource } from 'node:async_hooks'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { Locked } from '../../../src/entries/decorators/index.js'
import {
  InvalidArgumentError,
  LockLostError,
  RedisUnavailableError,
  type Hold,
  type LockClient,
  type LockClientOptions,
} from '../../../src/index.js'
import { exclusive } from '../../../src/entries/schedule/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { systemRuntime } from '../../../src/runtime/runtime.js'
import { releaseScript } from '../../../src/scripts/lock.js'
import { failureOf, lostAt, nextEvent } from '../support/outcomes.js'
import { onNodeRedis, scriptsRunBy } from '../support/carrier.js'
import { eventually, signalled, soon } from '../support/rig.js'
import { describe, it, useRig } from '../support/together.js'

const NAME = 'order:42'
// Keeps its data over a crash: every write is on disk before it is answered.
const rig = useRig({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })

// A call that waits until its release is known would outlast the test.
const PATIENT = { unavailableTimeoutMs: 120_000, lockWatchdogTimeout: 120_000, releaseWaitMs: 50 }

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

/** Whatever releases by itself when its work is done. */
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

/** The calls, and what tells that all they had has come back. */
const ALL: typeof PERMIT_CALLS = {
  ...Object.fromEntries(Object.entries(CALLS).map(([name, call]) => [name, [call, () => free]])),
  ...PERMIT_CALLS,
  'a run of a schedule': [
    async (locks, work) => {
      const outcome = await exclusive(NAME, { locks }, work)()
      return outcome.kind === 'ran' ? outcome.result : outcome.reason
    },
    () => free,
  ],
}

const killing: Work = async () => {
  await rig.server.kill()
  return 'done'
}

describe('Redis goes down during the work', () => {
  it.each(Object.keys(ALL))(
    '%s: the result comes while it is down, and what it had comes back',
    async (name) => {
      const locks = await rig.client(PATIENT)
      const [call, isBack] = ALL[name]!
      expect(await soon(call(locks, killing))).toBe('done')
      await rig.server.restart()
      // Long before its lease ends.
      await eventually(isBack(locks))
      if (!(name in CALLS)) await rig.admin.flushall()
    },
  )

  it('releaseWaitMs is a second where nothing else is said', async () => {
    const locks = await rig.client({ ...PATIENT, releaseWaitMs: undefined })
    expect(await soon(locks.getLock(NAME).withLock(killing))).toBe('done')
    await rig.server.restart()
    await eventually(free)
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
      await lostAt(hold)
      return 'done'
    })
    const error = await failureOf(work)
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

  it('what is taken by hand inside the callback stays with its context, and can be released', async () => {
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

/** No wait of this client ends by itself: what settles was answered, or written. */
const WITHOUT_TIMERS = {
  runtime: { ...systemRuntime, setTimer: () => ({ cancel: () => undefined }) },
  releaseWaitMs: 0,
  lockWatchdogTimeout: 120_000,
}

/** Redis stands still from here on: it reads nothing and answers nothing. */
const stopping: Work = async () => {
  await rig.server.pause()
  return 'done'
}

const turnsOfTheLoop = async (count = 10): Promise<void> => {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve))
}

let runs = 0

describe('with releaseWaitMs: 0, once the release is written, without an answer,', () => {
  const kinds: typeof ALL = {
    ...ALL,
    'a shared run': [
      async (locks, work) => getShare(locks, 'tokens', {}).run(`${(runs += 1)}`, work),
      () => async () => (await rig.admin.keys('share:*')).length === 0,
    ],
  }

  it.each(Object.keys(kinds))('%s settles, and what it had comes back', async (name) => {
    const [call, isBack] = kinds[name]!
    const locks = await rig.client(WITHOUT_TIMERS)
    // The first release on a connection may find that Redis does not know the script.
    expect(await soon(call(locks, () => Promise.resolve('known')))).toBe('known')
    // A share runs outside the async context of its callers, by which this test is known.
    expect(await soon(call(locks, AsyncResource.bind(stopping)))).toBe('done')
    rig.server.resume()
    await eventually(isBack(locks))
    await rig.admin.flushall()
  })

  it('release({ wait: false }) says that it was sent, whatever releaseWaitMs is', async () => {
    const locks = await rig.client({ ...WITHOUT_TIMERS, releaseWaitMs: 60_000 })
    await (await locks.getLock(NAME).acquire()).release()
    const hold = await locks.getLock(NAME).acquire()
    const both = await locks.getMultiLock(locks.getLock('a'), locks.getLock('b')).acquire()
    await rig.server.pause()
    expect(await soon(hold.release({ wait: false }))).toBe('sent')
    expect(await soon(both.release({ wait: false }))).toBe('sent')
    expect(await hold.release({ wait: false })).toBe('already-released')
    rig.server.resume()
    await eventually(free)
    await eventually(async () => (await rig.admin.exists('a', 'b')) === 0)
  })

  it('none of many settles before it has left the process', async () => {
    const connection = rig.connection()
    const sent = scriptsRunBy(connection)
    const locks = await rig.client({ ...WITHOUT_TIMERS, commandBatchSize: 1 }, connection)
    const names = Array.from({ length: 12 }, (_, i) => `order:${i}`)
    await (await locks.getLock(NAME).acquire()).release()
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    const before = sent().length
    await Promise.race(holds.map((hold) => hold.release({ wait: false })))
    expect(sent().slice(before)).toEqual(names.map(() => releaseScript.sha1))
    await eventually(async () => (await rig.admin.exists(...names)) === 0)
  })

  it('those of one turn leave together, however few, in at most two scripts, and so do the calls that follow', async () => {
    const connection = rig.connection()
    const sent = scriptsRunBy(connection)
    const locks = await rig.client(WITHOUT_TIMERS, connection)
    const names = Array.from({ length: 4 }, (_, i) => `order:${i}`)
    const twiceEach = (): Promise<unknown> =>
      Promise.all(
        names.map(async (name) => {
          await locks.getLock(name).withLock(() => undefined)
          await locks.getLock(name).withLock(() => undefined)
        }),
      )
    // The first releases on a connection wait for their answer.
    await twiceEach()
    await turnsOfTheLoop()
    const before = sent().length
    await twiceEach()
    // The first of four steps in one, the others in two at most. An answer of the calls before may make one part smaller.
    expect(sent().length - before).toBeLessThanOrEqual(7)
    await eventually(async () => (await rig.admin.exists(...names)) === 0)
  })

  it('a lock that somebody deleted is told by the event, not by the result', async () => {
    const locks = await rig.client(WITHOUT_TIMERS)
    await locks.getLock(NAME).withLock(() => undefined)
    const lost = nextEvent(locks, 'lost')
    await soon(locks.getLock(NAME).withLock(() => rig.admin.del(NAME)))
    expect((await lost).error).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
  })

  it('close() waits for the answer (I5)', async () => {
    const locks = await rig.client({ ...WITHOUT_TIMERS, runtime: undefined })
    await locks.getLock(NAME).withLock(() => undefined)
    await soon(locks.getLock(NAME).withLock(stopping))
    const order: string[] = []
    const closing = locks.close().then(() => order.push('closed'))
    await turnsOfTheLoop()
    order.push('resumed')
    rig.server.resume()
    await soon(closing)
    expect(order).toEqual(['resumed', 'closed'])
    expect(await free()).toBe(true)
  })

  it.each(['redis', 'ioredis'])('a process of %s may end right behind it', async (url) => {
    const worker = fileURLToPath(new URL('../workers/leaves-and-exits.mjs', import.meta.url))
    for (let i = 0; i < 3; i += 1) {
      await promisify(execFile)(process.execPath, [worker, rig.server.url, url])
      await eventually(free)
    }
  })
})

describe('with releaseWaitMs: 0, the answer is waited for', () => {
  const without = async (
    prepare: (locks: LockClient) => Promise<{ release(): Promise<unknown> }>,
    options: LockClientOptions = {},
  ) => {
    const locks = await rig.client({ ...WITHOUT_TIMERS, ...options })
    const hold = await prepare(locks)
    await rig.server.pause()
    const order: string[] = []
    const released = hold.release().then((outcome) => order.push(outcome as string))
    await turnsOfTheLoop()
    order.push('resumed')
    rig.server.resume()
    await soon(released)
    return order
  }
  const sending = (hold: Hold) => ({ release: () => hold.release({ wait: false }) })

  it('by the first release on a connection: Redis may not know the script', async () => {
    const order = await without(async (locks) => sending(await locks.getLock(NAME).acquire()))
    expect(order).toEqual(['resumed', 'released'])
  })

  it('by a level that is not the last (I2)', async () => {
    let outer: Hold | undefined
    const order = await without(async (locks) => {
      const lock = locks.thread().getLock(NAME)
      await (await lock.acquire()).release()
      outer = await lock.acquire()
      return sending(await lock.acquire())
    })
    expect(order).toEqual(['resumed', 'still-held'])
    await outer!.release()
  })

  it('while another command of the hold has no answer (I2)', async () => {
    const order = await without(async (locks) => {
      await (await locks.getLock(NAME).acquire()).release()
      const hold = await locks.getLock(NAME).acquire()
      return {
        release: () => {
          void hold.extend(130_000).catch(() => undefined)
          return hold.release({ wait: false })
        },
      }
    })
    expect(order).toEqual(['resumed', 'released'])
  })

  it('with enableAutoPipelining of ioredis, which sends later', async () => {
    const locks = await rig.client(WITHOUT_TIMERS, rig.connection({ enableAutoPipelining: true }))
    await (await locks.getLock(NAME).acquire()).release()
    const hold = await locks.getLock(NAME).acquire()
    // node-redis has no such option.
    expect(await hold.release({ wait: false })).toBe(onNodeRedis ? 'sent' : 'released')
  })

  it('an option of another shape is refused', async () => {
    const hold = await (await rig.client()).getLock(NAME).acquire()
    expect(() => hold.release({ wait: 'no' as never })).toThrow(InvalidArgumentError)
    expect(() => hold.release({ waits: false } as never)).toThrow(InvalidArgumentError)
    await hold.release()
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
    const failed = nextEvent(locks, 'release-failed')
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
    const locks = await rig.client({ runtime: clock })
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
    const error = await failureOf(work)
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
