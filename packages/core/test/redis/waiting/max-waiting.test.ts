import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../../src/index.js'
import { eventually, soon, useRig } from '../support/rig.js'

const NAME = 'bucket'

const rig = useRig()

interface Limits {
  readonly maxWaiting?: number
  readonly waitMs?: number
  readonly signal?: AbortSignal
}

/** A kind of lock: how to get it, without a wait and with one, and how many it has. */
interface Kind {
  readonly take: (locks: LockClient, limits?: Limits) => Promise<() => Promise<unknown>>
  /** Redis counts the line, so that callers of other clients count one by one. */
  readonly isExact?: true
  /** Callers of one client stand in a line of their own, behind the first, which alone stands beside other clients. */
  readonly isQueuedFirst?: true
  readonly begin?: (locks: LockClient) => Promise<unknown>
}

type Acquire = (limits: Limits) => Promise<{ release(): Promise<unknown> }>

const held = (acquire: (locks: LockClient) => Acquire): Kind['take'] => {
  return async (locks, limits = {}) => {
    const hold = await acquire(locks)(limits)
    return () => hold.release()
  }
}

const kinds: Record<string, Kind> = {
  'a plain lock': { take: held((locks) => (limits) => locks.getLock(NAME).acquire(limits)) },
  'a fair lock': {
    take: held((locks) => (limits) => locks.getFairLock(NAME).acquire(limits)),
    isExact: true,
  },
  'a fenced lock': { take: held((locks) => (limits) => locks.getFencedLock(NAME).acquire(limits)) },
  'a write lock': {
    take: held((locks) => (limits) => locks.getReadWriteLock(NAME).writeLock().acquire(limits)),
  },
  'a multi lock': {
    take: held(
      (locks) => (limits) => locks.getMultiLock(locks.getLock(NAME), locks.getLock('b')).acquire(limits),
    ),
    isQueuedFirst: true,
  },
  'a semaphore': {
    begin: (locks) => locks.getSemaphore(NAME).trySetPermits(1),
    take: async (locks, limits) => {
      await locks.getSemaphore(NAME).acquire(limits)
      return () => locks.getSemaphore(NAME).release()
    },
  },
  'a semaphore whose permits end': {
    begin: (locks) => locks.getPermitExpirableSemaphore(NAME).trySetPermits(1),
    take: async (locks, limits) => {
      const id = await locks.getPermitExpirableSemaphore(NAME).acquire(limits)
      return () => locks.getPermitExpirableSemaphore(NAME).release(id)
    },
  },
}

/** Calls that wait, and a count of those that Redis has refused or that stand behind others. */
class Waiting {
  count = 0
  readonly #abort = new AbortController()
  readonly #calls: Promise<unknown>[] = []

  constructor(readonly kind: Kind) {}

  listen(locks: LockClient): LockClient {
    locks.on('waiting', () => (this.count += 1))
    return locks
  }

  /** Begins to wait, and is not refused. */
  async one(locks: LockClient, limits: Limits = {}): Promise<void> {
    const before = this.count
    this.#calls.push(this.kind.take(locks, { ...limits, signal: this.#abort.signal }))
    this.#calls.at(-1)?.catch(() => undefined)
    await eventually(() => this.count === before + 1)
  }

  async end(): Promise<void> {
    this.#abort.abort(new Error('over'))
    for (const each of await Promise.allSettled(this.#calls)) {
      expect(each).toMatchObject({ status: 'rejected', reason: { message: 'over' } })
    }
  }
}

describe.each(Object.entries(kinds))('%s with maxWaiting', (_, kind) => {
  const crowd = async () => {
    const [holder, mine, theirs] = [await rig.client(), await rig.client(), await rig.client()]
    await kind.begin?.(holder)
    rig.atEnd(() => rig.admin.del(NAME))
    const free = await kind.take(holder)
    const waiting = new Waiting(kind)
    return { mine: waiting.listen(mine), theirs: waiting.listen(theirs), waiting, free }
  }

  it('refuses a call at once when so many of this client wait, and those go on', async () => {
    const { mine, waiting, free } = await crowd()
    await waiting.one(mine, { maxWaiting: 1 })
    await waiting.one(mine, { maxWaiting: 2 })
    await expect(soon(kind.take(mine, { maxWaiting: 2 }))).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      waiting: 2,
      maxWaiting: 2,
      firstWaitedMs: expect.any(Number),
    })
    expect(waiting.count).toBe(2)
    await waiting.end()
    await free()
  })

  it('counts the callers of other clients: each of a fair lock, else each client', async () => {
    const { mine, theirs, waiting, free } = await crowd()
    await waiting.one(theirs)
    await waiting.one(theirs)
    // Its connection counts once it listens.
    const channels = async () => await rig.admin.pubsub('CHANNELS', `*${NAME}*`)
    await eventually(async () => kind.isExact === true || (await channels()).length > 0)
    const most = kind.isExact ? 2 : 1
    await expect(soon(kind.take(mine, { maxWaiting: most }))).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      waiting: most,
    })
    await waiting.one(mine, { maxWaiting: most + 1 })
    if (kind.isQueuedFirst) {
      await waiting.one(mine, { maxWaiting: most + 1 })
    }
    const more = kind.take(mine, { maxWaiting: most + 1 })
    await expect(soon(more)).rejects.toMatchObject({ code: 'LOCK_BUSY', waiting: most + 1 })
    await waiting.end()
    await free()
  })

  it('takes what is free, and never waits, with 0', async () => {
    const { mine, waiting, free } = await crowd()
    await expect(soon(kind.take(mine, { maxWaiting: 0 }))).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      waiting: 0,
    })
    await free()
    const freeAgain = await soon(kind.take(mine, { maxWaiting: 0 }))
    await freeAgain()
    await waiting.end()
  })
})

describe('maxWaiting', () => {
  it('is refused by a try with a wait, too, and says nothing to a try without one', async () => {
    const [holder, mine] = [await rig.client(), await rig.client()]
    const hold = await holder.getLock(NAME).acquire()
    const lock = mine.getLock(NAME)
    const busy = { code: 'LOCK_BUSY', holder: { owner: hold.owner } }
    await expect(soon(lock.tryAcquire({ waitMs: 5_000, maxWaiting: 0 }))).rejects.toMatchObject(busy)
    expect(await lock.tryAcquire({ maxWaiting: 0 })).toBeNull()
    await hold.release()
  })

  it('holds of a client for each call that has none of its own, and for Redisson-style calls', async () => {
    const [holder, mine] = [await rig.client(), await rig.client({ maxWaiting: 0 })]
    const hold = await holder.getLock(NAME).acquire()
    const lock = mine.getLock(NAME)
    const busy = { code: 'LOCK_BUSY' }
    await expect(soon(lock.lock())).rejects.toMatchObject(busy)
    await expect(soon(lock.tryLock(5_000))).rejects.toMatchObject(busy)
    await expect(soon(lock.withLock(() => 'never'))).rejects.toMatchObject(busy)
    const red = mine.getRedLock([lock])
    await expect(soon(red.acquire())).rejects.toMatchObject(busy)
    const waiting = lock.acquire({ maxWaiting: 1 })
    await hold.release()
    await (await soon(waiting)).release()
  })

  it.each([-1, 1.5, Number.NaN, '2', null])('is refused as %p', async (maxWaiting) => {
    const locks = await rig.client()
    const wrong = { maxWaiting } as unknown as { maxWaiting: number }
    const invalid = { code: 'INVALID_ARGUMENT', argument: 'maxWaiting' }
    await expect(locks.getLock(NAME).acquire(wrong)).rejects.toMatchObject(invalid)
    await expect(locks.getSemaphore(NAME).acquire(wrong)).rejects.toMatchObject(invalid)
    await expect(rig.client(wrong)).rejects.toMatchObject(invalid)
  })

  it('leaves never more in the queue of a fair lock, however many clients call at once', async () => {
    const MOST = 3
    const hold = await (await rig.client()).getFairLock(NAME).acquire()
    const clients = await Promise.all(Array.from({ length: 20 }, () => rig.client()))
    let longest = 0
    const look = async (): Promise<void> => {
      const length = await rig.admin.llen(`redisson_lock_queue:{${NAME}}`)
      longest = Math.max(longest, length)
    }
    const call = (locks: LockClient): Promise<string> =>
      locks
        .getFairLock(NAME)
        .withLock(look, { maxWaiting: MOST })
        .then(
          () => 'served',
          (error: unknown) => (error as { code: string }).code,
        )
    const calls = clients.map(call)
    await eventually(async () => (await look(), longest === MOST))
    await hold.release()
    const ends = await soon(Promise.all(calls))
    expect(longest).toBe(MOST)
    const countOf = (end: string): number => ends.filter((each) => each === end).length
    expect(countOf('LOCK_BUSY') + countOf('served')).toBe(20)
    expect(countOf('LOCK_BUSY')).toBeGreaterThan(0)
    expect(countOf('served')).toBeGreaterThanOrEqual(MOST)
  })

  it('does not count dead waiters at the head of the queue of a fair lock', async () => {
    const [holder, mine] = [await rig.client(), await rig.client()]
    const hold = await holder.getFairLock(NAME).acquire()
    const queue = `redisson_lock_queue:{${NAME}}`
    // A Java client that has died: its time is over.
    await rig.admin.rpush(queue, '6f0d0cbe-8e4a-4a41-9d39-1df3f8a9a0c1:1')
    await rig.admin.zadd(`redisson_lock_timeout:{${NAME}}`, 1, '6f0d0cbe-8e4a-4a41-9d39-1df3f8a9a0c1:1')
    const waiting = mine.getFairLock(NAME).acquire({ maxWaiting: 1 })
    await eventually(async () => (await rig.admin.llen(queue)) === 1)
    await hold.release()
    await (await soon(waiting)).release()
  })
})
