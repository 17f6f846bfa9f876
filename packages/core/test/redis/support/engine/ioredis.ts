import { EventEmitter } from 'node:events'
import { TestRedis } from '@holdfast/testing'

// In the project `engine` this stands for ioredis: with it tests look into the engine, as elsewhere into Redis.

/** One engine for each port, as there is one server. */
const engines = new Map<number, TestRedis>()

export function engineAt(port: number): TestRedis {
  const known = engines.get(port)
  if (known) {
    return known
  }
  const made = new TestRedis()
  engines.set(port, made)
  return made
}

type Argument = string | number | Buffer

/** Arguments as ioredis takes them: lists inside, and a record for pairs. */
function flat(args: readonly unknown[]): Argument[] {
  return args.flatMap((each) => {
    if (Array.isArray(each)) {
      return flat(each)
    }
    return typeof each === 'object' && each !== null && !Buffer.isBuffer(each)
      ? flat(Object.entries(each).flat())
      : [each as Argument]
  })
}

const OWN = new Set(['subscribe', 'psubscribe', 'unsubscribe', 'punsubscribe', 'ssubscribe', 'sunsubscribe'])

interface ListeningConnection {
  command(words: readonly string[]): unknown
  close(): void
}

/** The inside of a TestRedis. A text of its replies has a character for each byte. */
interface ServerInside {
  readonly engine: {
    readonly commands: ReadonlyMap<string, unknown>
    command(words: readonly (string | Buffer)[]): unknown
  }
  connect(onMessage: (kind: string, channel: string, payload: string) => void): ListeningConnection
}

/** The part of an ioredis client that the contract suites use. */
export class Redis extends EventEmitter {
  status = 'ready'
  readonly options: object
  readonly port: number
  /** The connection that a LockClient gets for this one. */
  readonly source: TestRedis

  constructor(target: string | number | { port?: number } = 6379, options: object = {}) {
    super()
    this.port =
      typeof target === 'string'
        ? Number(new URL(target).port || 6379)
        : typeof target === 'number'
          ? target
          : (target.port ?? 6379)
    this.options = { ...options, port: this.port }
    this.source = engineAt(this.port)
    return new Proxy(this, {
      get: (own, name) => {
        const value: unknown = Reflect.get(own, name)
        // Only what the engine knows: core tells other clients by the methods that they have.
        return value === undefined && typeof name === 'string' && own.server.engine.commands.has(name)
          ? (...args: unknown[]) => own.answer(name, args)
          : value
      },
    })
  }

  connect(): Promise<void> {
    return Promise.resolve()
  }

  disconnect(): void {
    this.status = 'end'
    this.listener?.close()
    this.emit('end')
  }

  quit(): Promise<string> {
    this.disconnect()
    return Promise.resolve('OK')
  }

  duplicate(options: object = {}): Redis {
    return new Redis(this.port, { ...this.options, ...options })
  }

  /** One command after the other, as Redis runs them here anyway: nothing comes between in one turn. */
  multi(): object {
    const calls: (() => Promise<unknown>)[] = []
    const chain: object = new Proxy(
      {},
      {
        get: (_, name) =>
          name === 'exec'
            ? async () => (await Promise.all(calls.map((run) => run()))).map((reply) => [null, reply])
            : (...args: unknown[]) => {
                calls.push(() => this.run(String(name), args))
                return chain
              },
      },
    )
    return chain
  }

  call(name: string, ...args: unknown[]): Promise<unknown> {
    return this.source.command(name, ...flat(args))
  }

  /** The same as `zrange`, with the bytes of each member. */
  zrangeBuffer(...args: readonly Argument[]): Promise<Buffer[]> {
    const words = args.map((each) => (typeof each === 'number' ? String(each) : each))
    const members = this.server.engine.command(['zrange', ...words]) as string[]
    return Promise.resolve(members.map((each) => Buffer.from(each, 'latin1')))
  }

  private get server(): ServerInside {
    return Reflect.get(this.source, 'server') as ServerInside
  }

  private listener: ListeningConnection | null = null

  /** Works like that of ioredis, also for a callback behind the arguments: it is called in a later turn. */
  private answer(name: string, args: readonly unknown[]): Promise<unknown> {
    if (typeof args.at(-1) !== 'function') {
      return this.run(name, args)
    }
    const callback = args.at(-1) as (error: unknown, reply?: unknown) => void
    const answered = this.run(name, args.slice(0, -1))
    answered.then(
      (reply) => callback(null, reply),
      (error: unknown) => callback(error),
    )
    return answered
  }

  private async run(name: string, args: readonly unknown[]): Promise<unknown> {
    if (OWN.has(name)) {
      return this.subscription([name, ...flat(args).map(String)])
    }
    if (name === 'client' && args[0] === 'LIST') {
      return ''
    }
    const reply = await this.call(name, ...args)
    if (name === 'hgetall') {
      const pairs = reply as string[]
      return Object.fromEntries(pairs.flatMap((each, i) => (i % 2 === 0 ? [[each, pairs[i + 1]]] : [])))
    }
    return reply
  }

  private subscription(words: readonly string[]): unknown {
    this.listener ??= this.server.connect((_, channel, payload) => {
      this.emit('message', channel, payload)
      this.emit('pmessage', '', channel, payload)
    })
    return (this.listener.command(words) as unknown[]).length
  }
}

/** There is none; `openRedis` names it. */
export class Cluster extends Redis {}
