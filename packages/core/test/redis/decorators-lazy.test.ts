import { describe, expect, it } from '@jest/globals'
import { from, type Observable } from 'rxjs'
import { Readable } from 'node:stream'
import { Locked } from '../../src/entries/decorators/index.js'
import { InvalidArgumentError, type LockClient } from '../../src/index.js'
import { own, useRig } from './support/rig.js'

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
