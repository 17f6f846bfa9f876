import { describe, expect, it } from '@jest/globals'
import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { Locked } from '../../../src/entries/decorators/index.js'
import { getElection } from '../../../src/entries/election/index.js'
import { detached, type AcquireOptions, type LockClient } from '../../../src/index.js'
import { exclusive } from '../../../src/entries/schedule/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { eventually, own, signalled, useRig } from '../support/rig.js'

/** Every way to wait, for something that somebody else has. */
const waits = (
  locks: LockClient,
  name: string,
  options: { signal?: AbortSignal } = {},
): (() => Promise<unknown>)[] => [
  () => locks.getLock(name).acquire(options),
  () => locks.getLock(name).tryAcquire({ waitMs: 20_000, ...options }),
  () => locks.getLock(name).withLock(() => 'in', options),
  () => locks.thread().getLock(name).acquire(options),
  () => locks.getFairLock(`${name}:fair`).acquire(options),
  () => locks.getReadWriteLock(`${name}:rw`).readLock().acquire(options),
  () => locks.getMultiLock(locks.getLock(name), locks.getLock(`${name}:free`)).acquire(options),
  () => locks.getRedLock(locks.getLock(name)).acquire(options),
  () => locks.getSemaphore(`${name}:semaphore`).acquire(options),
  () => locks.getSemaphore(`${name}:semaphore`).withPermits(() => 'in', options),
  () => locks.getPermitExpirableSemaphore(`${name}:permits`).acquire(options),
  () => locks.getCountDownLatch(`${name}:latch`).await(options),
]

/** A signal of another making, as libraries bring them for old versions of Node: no AbortSignal, of this realm or any. */
class Polyfill extends EventTarget {
  aborted = false
  reason: unknown
  constructor(private readonly hasReason: boolean) {
    super()
  }
  static controller(hasReason = true): { signal: AbortSignal; abort: (reason?: unknown) => void } {
    const signal = new Polyfill(hasReason)
    return { signal: signal as unknown as AbortSignal, abort: (reason) => signal.abort(reason) }
  }
  private abort(reason: unknown): void {
    this.aborted = true
    this.reason = this.hasReason ? reason : undefined
    this.dispatchEvent(new Event('abort'))
  }
}

const makings: [string, () => { signal: AbortSignal; abort: (reason?: unknown) => void }][] = [
  ['of Node', () => new AbortController()],
  ['of another making', () => Polyfill.controller()],
]

describe('the signal of a context', () => {
  const harness = useRig({ redis: 'all' })
  const locks = own(() => harness.client())
  const lock = own(() => locks.getLock(harness.name()))

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

  const ways: [string, (locks: LockClient, name: string, signal: AbortSignal) => Promise<unknown>[]][] = [
    [
      'of a run',
      (locks, name, signal) =>
        locks.run(() => waits(locks, name).map((wait) => locks.fork(wait)), { signal }),
    ],
    ['of each call', (locks, name, signal) => waits(locks, name, { signal }).map((wait) => wait())],
  ]
  it.each(makings.flatMap(([making, make]) => ways.map(([way, go]) => [making, way, make, go] as const)))(
    '%s, %s, ends every kind of wait with its reason, and nothing stays behind',
    async (_making, _way, make, go) => {
      const name = harness.name()
      const release = await takeAll(name)
      const request = make()
      let waiting = 0
      locks.on('waiting', () => (waiting += 1))
      const settled = Promise.allSettled(go(locks, name, request.signal))
      // Those of one line tell together, or once.
      await eventually(() => waiting >= 6)
      const reason = new Error('the client has gone')
      request.abort(reason)
      const outcomes = await settled
      expect(outcomes).toEqual(outcomes.map(() => ({ status: 'rejected', reason })))
      await release()
    },
  )

  it('the signal of a context of another making ends what else takes one, has an AbortError for a reason it lacks, and has one listener', async () => {
    const name = harness.name()
    const { signal, abort } = Polyfill.controller(false)
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners += 1
      add(...given)
    }
    const holder = await (await harness.client()).getLock(name).acquire()
    const decorate = Locked({ client: locks, name, onBusy: 'wait', signal: () => signal })
    const decorated = decorate(() => Promise.resolve(), {
      kind: 'method',
      name: 'pay',
    } as ClassMethodDecoratorContext)
    const began = signalled()
    const share = getShare(locks, name)
    const running = share.run('k', () => began.promise)
    const candidate = getElection(locks, `${name}:election`)
    const changes = candidate.changes({ signal })
    await changes.next()
    const led = candidate.lead((term) => once(term.ending, 'abort'), { signal })
    const calls = [
      decorated.call({}),
      share.run('k', () => undefined, { signal }),
      locks.getMultiLock(locks.getLock(name)).withLock(() => 'in', { signal }),
    ]
    const settled = Promise.allSettled(calls)
    abort()
    expect((await settled).map((each) => each.status === 'rejected' && (each.reason as Error).name)).toEqual(
      calls.map(() => 'AbortError'),
    )
    await Promise.all([led, changes.next()])
    await expect(locks.inspectAll({ signal })).rejects.toMatchObject({ name: 'AbortError' })
    await expect(locks.getLock(name).tryLock()).resolves.toBe(false)
    expect(listeners).toBe(1)
    began.resolve()
    await Promise.all([running, holder.release()])
  })

  it('is refused where it is no signal, and where it stands in place of the options', async () => {
    const bad = { aborted: false } as AbortSignal
    for (const call of [...waits(locks, 'a', { signal: bad }), () => locks.inspectAll({ signal: bad })]) {
      await expect((async () => call())()).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        argument: 'signal',
      })
    }
    for (const [, make] of makings) {
      await expect(lock.acquire(make().signal as AcquireOptions)).rejects.toThrow(
        'pass a signal as { signal }',
      )
    }
  })

  it('refuses what is asked for after it, also what is free, and by a task that outlives the context', async () => {
    const gone = AbortSignal.abort(new Error('gone'))
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
    const request = new AbortController()
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

  it('the signal of a context of an inner run is added to that around it, and ends with it', async () => {
    const [outer, inner] = [new AbortController(), new AbortController()]
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
    const [outer, own] = [new AbortController(), new AbortController()]
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
    const others = await harness.client()
    await locks.run(
      async () => {
        await expect(locks.fork(() => lock.tryLock())).rejects.toThrow('aborted')
        expect(await locks.fork(() => lock.withLock(() => 'in'), { detached: true })).toBe('in')
        expect(await others.getLock(harness.name()).withLock(() => 'in')).toBe('in')
      },
      { signal: AbortSignal.abort() },
    )
  })

  it('the signal of a context, and the context of a request are not kept by what is made detached in it, nor by shares, schedules and elections', async () => {
    const others = await harness.client()
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
})
