import { describe, expect, it } from '@jest/globals'
import { AsyncResource } from 'node:async_hooks'
import { getElection } from '../../src/election/index.js'
import { detached, InvalidArgumentError, type LockClient } from '../../src/index.js'
import { exclusive } from '../../src/schedule/index.js'
import { getShare } from '../../src/share/index.js'
import { eventually, signalled, useHarness } from './support/harness.js'

/** Every way to wait, for something that somebody else has. */
const waits = (locks: LockClient, name: string): (() => Promise<unknown>)[] => [
  () => locks.getLock(name).lock(),
  () => locks.getLock(name).tryLock(20_000),
  () => locks.getLock(name).acquire(),
  () => locks.getLock(name).withLock(() => 'in'),
  () => locks.thread().getLock(name).lock(),
  () => locks.getFairLock(`${name}:fair`).lock(),
  () => locks.getReadWriteLock(`${name}:rw`).readLock().lock(),
  () => locks.getMultiLock(locks.getLock(name), locks.getLock(`${name}:free`)).lock(),
  () => locks.getRedLock(locks.getLock(name)).lock(),
  () => locks.getSemaphore(`${name}:semaphore`).acquire(),
  () => locks.getPermitExpirableSemaphore(`${name}:permits`).acquire(),
  () => locks.getCountDownLatch(`${name}:latch`).await(),
]

describe('the signal of a context', () => {
  const harness = useHarness()

  const takeAll = async (name: string): Promise<() => Promise<void>> => {
    const other = await harness.client()
    const holds = [
      await other.getLock(name).acquire(),
      await other.getFairLock(`${name}:fair`).acquire(),
      await other.getReadWriteLock(`${name}:rw`).writeLock().acquire(),
    ]
    await other.getCountDownLatch(`${name}:latch`).trySetCount(1)
    return async () => {
      for (const hold of holds) await hold.release()
      await other.getCountDownLatch(`${name}:latch`).delete()
    }
  }

  it('ends every kind of wait with its reason, and nothing stays behind', async () => {
    const name = harness.name()
    const giveBack = await takeAll(name)
    const locks = await harness.client()
    const request = new AbortController()
    let waiting = 0
    locks.on('waiting', () => (waiting += 1))
    const all = locks.run(() => waits(locks, name).map((wait) => locks.fork(wait)), {
      signal: request.signal,
    })
    const settled = Promise.allSettled(all)
    // Those of one line tell together, or once.
    await eventually(() => waiting >= 6)
    const reason = new Error('the client has gone')
    request.abort(reason)
    const outcomes = await settled
    expect(outcomes).toEqual(outcomes.map(() => ({ status: 'rejected', reason })))
    await giveBack()
  })

  it('refuses what is asked for after it, also what is free, and by a task that outlives the context', async () => {
    const locks = await harness.client()
    const gone = AbortSignal.abort(new Error('gone'))
    const lock = locks.getLock(harness.name())
    const ended = signalled()
    let outliving: Promise<unknown> = Promise.resolve()
    await locks.run(
      async () => {
        outliving = ended.promise.then(() => lock.withLock(() => 'in'))
        await expect(lock.tryLock()).rejects.toBe(gone.reason)
      },
      { signal: gone },
    )
    ended.resolve()
    await expect(outliving).rejects.toBe(gone.reason)
  })

  it('leaves alone what is held, and its release', async () => {
    const locks = await harness.client()
    const request = new AbortController()
    const lock = locks.getLock(harness.name())
    await locks.run(
      async () => {
        const hold = await lock.acquire()
        request.abort()
        expect(hold.signal.aborted).toBe(false)
        await hold.verify()
        await expect(lock.lock()).rejects.toBe(request.signal.reason)
        expect(await hold.release()).toBe('released')
      },
      { signal: request.signal },
    )
    expect(await lock.isLocked()).toBe(false)
  })

  it('of an inner run is added to that around it, and ends with it', async () => {
    const locks = await harness.client()
    const [outer, inner] = [new AbortController(), new AbortController()]
    const lock = locks.getLock(harness.name())
    await locks.run(
      async () => {
        const id = locks.currentThreadId
        await locks.run(
          async () => {
            expect(locks.currentThreadId).toBe(id)
            inner.abort()
            await expect(lock.tryLock()).rejects.toBe(inner.signal.reason)
          },
          { signal: inner.signal },
        )
        expect(await lock.tryLock()).toBe(true)
        await lock.unlock()
        outer.abort()
        const both = locks.run(() => lock.tryLock(), { signal: new AbortController().signal })
        await expect(both).rejects.toBe(outer.signal.reason)
      },
      { signal: outer.signal },
    )
  })

  it("beside the call's own signal: the first counts", async () => {
    const locks = await harness.client()
    const [outer, own] = [new AbortController(), new AbortController()]
    const lock = locks.getLock(harness.name())
    const holder = await (await harness.client()).getLock(harness.name()).acquire()
    const wait = locks.run(() => lock.acquire({ signal: own.signal }), { signal: outer.signal })
    own.abort(new Error('own'))
    await expect(wait).rejects.toThrow('own')
    const next = locks.run(() => lock.acquire({ signal: new AbortController().signal }), {
      signal: outer.signal,
    })
    outer.abort(new Error('outer'))
    await expect(next).rejects.toThrow('outer')
    await holder.release()
  })

  it('reaches forks, but not those that nobody waits for, nor another client', async () => {
    const [locks, others] = [await harness.client(), await harness.client()]
    const lock = locks.getLock(harness.name())
    await locks.run(
      async () => {
        await expect(locks.fork(() => lock.tryLock())).rejects.toThrow('aborted')
        expect(await locks.fork(() => lock.withLock(() => 'in'), { detached: true })).toBe('in')
        expect(await others.getLock(harness.name()).withLock(() => 'in')).toBe('in')
      },
      { signal: AbortSignal.abort() },
    )
  })

  it('and the context of a request are not kept by what is made detached in it, nor by shares, schedules and elections', async () => {
    const [locks, others] = [await harness.client(), await harness.client()]
    const busy = await (await harness.client()).getLock(harness.name()).acquire()
    const ended = new AbortController()
    const work = (): Promise<string> => others.getLock(harness.name()).withLock(() => 'in')
    const led = signalled<string>()
    const election = getElection(locks, harness.name('election'))
    let leading = Promise.resolve()
    const inRequest = () => ({
      'a worker': detached(() => new AsyncResource('worker')),
      'a share': getShare<string>(locks, harness.name('share')).run('key', work),
      'a schedule': exclusive(harness.name('schedule'), { locks }, work)(),
      election: (leading = election.lead(async () => led.resolve(await work()))),
    })
    const request = (): ReturnType<typeof inRequest> => others.run(inRequest, { signal: ended.signal })
    const made = locks.run(request, { signal: ended.signal })
    const inWorker = made['a worker'].runInAsyncScope(() => [work(), locks.currentThreadId] as const)
    const shared = expect(made['a share']).rejects.toThrow('has gone')
    ended.abort(new Error('the client of the request has gone'))
    await busy.release()
    expect(await inWorker[0]).toBe('in')
    expect(inWorker[1]).toBeUndefined()
    expect(await made['a schedule']).toMatchObject({ kind: 'ran', result: 'in' })
    expect(await led.promise).toBe('in')
    await election.close()
    await leading
    await shared
  })

  it('must be a signal', async () => {
    const locks = await harness.client()
    const run = (options: unknown): unknown => locks.run(() => undefined, options as object)
    expect(() => run({ signal: 'now' })).toThrow(InvalidArgumentError)
    expect(() => run(null)).toThrow(InvalidArgumentError)
  })
})
