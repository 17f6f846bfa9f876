/* eslint-disable @typescript-eslint/no-unused-vars -- the decorator alone reads the arguments */
import { describe, expect, it } from '@jest/globals'
import { Locked, currentHold } from '../../../src/entries/decorators/index.js'
import { InvalidArgumentError } from '../../../src/index.js'
import { own, useRig } from '../support/rig.js'

const here = (): Promise<string> => Promise.resolve(currentHold()!.lockName)

describe('the name that @Locked takes', () => {
  const harness = useRig({ redis: 'all' })
  const client = own(() => harness.client())

  /** The name of a call with these arguments, without the prefix of the test. */
  const nameOf = async (template: string, args: unknown[], self: object = {}): Promise<string> => {
    const prefix = `${harness.name()}/`
    class Named {
      @Locked({ name: prefix + template, client })
      async call(..._args: unknown[]): Promise<string> {
        return (await here()).slice(prefix.length)
      }
    }
    return Object.assign(new Named(), self).call(...args)
  }

  it.each([
    ['order:{0}', ['42'], 'order:42'],
    ['order:{1}', ['no', 7], 'order:7'],
    ['order:{0.id}', [{ id: 12n }], 'order:12'],
    ['order:{0.customer.id}/{1}', [{ customer: { id: 'c' } }, true], 'order:c/true'],
    ['fixed', [], 'fixed'],
    ['mail:{0}', ['ann@example.com'], 'mail:ann@example.com'],
  ])('%s of %j is %s', async (template, args, expected) => {
    expect(await nameOf(template, args)).toBe(expected)
  })

  it('may have a value of the object', async () => {
    expect(await nameOf('{this.tenant.id}:order:{0}', [1], { tenant: { id: 'acme' } })).toBe('acme:order:1')
  })

  it('is another one for other values, whatever they contain', async () => {
    const values = ['a b', ...'a a:b b b:c c : :: a%3Ab % {0} }{ a/b a| # ,'.split(' ')]
    const names = new Map<string, string>()
    for (const first of values) {
      for (const second of values) {
        const name = await nameOf('x:{0}:{1}', [first, second])
        expect(names.get(name)).toBeUndefined()
        names.set(name, `${first} and ${second}`)
        expect(name).toMatch(/^x:[^:{}]+:[^:{}]+$/)
      }
    }
  })

  it.each([
    ['order:{0}', []],
    ['order:{0}', [null]],
    ['order:{0}', ['']],
    ['order:{0}', [Number.NaN]],
    ['order:{0}', [{ id: 1 }]],
    ['order:{0.id}', [undefined]],
    ['order:{0.id}', [{}]],
    ['{this.tenant}', [1]],
  ])('%s of %j is refused: everybody without a value would share it', async (template, args) => {
    const refused: unknown = await nameOf(template, args).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(InvalidArgumentError)
    expect(String(refused)).toContain('of the lock name')
  })

  it.each(['', ...'{ } a}{ {} {id} {this} {0.} {0..a} {-1} {{0}} {0}{1} {0}x{1}'.split(' ')])(
    'cannot be the template %j',
    (name) => {
      expect(() => Locked({ name })).toThrow(InvalidArgumentError)
    },
  )

  it('may come of a function of the arguments', async () => {
    const prefix = harness.name()
    class Named {
      @Locked({ name: (order: { id: number }) => `${prefix}:${order.id}`, client })
      async pay(_order: { id: number }, _amount: number): Promise<string> {
        return here()
      }
      @Locked({ name: () => undefined as unknown as string, client })
      async broken(): Promise<string> {
        return here()
      }
    }
    expect(await new Named().pay({ id: 3 }, 5)).toBe(`${prefix}:3`)
    await expect(new Named().broken()).rejects.toThrow(InvalidArgumentError)
  })

  it('is class and method by default: of the class that declares it, for all overloads', async () => {
    const key = Symbol('by symbol')
    const id = harness.name().replace(/\W/g, '_')
    const classes = {
      [`Base_${id}`]: class {
        find(id: number): Promise<string>
        find(id: string): Promise<string>
        @Locked({ client })
        async find(_id: unknown): Promise<string> {
          return here()
        }
        @Locked({ client })
        static async all(): Promise<string> {
          return here()
        }
        @Locked({ client })
        async [key](): Promise<string> {
          return here()
        }
        @Locked({ client })
        async #hidden(): Promise<string> {
          return here()
        }
        hidden(): Promise<string> {
          return this.#hidden()
        }
      },
    }
    const Base = classes[`Base_${id}`]!
    class Derived extends Base {
      @Locked({ client })
      override async find(id: string | number): Promise<string> {
        return `${await here()} above ${await super.find(id as string)}`
      }
    }
    class Plain extends Base {}
    expect(await new Base().find(1)).toBe(`Base_${id}.find`)
    expect(await new Plain().find('a')).toBe(`Base_${id}.find`)
    expect(await new Derived().find('a')).toBe(`Derived.find above Base_${id}.find`)
    expect(await Base.all()).toBe(`Base_${id}.all`)
    expect(await new Plain()[key]()).toBe(`Base_${id}.by symbol`)
    expect(await new Base().hidden()).toBe(`Base_${id}.#hidden`)
    // Those have no prefix of the test: nothing else would look for what they leave.
    expect(await harness.admin.exists(`Base_${id}.find`, 'Derived.find')).toBe(0)
  })

  it('must be given where the class has no name', async () => {
    const Anonymous = (() =>
      class {
        @Locked({ client })
        async call(): Promise<void> {
          await here()
        }
      })()
    Object.defineProperty(Anonymous, 'name', { value: '' })
    await expect(new Anonymous().call()).rejects.toThrow(InvalidArgumentError)
  })

  it('is held against the parameters of the method by the compiler', () => {
    class Typed {
      @Locked({ name: (id: string) => id, client })
      async fits(_id: string, _more: number): Promise<number> {
        return Promise.resolve(1)
      }
      // @ts-expect-error -- the function wants a number, the method gives a string
      @Locked({ name: (id: number) => `${id}`, client })
      async other(_id: string): Promise<number> {
        return Promise.resolve(1)
      }
      // @ts-expect-error -- the method has no argument for it
      @Locked({ name: (id: string) => id, client })
      async none(): Promise<number> {
        return Promise.resolve(1)
      }
      // @ts-expect-error -- a method under a lock cannot answer at once
      @Locked({ name: 'a', client })
      sync(): number {
        return 1
      }
      // @ts-expect-error -- a skipped call gives undefined
      @Locked({ name: 'a', client, onBusy: 'skip' })
      async skipped(): Promise<number> {
        return Promise.resolve(1)
      }
      // @ts-expect-error -- so does one skipped for Redis
      @Locked({ name: 'a', client, onRedisError: 'skip' })
      async skippedToo(): Promise<number> {
        return Promise.resolve(1)
      }
      @Locked({ name: 'a', client, onBusy: 'skip', onRedisError: 'run' })
      async skippable(): Promise<void> {
        return Promise.resolve()
      }
      @Locked({ name: 'a', client, onRedisError: 'run' })
      async generic<T>(value: T): Promise<T> {
        return Promise.resolve(value)
      }
    }
    expect(Object.keys(Typed.prototype)).toEqual([])
  })
})
