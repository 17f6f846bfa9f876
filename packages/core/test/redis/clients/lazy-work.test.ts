import { describe, expect, it } from '@jest/globals'
import { EventEmitter, on } from 'node:events'
import { Readable } from 'node:stream'
import { from } from 'rxjs'
import { getElection } from '../../../src/entries/election/index.js'
import type { LockClient } from '../../../src/index.js'
import { exclusive } from '../../../src/entries/schedule/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { useRig } from '../support/rig.js'

const rig = useRig({ redis: 'all' })

type Work = () => unknown
type Taker = (locks: LockClient, name: string, work: Work) => unknown

/** Semaphores stay: each test looks that all permits are there, and removes them. */
const permits = (name: string): string => `${name}:permits`
const whole = async (): Promise<void> => {
  for (const key of (await rig.keysLeft()).filter((each) => each.endsWith(':permits'))) {
    expect(await rig.admin.get(key)).toBe('1')
    await rig.admin.del(key)
  }
}

/** Under a lock: each of them holds `name` while the work runs. */
const underLock: Record<string, Taker> = {
  withLock: (locks, name, work) => locks.getLock(name).withLock(work),
  'withLock of a thread': (locks, name, work) => locks.thread().getLock(name).withLock(work),
  'withLock of a multi lock': (locks, name, work) => locks.getMultiLock(locks.getLock(name)).withLock(work),
}
const others: Record<string, Taker> = {
  run: (locks, _, work) => locks.run(work),
  'run inside run': (locks, _, work) => locks.run(() => locks.run(work)),
  'run inside run with a signal': (locks, _, work) =>
    locks.run(() => locks.run(work, { signal: new AbortController().signal })),
  fork: (locks, _, work) => locks.fork(work),
  withPermits: async (locks, name, work) => {
    const semaphore = locks.getSemaphore(permits(name))
    await semaphore.trySetPermits(1)
    return semaphore.withPermits(work)
  },
  withPermit: async (locks, name, work) => {
    const semaphore = locks.getPermitExpirableSemaphore(permits(name))
    await semaphore.trySetPermits(1)
    return semaphore.withPermit(work, { leaseMs: 10_000 })
  },
  'run of a share': (locks, name, work) => getShare(locks, name).run('k', work),
}
const withoutResult: Record<string, Taker> = {
  exclusive: (locks, name, work) => exclusive(name, { locks }, work)(),
  lead: (locks, name, work) => getElection(locks, name).lead(work),
}

async function* rows(): AsyncGenerator<string> {
  yield await Promise.resolve('row')
}
function* numbers(): Generator<number> {
  yield 1
}

const lazy: Record<string, Work> = {
  'is an async generator': rows,
  'is a generator': numbers,
  'returns an async generator': () => rows(),
  'returns a promise of a generator': () => Promise.resolve(numbers()),
  'returns an async iterator, as compilers make of generators': () => ({
    next: () => Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this
    },
  }),
  'returns the events of an emitter': () => on(new EventEmitter(), 'data'),
}
// Node 20 has none.
const { map } = Object.getPrototypeOf(Object.getPrototypeOf(numbers.prototype)) as { map?: unknown }
if (map) {
  lazy['returns what is made of a generator'] = () =>
    (numbers() as unknown as { map: (one: (x: number) => number) => unknown }).map((x) => x)
}

describe('work that is done when its result is read', () => {
  it.each(Object.entries({ ...underLock, ...others, ...withoutResult }))(
    'is refused by %s, which has released what it took',
    async (_, take) => {
      const locks = await rig.client()
      for (const [i, [what, work]] of Object.entries(lazy).entries()) {
        const name = rig.name(`${i}`)
        const failure = await Promise.resolve()
          .then(() => take(locks, name, work))
          .catch((error: unknown) => error)
        expect([what, failure]).toEqual([what, expect.objectContaining({ code: 'INVALID_ARGUMENT' })])
        expect((failure as Error).message).toMatch(/after the function has ended.*await lock\.acquire\(\)/)
        expect(await locks.getLock(name).isLocked()).toBe(false)
      }
      await whole()
    },
  )

  it.each<[string, unknown]>([
    ['an array', [1]],
    ['a Map', new Map([[1, 2]])],
    ['its values', new Map([[1, 2]]).values()],
    ['a stream, which may have begun', Readable.from(['a'])],
    ['an Observable', from([1])],
    ['a function', () => undefined],
    ['null', null],
  ])('is not %s: that is passed on', async (_, result) => {
    const locks = await rig.client()
    expect(await locks.getLock(rig.name()).withLock(() => result)).toBe(result)
    expect(locks.run(() => result)).toBe(result)
    expect(await locks.run(() => locks.run(() => Promise.resolve(result)))).toBe(result)
  })
})

describe('a query that starts when it is awaited, as of Knex, Drizzle and Prisma', () => {
  it.each(Object.entries({ ...underLock, ...others }))(
    'is started once by %s, in its context, and before it ends',
    async (how, take) => {
      const locks = await rig.client()
      const name = rig.name()
      const lock = locks.getLock(how in underLock ? name : rig.name('of the query'))
      const seen: unknown[] = []
      const query = (): unknown => {
        const outside = locks.currentThreadId
        return {
          // A lock that a hook of the query takes re-enters the one around it.
          then: (done: (rows: string) => void, failed: (error: unknown) => void) => {
            seen.push(outside === locks.currentThreadId)
            return lock
              .withLock(() => lock.isLocked(), { waitMs: 20_000 })
              .then((isLocked) => {
                seen.push(isLocked)
                done('rows')
              }, failed)
          },
        }
      }
      expect(await take(locks, name, query)).toBe('rows')
      expect(seen).toEqual([true, true])
      expect(await lock.isLocked()).toBe(false)
      await whole()
    },
  )
})
