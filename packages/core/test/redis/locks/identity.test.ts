import { describe as describeAlone, expect, it as itAlone } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFile, readdir } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  ContextRequiredError,
  LockLostError,
  LockTimeoutError,
  NotLockOwnerError,
  SelfDeadlockError,
  type Hold,
  type LockHold,
  type AnyLock,
  type Lock,
  type LockClient,
} from '../../../src/index.js'
import { nextEvent } from '../support/outcomes.js'
import { CriticalSection, oneAfterAnother } from '../support/critical-section.js'
import { eventually, signalled, useRig as useRigAlone } from '../support/rig.js'
import { reentrantKinds } from '../support/lock-kinds.js'
import { describe, it, own, useRig } from '../support/together.js'
import { useWarnings } from '../support/warnings.js'

// A read lock excludes nobody of its own, and what is not reentrant has tests of its own.
const exclusiveKinds = reentrantKinds.filter((kind) => kind.excludesItself)

const rig = useRig({ redis: 'all' })
const locks = own(() => rig.client())

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

describeAlone('identity: bare callers', () => {
  const rig = useRigAlone({ redis: 'all' })
  const warnings = useWarnings()

  itAlone.each(['allow', 'warn'] as const)(
    "300 concurrent callers of one lock object never overlap, with bareCalls '%s' (I1)",
    async (bareCalls) => {
      const locks = await rig.client({ bareCalls })
      const lock = locks.getLock(rig.name())
      const section = new CriticalSection(rig.admin, rig.name('counter'))
      const request = async (): Promise<void> => {
        await lock.lock()
        try {
          await section.enter()
        } finally {
          await lock.unlock()
        }
      }
      await Promise.all(times(300, request))
      expect(await section.result()).toEqual(oneAfterAnother(300))
      expect(await lock.isLocked()).toBe(false)
      expect(await warnings.delivered('HOLDFAST_BARE_CALLS', rig.name())).toEqual([])
    },
  )

  itAlone(
    'the accident of a refused caller: its `finally { unlock() }` releases the hold of the other, who then gets NotLockOwnerError; one warning per name has both call stacks and the fix',
    async () => {
      const locks = await rig.client({ bareCalls: 'warn' })
      const lock = locks.getLock(rig.name())
      async function holdingRequest(): Promise<void> {
        await lock.lock()
      }
      async function refusedRequest(): Promise<boolean> {
        try {
          return await lock.tryLock()
        } finally {
          await lock.unlock()
        }
      }
      for (let round = 0; round < 2; round += 1) {
        await holdingRequest()
        expect(await refusedRequest()).toBe(false)
        expect(await lock.isLocked()).toBe(false)
        await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
      }
      const warned = await warnings.delivered('HOLDFAST_BARE_CALLS', rig.name())
      expect(warned).toHaveLength(1)
      expect(warned[0]!.message).toMatch(/refusedRequest[^]*holdingRequest/)
      expect(warned[0]!.message).toMatch(/withLock\([^]*locks\.run\(/)
    },
  )

  itAlone("bareCalls 'allow' never warns", async () => {
    const locks = await rig.client({ bareCalls: 'allow' })
    const lock = locks.getLock(rig.name())
    await lock.lock()
    expect(await lock.tryLock()).toBe(false)
    await lock.unlock()
    expect(await warnings.delivered('HOLDFAST_BARE_CALLS')).toEqual([])
  })

  itAlone('bare callers of one object that do not overlap are nothing to warn of', async () => {
    const locks = await rig.client({ bareCalls: 'warn' })
    const lock = locks.getLock(rig.name())
    for (let i = 0; i < 3; i += 1) {
      await lock.lock()
      await lock.unlock()
      await lock.withLock(() => lock.withLock(() => undefined))
    }
    expect(await warnings.delivered('HOLDFAST_BARE_CALLS')).toEqual([])
  })

  itAlone('bare calls that have ended are not kept in memory', async () => {
    const locks = await rig.client({ bareCalls: 'warn' })
    const lock = locks.getLock(rig.name())
    const rounds = async (count: number): Promise<number> => {
      for (let i = 0; i < count; i += 1) {
        await lock.lock()
        await lock.unlock()
      }
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    let [before, growth] = [await rounds(500), Infinity]
    // A call and where it was made take more than half a KiB. What else grows in this process does not do so each time.
    for (let times = 0; times < 4 && growth >= 1_000_000; times += 1) {
      const after = await rounds(3_000)
      ;[before, growth] = [after, after - before]
    }
    expect(growth).toBeLessThan(1_000_000)
  })

  itAlone.each(['one object', 'two objects of one name'])(
    'a bare recursive lock() through %s waits for itself: a warning with both call stacks',
    async (objects) => {
      const locks = await rig.client({ bareCalls: 'warn' })
      const lock = locks.getLock(rig.name())
      const other = objects === 'one object' ? lock : locks.getLock(rig.name())
      async function outerCall(): Promise<Hold> {
        await lock.lock()
        return innerCall()
      }
      async function innerCall(): Promise<Hold> {
        return other.lock()
      }
      const recursive = outerCall()
      await eventually(() => warnings.of('HOLDFAST_BARE_CALLS', rig.name()).length > 0)
      const [warned] = warnings.of('HOLDFAST_BARE_CALLS', rig.name())
      expect(warned!.message).toMatch(/2000 ms[^]*Waiting: [^]*innerCall[^]*Holding: [^]*outerCall/)
      await lock.unlock()
      await (await recursive).release()
    },
  )

  const waysToLose: Record<string, (lock: Lock) => Promise<unknown>> = {
    'the holder has noticed': async (lock) => {
      const hold = await lock.lock()
      await rig.admin.del(rig.name())
      await expect(hold.verify()).rejects.toThrow(LockLostError)
    },
    'nobody has noticed': async (lock) => {
      await lock.lock()
      await rig.admin.del(rig.name())
    },
    'it was forced': async (lock) => {
      await lock.lock()
      await lock.forceUnlock()
    },
    'its lease ended': (lock) => lock.lock(200),
  }
  itAlone.each(Object.keys(waysToLose))(
    "a late unlock after a loss throws and does not free the next bare caller's hold, when %s (I2)",
    async (how) => {
      const locks = await rig.client()
      const lock = locks.getLock(rig.name())
      await waysToLose[how]!(lock)
      const next = await lock.lock()
      await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
      await next.verify()
      expect(await lock.getHoldCount()).toBe(1)
      await lock.unlock()
      expect(await lock.isLocked()).toBe(false)
    },
  )

  itAlone('each of several lost bare holds owes one unlock, and no more', async () => {
    const lock = (await rig.client()).getLock(rig.name())
    for (let i = 0; i < 3; i += 1) {
      await lock.lock()
      await lock.forceUnlock()
    }
    const next = await lock.lock()
    for (let i = 0; i < 3; i += 1) {
      await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
    }
    await next.verify()
    await lock.unlock()
    expect(await lock.isLocked()).toBe(false)
    await lock.lock()
    await lock.unlock()
    await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
  })

  itAlone('unlock(hold) releases that hold, whatever else the object has', async () => {
    const lock = (await rig.client()).getLock(rig.name())
    const hold = await lock.lock()
    await lock.unlock(hold)
    await expect(lock.unlock(hold)).rejects.toThrow(NotLockOwnerError)
    const next = await lock.lock()
    await expect(lock.unlock(hold)).rejects.toThrow(NotLockOwnerError)
    await next.verify()
    await lock.unlock()
  })

  itAlone('a hold of one lock object is not the bare hold of another', async () => {
    const locks = await rig.client()
    const [one, other] = [locks.getLock(rig.name()), locks.getLock(rig.name())]
    await one.lock()
    await expect(other.unlock()).rejects.toThrow(NotLockOwnerError)
    await one.unlock()
  })

  itAlone(
    "bareCalls 'throw': lock, tryLock and unlock outside any context are ContextRequiredError, and take nothing",
    async () => {
      const locks = await rig.client({ bareCalls: 'throw' })
      const lock = locks.getLock(rig.name())
      for (const call of [
        () => lock.lock(),
        () => lock.tryLock(),
        () => lock.tryLock(100),
        () => lock.unlock(),
      ]) {
        await expect(call()).rejects.toThrow(ContextRequiredError)
      }
      expect(await lock.isLocked()).toBe(false)
    },
  )

  itAlone("bareCalls 'throw': contexts, threads, withLock and holds work as ever", async () => {
    const locks = await rig.client({ bareCalls: 'throw' })
    const lock = locks.getLock(rig.name())
    await locks.run(async () => {
      await lock.lock()
      expect(await lock.tryLock()).toBe(true)
      await lock.unlock()
      await lock.unlock()
    })
    const threads = locks.thread().getLock(rig.name())
    await threads.lock()
    await threads.unlock()
    await lock.withLock(async () => {
      await lock.lock()
      await lock.unlock()
    })
    const hold = await lock.acquire()
    await lock.unlock(hold)
    expect(await lock.isLocked()).toBe(false)
  })
})

describeAlone('identity: the source', () => {
  itAlone('AsyncLocalStorage.enterWith, which leaks into siblings, is used nowhere', async () => {
    const packages = new URL('../../../../', import.meta.url)
    const files = (await readdir(packages, { recursive: true })).filter((each) =>
      /^[^/]+\/src\/.*\.ts$/.test(each),
    )
    expect(files.length).toBeGreaterThan(20)
    const texts = await Promise.all(files.map((each) => readFile(new URL(each, packages), 'utf8')))
    expect(files.filter((_, i) => /\benterWith\s*\(/.test(texts[i]!))).toEqual([])
  })
})

describe.each(exclusiveKinds)('identity, contexts: $name', (kind) => {
  const lock = own(() => kind.of(locks, rig.name()))
  const holdsInRedis = async (): Promise<number[]> =>
    Object.values(await kind.holds(rig.admin, rig.name())).map(Number)

  it('inside run, nested calls re-enter across awaits, timers and immediates', async () => {
    await locks.run(async () => {
      const outer = await lock.lock()
      const inTimer = signalled<LockHold>()
      setTimeout(() => void lock.lock().then(inTimer.resolve), 1)
      const inImmediate = signalled<LockHold>()
      setImmediate(() => void lock.lock().then(inImmediate.resolve))
      const inCallback = signalled<LockHold>()
      void rig.admin.ping(() => void lock.lock().then(inCallback.resolve))
      const holds = [
        outer,
        await lock.lock(),
        await lock.acquire(),
        await inTimer.promise,
        await inImmediate.promise,
        await inCallback.promise,
      ]
      expect(new Set(holds.map((hold) => hold.owner)).size).toBe(1)
      expect(await lock.getHoldCount()).toBe(6)
      for (const hold of holds) {
        await lock.unlock(hold)
      }
      expect(await lock.isLocked()).toBe(false)
    })
  })

  it.each(['is free', 'is held by another client'])(
    'locks at the same time in one context all get it when it %s: hold count 3 (I2)',
    async (state) => {
      const others = await rig.client()
      const held = state === 'is free' ? null : await kind.of(others, rig.name()).acquire()
      await locks.run(async () => {
        const all = Promise.all([lock.lock(), lock.acquire(), lock.tryLock(60_000)])
        if (held) {
          await eventually(async () => (await kind.waiting(rig.admin, rig.name())) > 0)
          await held.release()
        }
        const [one, other] = await all
        expect(one.owner).toBe(other.owner)
        expect(await holdsInRedis()).toEqual([3])
        await Promise.all(times(3, () => lock.unlock()))
        expect(await lock.isLocked()).toBe(false)
      })
    },
  )

  it('locks and unlocks of one context at the same time leave exactly what is left (I2)', async () => {
    await locks.run(async () => {
      await lock.lock()
      await Promise.all(
        times(40, async () => {
          await lock.lock()
          await lock.unlock()
        }),
      )
      expect(await holdsInRedis()).toEqual([1])
      await lock.unlock()
      expect(await lock.isLocked()).toBe(false)
    })
  })

  it('run inside run joins: what the outer one holds is re-entered', async () => {
    await locks.run(async () => {
      await lock.lock()
      const inner = await locks.run(async () => {
        expect(await lock.tryLock()).toBe(true)
        return locks.currentThreadId
      })
      expect(inner).toBe(locks.currentThreadId)
      expect(await lock.getHoldCount()).toBe(2)
    })
  })

  it('contexts of two clients are strangers, also one inside the other', async () => {
    const [one, other] = [await rig.client(), await rig.client()]
    await one.run(async () => {
      await kind.of(one, rig.name()).lock()
      await other.run(async () => {
        expect(await kind.of(other, rig.name()).tryLock()).toBe(false)
        expect(await kind.of(one, rig.name()).tryLock()).toBe(true)
      })
    })
  })

  const around: Record<
    string,
    (locks: LockClient, lock: AnyLock, siblings: () => Promise<void>) => Promise<void>
  > = {
    run: (locks, _lock, siblings) => locks.run(siblings),
    'run that holds the lock': (locks, lock, siblings) =>
      locks.run(async () => {
        await lock.lock()
        await siblings()
        await lock.unlock()
      }),
    'run that holds the lock twice, once by withLock': (locks, lock, siblings) =>
      locks.run(async () => {
        await lock.lock()
        await lock.withLock(siblings)
        await lock.unlock()
      }),
    withLock: (_locks, lock, siblings) => lock.withLock(siblings),
    'withLock in withLock': (_locks, lock, siblings) => lock.withLock(() => lock.withLock(siblings)),
    'withLock in run': (locks, lock, siblings) => locks.run(() => lock.withLock(siblings)),
    'withLock that also locked by hand': (_locks, lock, siblings) =>
      lock.withLock(async () => {
        await lock.lock()
        await siblings()
        await lock.unlock()
      }),
    'a thread of its own': (locks, _lock, siblings) => {
      const thread = kind.of(locks.thread(), rig.name())
      return thread.withLock(siblings)
    },
    'no context': (_locks, _lock, siblings) => siblings(),
  }
  it.each(Object.keys(around))(
    'sibling withLocks of one context never overlap, inside: %s (I1)',
    async (where) => {
      const section = new CriticalSection(rig.admin, rig.name('counter'))
      const objects = [lock, kind.of(locks, rig.name())]
      await around[where]!(locks, lock, async () => {
        await Promise.all(times(12, (i) => objects[i % 2]!.withLock(section.enter)))
      })
      expect(await section.result()).toEqual(oneAfterAnother(12))
      expect(await lock.isLocked()).toBe(false)
    },
  )

  it.each([1, 2, 3])(
    'a tree of withLocks: siblings never overlap at any depth, seed %i (I1)',
    async (seed) => {
      const random = seededRandom(seed).next
      let [visited, overlaps] = [0, 0]
      const grow = async (depth: number): Promise<void> => {
        let inside = 0
        const child = async (): Promise<void> => {
          inside += 1
          visited += 1
          overlaps += inside > 1 ? 1 : 0
          if (random() < 0.3) {
            await lock.lock()
            await lock.unlock()
          }
          await grow(depth - 1)
          await rig.admin.ping()
          inside -= 1
        }
        const children = depth === 0 ? 0 : 1 + Math.floor(random() * 4)
        await Promise.all(times(children, () => lock.withLock(child)))
      }
      await locks.run(() => grow(4))
      expect(visited).toBeGreaterThan(10)
      expect(overlaps).toBe(0)
      expect(await lock.isLocked()).toBe(false)
    },
  )

  it('a nested withLock that outlives the outer one keeps siblings out until it has ended (I1)', async () => {
    const section = new CriticalSection(rig.admin, rig.name('counter'))
    await locks.run(async () => {
      const { nested } = await lock.withLock(async () => {
        const inside = signalled()
        const nested = lock.withLock(async () => {
          inside.resolve()
          for (let i = 0; i < 20; i += 1) {
            await section.enter()
          }
        })
        await inside.promise
        return { nested }
      })
      await Promise.all([nested, lock.withLock(section.enter), lock.withLock(section.enter)])
    })
    expect(await section.result()).toEqual(oneAfterAnother(22))
    expect(await lock.isLocked()).toBe(false)
  })

  it('recursion through withLock six deep: Redis has the true count at each level (I2)', async () => {
    const seen: number[] = []
    const look = async (): Promise<void> => {
      seen.push(...(await holdsInRedis()))
    }
    const descend = (depth: number): Promise<void> =>
      lock.withLock(async (hold) => {
        await look()
        expect(hold.count).toBe(depth)
        if (depth < 6) {
          await descend(depth + 1)
          await look()
        }
      })
    await descend(1)
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1])
    expect(await lock.isLocked()).toBe(false)
  })

  it('withLock outside any context makes its inside one: lock, tryLock and acquire re-enter there', async () => {
    await lock.withLock(async (hold) => {
      expect((await lock.lock()).owner).toBe(hold.owner)
      expect(await kind.of(locks, rig.name()).tryLock()).toBe(true)
      const inner = await lock.acquire()
      expect(await lock.getHoldCount()).toBe(4)
      expect(await lock.isHeldByCurrentContext()).toBe(true)
      await inner.release()
      await lock.unlock()
      await lock.unlock()
      expect(await holdsInRedis()).toEqual([1])
    })
    expect(locks.currentThreadId).toBeUndefined()
    expect(await lock.isLocked()).toBe(false)
  })

  it('what was taken by hand inside withLock and not released stays with the context', async () => {
    await locks.run(async () => {
      await lock.withLock(() => lock.lock())
      expect(await lock.getHoldCount()).toBe(1)
      expect(await lock.tryLock()).toBe(true)
      await lock.unlock()
      await lock.unlock()
      expect(await lock.isLocked()).toBe(false)
    })
  })

  it("fork separates: the parent's hold keeps it out, and two forks keep out each other", async () => {
    const section = new CriticalSection(rig.admin, rig.name('counter'))
    await locks.run(async () => {
      await lock.lock()
      expect(await locks.fork(() => lock.tryLock())).toBe(false)
      await lock.unlock()
      const fork = async (): Promise<void> => {
        await lock.lock()
        await section.enter()
        await lock.unlock()
      }
      await Promise.all(times(8, () => locks.fork(fork)))
    })
    expect(await section.result()).toEqual(oneAfterAnother(8))
  })

  it.each(['lock', 'withLock'] as const)(
    'a fork that waits without a limit for what its parent took by %s is SelfDeadlockError at once',
    async (how) => {
      const locks = await rig.slow()
      const lock = kind.of(locks, rig.name())
      const inside = async (): Promise<void> => {
        const waits: (() => Promise<unknown>)[] = [
          () => lock.lock(),
          () => lock.acquire(),
          () => lock.withLock(() => undefined),
        ]
        for (const wait of waits) {
          await expect(locks.fork(wait)).rejects.toThrow(SelfDeadlockError)
          await expect(locks.fork(() => locks.fork(wait))).rejects.toMatchObject({ code: 'SELF_DEADLOCK' })
        }
        expect(await locks.fork(() => lock.tryLock(1))).toBe(false)
        await expect(locks.fork(() => lock.acquire({ waitMs: 1 }))).rejects.toThrow(LockTimeoutError)
        expect(await lock.getHoldCount()).toBe(1)
      }
      if (how === 'withLock') {
        await lock.withLock(inside)
      } else {
        await locks.run(async () => {
          await lock.lock()
          await inside()
          await lock.unlock()
        })
      }
      expect(await lock.isLocked()).toBe(false)
    },
  )

  it('a detached fork waits for what its parent holds, and gets it afterwards', async () => {
    const order: string[] = []
    const waiting = nextEvent(locks, 'waiting')
    const { task } = await locks.run(async () => {
      await lock.lock()
      const task = locks.fork(
        async () => {
          await lock.lock()
          order.push('task')
          await lock.unlock()
        },
        { detached: true },
      )
      await waiting
      order.push('parent')
      await lock.unlock()
      return { task }
    })
    await task
    expect(order).toEqual(['parent', 'task'])
  })

  it('a task that outlives its run acquires nothing in its name, but can release what it holds', async () => {
    const gone = signalled()
    const locks = await rig.slow()
    const lock = kind.of(locks, rig.name())
    const { task } = await locks.run(async () => {
      await lock.lock()
      const task = (async () => {
        await gone.promise
        expect(locks.currentThreadId).toBeUndefined()
        expect(await lock.tryLock()).toBe(false)
        expect(await lock.tryAcquire()).toBeNull()
        await expect(lock.withLock(() => undefined, { waitMs: 1 })).rejects.toThrow(LockTimeoutError)
        expect(await holdsInRedis()).toEqual([1])
        await lock.unlock()
        expect(await lock.isLocked()).toBe(false)
        await expect(lock.unlock()).rejects.toThrow(NotLockOwnerError)
      })()
      return { task }
    })
    gone.resolve()
    await task
  })

  it('a task that outlives its withLock acquires nothing in its name, but can release what it holds', async () => {
    const other = kind.of(locks, rig.name('other'))
    const gone = signalled()
    const { task } = await lock.withLock(async () => {
      await other.lock()
      const task = (async () => {
        await gone.promise
        expect(await lock.tryLock()).toBe(false)
        await other.unlock()
        expect(await other.isLocked()).toBe(false)
      })()
      return { task }
    })
    await lock.withLock(async () => {
      gone.resolve()
      await task
    })
  })

  it('a task that outlives a withLock inside a living run is no longer inside that withLock', async () => {
    const gone = signalled()
    await locks.run(async () => {
      const { task } = await lock.withLock(() => ({
        task: gone.promise.then(() => lock.tryLock()),
      }))
      await lock.withLock(async () => {
        gone.resolve()
        expect(await task).toBe(false)
      })
    })
  })

  it('user code after a wait runs in the async context of the waiter, not of whoever woke it', async () => {
    const store = new AsyncLocalStorage<number>()
    const locks = await rig.slow()
    const lock = kind.of(locks, rig.name())
    const ways: ((i: number) => Promise<unknown>)[] = [
      async () => {
        const hold = await lock.lock()
        const seen = store.getStore()
        await hold.release()
        return seen
      },
      async () => {
        const hold = await lock.acquire()
        const seen = store.getStore()
        await hold.release()
        return seen
      },
      () => lock.withLock(() => store.getStore()),
      () => locks.run(() => lock.withLock(() => store.getStore())),
      (i) =>
        lock.acquire({ waitMs: 0.2 + i / 100 }).catch((error: unknown) => {
          expect(error).toBeInstanceOf(LockTimeoutError)
          return store.getStore()
        }),
    ]
    const held = await store.run(-1, () => lock.acquire())
    const waits = times(20, (i) => store.run(i, () => ways[i % ways.length]!(i)))
    // Those with a limit.
    await Promise.all(waits.filter((_, i) => i % ways.length === 4))
    await store.run(-2, () => held.release())
    expect(await Promise.all(waits)).toEqual(times(20, (i) => i))
  })
})

describe.each(exclusiveKinds)('identity, explicit threads: $name', (kind) => {
  it('a thread re-enters through its own locks wherever they are used, and is known by its id', async () => {
    const [thread, other] = [locks.thread(), locks.thread()]
    await kind.of(thread, rig.name()).lock()
    const ids = [thread.id, other.id]
    expect(await Promise.all(ids.map((id) => kind.of(locks, rig.name()).isHeldByThread(id)))).toEqual([
      true,
      false,
    ])
    expect(await kind.of(thread, rig.name()).isHeldByCurrentContext()).toBe(true)
    expect(await kind.of(other, rig.name()).isHeldByCurrentContext()).toBe(false)
    expect(await kind.of(thread, rig.name()).tryLock()).toBe(true)
    await locks.run(async () => {
      expect(await kind.of(thread, rig.name()).tryLock()).toBe(true)
      expect(await kind.of(locks, rig.name()).tryLock()).toBe(false)
    })
    expect(await kind.of(thread, rig.name()).getHoldCount()).toBe(3)
    await kind.of(thread, rig.name()).withLock(async (hold) => {
      expect(hold.count).toBe(4)
      expect((await kind.of(thread, rig.name()).lock()).owner).toBe(hold.owner)
      await kind.of(thread, rig.name()).unlock()
    })
    for (let level = 3; level > 0; level -= 1) {
      await kind.of(thread, rig.name()).unlock()
    }
    await expect(kind.of(thread, rig.name()).unlock()).rejects.toThrow(NotLockOwnerError)
    expect(await kind.of(locks, rig.name()).isLocked()).toBe(false)
  })

  it('two threads exclude each other, and bare callers', async () => {
    const section = new CriticalSection(rig.admin, rig.name('counter'))
    const caller = async (lock: AnyLock): Promise<void> => {
      await lock.lock()
      await section.enter()
      await lock.unlock()
    }
    const threads = times(4, () => kind.of(locks.thread(), rig.name()))
    await Promise.all([...threads, kind.of(locks, rig.name())].map(caller))
    expect(await section.result()).toEqual(oneAfterAnother(5))
  })
})
