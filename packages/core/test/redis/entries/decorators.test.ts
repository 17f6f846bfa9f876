import { beforeEach, describe, expect, it } from '@jest/globals'
import { Readable } from 'node:stream'
import { from, type Observable } from 'rxjs'
import { Locked, currentHold, provideLocks } from '../../../src/entries/decorators/index.js'
import {
  InvalidArgumentError,
  LockLostError,
  LockTimeoutError,
  type LockClient,
  type LockHold,
} from '../../../src/index.js'
import { eventually, own, signalled, useRig } from '../support/rig.js'
import { aborted } from '../support/outcomes.js'

/** `@Locked` as a compiler with `experimentalDecorators` applies it. */
function applyLegacy(prototype: object, method: string, decorator: (...args: never[]) => unknown): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method)
  const decorate = decorator as unknown as (...args: unknown[]) => PropertyDescriptor
  Object.defineProperty(prototype, method, decorate(prototype, method, descriptor))
}

describe('@Locked', () => {
  const harness = useRig({ redis: 'all' })
  const client = own(() => harness.client())
  let name: string
  beforeEach(() => {
    name = harness.name()
  })

  it('excludes callers of the same name, of one object, of others, and of other clients', async () => {
    let inside = 0
    let most = 0
    class Shop {
      constructor(readonly locks: LockClient) {}

      @Locked({ name: `${name}:{0}`, client: (shop: Shop) => shop.locks, onBusy: 'wait' })
      async sell(article: string): Promise<string> {
        most = Math.max(most, (inside += 1))
        await new Promise((resolve) => setTimeout(resolve, 2))
        inside -= 1
        return article
      }
    }
    const shops = [new Shop(await harness.client()), new Shop(await harness.client())]
    const sales = Array.from({ length: 20 }, (_, i) => shops[i % 2]!.sell('spade'))
    expect(await Promise.all(sales)).toEqual(Array(20).fill('spade'))
    expect(most).toBe(1)
  })

  it('keeps this, arguments, the name and the length of the method', async () => {
    class Counter {
      private total = 0
      @Locked({ name, client })
      async add(by: number, more: number): Promise<number> {
        this.total += by + more
        return Promise.resolve(this.total)
      }
    }
    const counter = new Counter()
    await counter.add(1, 2)
    expect(await counter.add(3, 4)).toBe(10)
    const add = Object.getOwnPropertyDescriptor(Counter.prototype, 'add')!.value as Counter['add']
    expect([add.name, add.length]).toEqual(['add', 2])
  })

  it('re-enters through recursion and through other methods, and siblings exclude each other', async () => {
    const counts: number[] = []
    class Tree {
      @Locked({ name, client })
      async walk(depth: number): Promise<void> {
        counts.push(currentHold()!.count)
        if (depth > 1) await this.walk(depth - 1)
        else await this.leaf()
      }

      @Locked({ name, client })
      async leaf(): Promise<void> {
        counts.push(currentHold()!.count)
        await Promise.resolve()
      }

      @Locked({ name, client, onBusy: 'wait' })
      async both(): Promise<number> {
        let inside = 0
        let most = 0
        const child = (): Promise<void> =>
          this.child(async () => {
            most = Math.max(most, (inside += 1))
            await Promise.resolve()
            inside -= 1
          })
        await Promise.all([child(), child(), child()])
        return most
      }

      @Locked({ name, client, onBusy: 'wait' })
      child(work: () => Promise<void>): Promise<void> {
        return work()
      }
    }
    await new Tree().walk(3)
    expect(counts).toEqual([1, 2, 3, 4])
    expect(await new Tree().both()).toBe(1)
    expect(await client.getLock(name).isLocked()).toBe(false)
  })

  it('takes every kind of lock', async () => {
    const seen: (LockHold | undefined)[] = []
    class Kinds {
      @Locked({ name: `${name}:plain`, client })
      async plain(): Promise<void> {
        await this.fair()
      }
      @Locked({ name: `${name}:fair`, client, lock: 'fair' })
      async fair(): Promise<void> {
        await this.read()
      }
      @Locked({ name: `${name}:rw`, client, lock: 'read' })
      async read(): Promise<void> {
        await this.fenced()
      }
      @Locked({ name: `${name}:fenced`, client, lock: 'fenced' })
      async fenced(): Promise<void> {
        seen.push(currentHold())
        expect(await client.getReadWriteLock(`${name}:rw`).readLock().isLocked()).toBe(true)
        await this.several('a', 'b')
      }
      @Locked({
        name: (first: string, second: string) => `${name}:${first}+${second}`,
        client,
        lock: (locks, both) => locks.getMultiLock(locks.getLock(both), locks.getSpinLock(`${both}:spin`)),
      })
      async several(...names: [first: string, second: string]): Promise<void> {
        await Promise.resolve()
        expect(await client.getLock(`${name}:${names.join('+')}`).isLocked()).toBe(true)
        expect(await client.getLock(`${name}:a+b:spin`).isLocked()).toBe(true)
      }
      @Locked({ name: `${name}:rw`, client, lock: 'write' })
      async write(): Promise<boolean> {
        return Promise.resolve(client.getReadWriteLock(`${name}:rw`).writeLock().isLocked())
      }
    }
    await new Kinds().plain()
    expect(seen).toEqual([expect.objectContaining({ token: expect.stringMatching(/^\d+$/) })])
    expect(await new Kinds().write()).toBe(true)
  })

  it('onBusy: throws by default, skips with undefined, or waits without a limit; a lock is busy after waitMs', async () => {
    let runs = 0
    class Report {
      @Locked({ name, client })
      async throws(): Promise<string> {
        return Promise.resolve(`ran ${(runs += 1)}`)
      }
      @Locked({ name, client, onBusy: 'skip' })
      async skips(): Promise<string | undefined> {
        return Promise.resolve(`ran ${(runs += 1)}`)
      }
      @Locked({ name, client, onBusy: 'skip', waitMs: 60_000, maxWaiting: 0 })
      async skipsInsteadOfWaiting(): Promise<string | undefined> {
        return Promise.resolve(`ran ${(runs += 1)}`)
      }
      @Locked({ name, client, onBusy: 'wait' })
      async waits(): Promise<string> {
        return Promise.resolve(`ran ${(runs += 1)}`)
      }
      @Locked({ name, client, onBusy: 'skip', waitMs: 20_000 })
      async waitsFirst(): Promise<string | undefined> {
        return Promise.resolve(`ran ${(runs += 1)}`)
      }
    }
    const report = new Report()
    const other = await (await harness.client()).getLock(name).acquire()
    const refused: unknown = await report.throws().catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(LockTimeoutError)
    expect(await report.skips()).toBeUndefined()
    expect(await report.skipsInsteadOfWaiting()).toBeUndefined()
    expect(runs).toBe(0)
    const parked = new Promise<void>((resolve) => client.on('waiting', () => resolve()))
    const waiting = [report.waits(), report.waitsFirst()]
    await parked
    await other.release()
    expect(await Promise.all(waiting)).toEqual(['ran 1', 'ran 2'])
    expect([await report.throws(), await report.skips()]).toEqual(['ran 3', 'ran 4'])
  })

  it('leaves every error of the method alone, also one that says that a lock was busy', async () => {
    const other = await (await harness.client()).getLock(`${name}:other`).acquire()
    const own = new Error('the work failed')
    class Work {
      @Locked({ name, client, onBusy: 'skip', onRedisError: 'run' })
      async nested(): Promise<string | undefined> {
        return client.getLock(`${name}:other`).withLock(() => 'in', { waitMs: 0 })
      }
      @Locked({ name, client, onBusy: 'skip', onRedisError: 'skip' })
      async fails(): Promise<void> {
        return Promise.reject(own)
      }
      @Locked({ name, client, onBusy: 'skip', onRedisError: 'skip' })
      async losesIt(): Promise<string | undefined> {
        await client.getLock(name).forceUnlock()
        return 'done'
      }
    }
    client.on('lost', () => undefined)
    await expect(new Work().nested()).rejects.toBeInstanceOf(LockTimeoutError)
    await expect(new Work().fails()).rejects.toBe(own)
    const lost: unknown = await new Work().losesIt().catch((error: unknown) => error)
    expect(lost).toBeInstanceOf(LockLostError)
    expect(lost).toMatchObject({ result: 'done' })
    await other.release()
  })

  it.each([
    ['options', { waitMS: 5 }, 'did you mean waitMs?'],
    ['options', { timeout: 5 }, 'known: name, client'],
    ['options', [], 'must be an object, of { name, client, lock, waitMs, leaseMs, renew, … }; got []'],
    ['onBusy', { onBusy: 'x' }, 'must be one of "throw", "skip", "wait"; got "x"'],
    ['onRedisError', { onRedisError: 'x' }, 'must be one of "throw", "skip", "run"; got "x"'],
    ['client', { client: {} }, 'must be a LockClient, as from LockClient.connect(url); got {}'],
  ])('refuses wrong %s at once: %j', (argument, options, told) => {
    const refused = { code: 'INVALID_ARGUMENT', argument, message: expect.stringContaining(told) as unknown }
    expect(() => Locked(options as object)).toThrow(expect.objectContaining(refused))
  })

  it('shows the hold inside, the innermost, and its signal tells of a loss', async () => {
    client.on('lost', () => undefined)
    class Work {
      @Locked({ name: `${name}:{0}`, client })
      async nest(...path: string[]): Promise<string[]> {
        const [, ...rest] = path
        const below = rest.length > 0 ? await this.nest(...rest) : []
        return [currentHold()!.lockName, ...below]
      }
      @Locked({ name, client })
      async untilLost(): Promise<void> {
        const { signal } = currentHold()!
        const lost = aborted(signal)
        await client.getLock(name).forceUnlock()
        await lost
        throw signal.reason
      }
    }
    expect(currentHold()).toBeUndefined()
    expect(await new Work().nest('a', 'b')).toEqual([`${name}:a`, `${name}:b`])
    await expect(new Work().untilLost()).rejects.toBeInstanceOf(LockLostError)
    expect(currentHold()).toBeUndefined()
  })

  it('ends the wait with the signal that it finds among the arguments, or with that of the context', async () => {
    class Work {
      @Locked({ name, client, onBusy: 'wait', signal: (signal?: AbortSignal) => signal })
      async run(signal?: AbortSignal): Promise<string> {
        return Promise.resolve(signal ? 'ran, with a signal' : 'ran')
      }
    }
    const other = await (await harness.client()).getLock(name).acquire()
    const [own, request] = [new AbortController(), new AbortController()]
    let waiting = 0
    client.on('waiting', () => (waiting += 1))
    const first = new Work().run(own.signal)
    const second = client.run(() => new Work().run(), { signal: request.signal })
    const both = Promise.allSettled([first, second])
    await eventually(() => waiting > 0)
    own.abort(new Error('own'))
    request.abort(new Error('request'))
    expect(await both).toMatchObject([{ reason: { message: 'own' } }, { reason: { message: 'request' } }])
    await other.release()
    expect(await new Work().run()).toBe('ran')
  })

  it('leaseMs: Redis takes the lock back after it', async () => {
    class Work {
      @Locked({ name, client, leaseMs: 60_000 })
      async leaseLeft(): Promise<number> {
        return client.getLock(name).remainTimeToLive()
      }
    }
    expect(await new Work().leaseLeft()).toBeGreaterThan(50_000)
  })

  it('makes a method asynchronous that was not', async () => {
    class Sync {
      add(a: number, b: number): number | Promise<number> {
        return a + b
      }
    }
    applyLegacy(Sync.prototype, 'add', Locked({ name, client }))
    const sum = new Sync().add(1, 2)
    expect(sum).toBeInstanceOf(Promise)
    expect(await sum).toBe(3)
  })

  it('works as a decorator of TypeScript before the standard, and keeps metadata', async () => {
    class Legacy {
      tag = 'legacy'
      async work(id: string): Promise<string> {
        return Promise.resolve(`${this.tag} ${id} ${currentHold()!.lockName}`)
      }
    }
    const kept = new Map<object, unknown>()
    const reflect = {
      getOwnMetadataKeys: (target: object) => (kept.has(target) ? ['route'] : []),
      getOwnMetadata: (_key: unknown, target: object) => kept.get(target),
      defineMetadata: (_key: unknown, value: unknown, target: object) => kept.set(target, value),
    }
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is the key of its metadata
    kept.set(Legacy.prototype.work, 'GET /')
    Object.assign(Reflect, reflect)
    try {
      applyLegacy(Legacy.prototype, 'work', Locked({ name: `${name}:{0}`, client }))
    } finally {
      Object.keys(reflect).forEach((key) => Reflect.deleteProperty(Reflect, key))
    }
    expect(await new Legacy().work('7')).toBe(`legacy 7 ${name}:7`)
    // eslint-disable-next-line @typescript-eslint/unbound-method -- as above
    expect(kept.get(Legacy.prototype.work)).toBe('GET /')
  })

  it('takes the locks of the object, of its class, or of all, in this order', async () => {
    const [ofAll, ofClass, ofObject, own] = await Promise.all(
      Array.from({ length: 4 }, () => harness.client()),
    )
    class Base {
      @Locked({ name: `${name}:a` })
      async who(): Promise<string> {
        return Promise.resolve(currentHold()!.owner.split(':')[0]!)
      }
      @Locked({ name: `${name}:b` })
      static async whoElse(): Promise<string> {
        return Promise.resolve(currentHold()!.owner.split(':')[0]!)
      }
      @Locked({ name: `${name}:c`, client: own! })
      async whoOwn(): Promise<string> {
        return Promise.resolve(currentHold()!.owner.split(':')[0]!)
      }
    }
    class Derived extends Base {}
    const object = new Derived()
    await expect(object.who()).rejects.toThrow(InvalidArgumentError)
    const undo = [provideLocks(ofAll!)]
    expect([await object.who(), await Base.whoElse()]).toEqual([ofAll!.clientId, ofAll!.clientId])
    undo.push(provideLocks(ofClass!, Base))
    expect([await object.who(), await Base.whoElse()]).toEqual([ofClass!.clientId, ofClass!.clientId])
    undo.push(provideLocks(ofObject!, object))
    expect([await object.who(), await new Derived().who()]).toEqual([ofObject!.clientId, ofClass!.clientId])
    expect(await object.whoOwn()).toBe(own!.clientId)
    undo.push(provideLocks(own!, object))
    expect(await object.who()).toBe(own!.clientId)
    // Several were made for the same: the caller is in the context of this one.
    expect(await ofObject!.run(() => object.who())).toBe(ofObject!.clientId)
    // In any order, and once each.
    for (const each of [...undo, ...undo]) each()
    await expect(object.who()).rejects.toThrow('provideLocks')
  })

  it('ends with its caller in line: a skipped call leaves nobody behind', async () => {
    const inside = signalled()
    const leave = signalled()
    class Work {
      @Locked({ name, client, onBusy: 'skip' })
      async once(): Promise<string | undefined> {
        inside.resolve()
        await leave.promise
        return 'done'
      }
    }
    const work = new Work()
    const first = work.once()
    await inside.promise
    expect(await Promise.all(Array.from({ length: 10 }, () => work.once()))).toEqual(
      Array(10).fill(undefined),
    )
    leave.resolve()
    expect(await first).toBe('done')
  })
})

type Decorate = (method: unknown, context: unknown) => (this: unknown) => Promise<unknown>

/** JavaScript may do this: the compiler refuses such a method. */
function decorated(method: unknown, client: LockClient, name: string): () => Promise<unknown> {
  const decorate = Locked({ name, client }) as unknown as Decorate
  return decorate(method, { kind: 'method', name: 'rows' })
}

describe('a method whose work is done when its result is read', () => {
  const harness = useRig({ redis: 'all' })
  const client = own(() => harness.client())

  it.each([
    ['an async generator', async function* () {}],
    ['a generator', function* () {}],
  ])('is refused when it is decorated: %s', (_, method) => {
    const decorate = (): unknown => decorated(method, client, harness.name())
    expect(decorate).toThrow(InvalidArgumentError)
    expect(decorate).toThrow(/@Locked must be on a method that returns a promise.*await lock\.acquire\(\)/)
  })

  it('is refused likewise by a compiler with experimentalDecorators', () => {
    const decorate = Locked({ name: 'a' }) as unknown as (...args: unknown[]) => unknown
    const descriptor = { value: async function* () {} }
    expect(() => decorate({}, 'rows', descriptor)).toThrow(InvalidArgumentError)
  })

  it.each<[string, () => unknown]>([
    ['an async iterator, as compilers make of generators', () => ({ [Symbol.asyncIterator]: () => ({}) })],
    ['an async generator of another function', () => (async function* () {})()],
    ['a generator of another function', () => (function* () {})()],
    ['an iterator with throw, as compilers make of generators', () => iteratorOf()],
    ['a stream', () => Readable.from(['a'])],
    ['an Observable', (): Observable<number> => from([1])],
  ])('is refused by the call: %s', async (_, method) => {
    const name = harness.name()
    await expect(decorated(method, client, name)()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument: '@Locked',
    })
    expect(await client.getLock(name).isLocked()).toBe(false)
  })

  it.each<[string, unknown]>([
    ['an array', [1]],
    ['a Map', new Map([[1, 2]])],
    ['a text', 'a'],
    ['null', null],
    ['an iterator that is no generator', [1].values()],
  ])('is passed on where it is there already: %s', async (_, result) => {
    expect(await decorated(() => result, client, harness.name())()).toBe(result)
  })

  it('is passed on where it is a promise that can be iterated, too: it is awaited under the lock', async () => {
    const query = Object.assign(Promise.resolve('rows'), { [Symbol.asyncIterator]: () => ({}) })
    expect(await decorated(() => query, client, harness.name())()).toBe('rows')
  })
})

function iteratorOf(): object {
  const step = (): unknown => ({ done: true, value: undefined })
  return {
    next: step,
    throw: step,
    [Symbol.iterator]() {
      return this
    },
  }
}
