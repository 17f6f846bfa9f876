import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, type LockClientOptions, type LockHold } from '@holdfast/core'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import type { Fleet, Worker } from '../../run/fleet.js'
import type { SeededRandom } from '../../run/random.js'

export const NAME = 'order:42'
const PATIENCE_MS = 10_000

/** A Redis of one measurement, and what was opened on it. */
export class Lab {
  readonly server: RedisServer
  readonly admin: Redis
  readonly #random: SeededRandom
  readonly #fleet: Fleet
  readonly #closers: (() => unknown)[] = []

  private constructor(server: RedisServer, parts: { random: SeededRandom; fleet: Fleet }) {
    this.server = server
    this.#random = parts.random
    this.#fleet = parts.fleet
    this.#closers.push(() => server.stop())
    this.admin = this.connection()
  }

  static async open(parts: { random: SeededRandom; fleet: Fleet }): Promise<Lab> {
    return new Lab(await RedisServer.start(), parts)
  }

  connection(): Redis {
    const connection = new Redis(this.server.url, { retryStrategy: () => 20, maxLoadingRetryTime: 100 })
    connection.on('error', () => undefined)
    this.#closers.push(() => connection.disconnect())
    return connection
  }

  async client(options: LockClientOptions = {}): Promise<LockClient> {
    const locks = await LockClient.connect(this.connection(), { commandTimeout: 150, ...options })
    locks.on('lost', () => undefined)
    this.#closers.push(() => locks.close({ graceMs: 0 }))
    return locks
  }

  /** A process that gives everything back on SIGTERM. */
  async service(leaseMs: number): Promise<Worker> {
    const worker = await this.#fleet.launch({ url: this.server.url, leaseMs })
    this.#closers.push(() => this.#fleet.kill(worker))
    return worker
  }

  /** Resolves when a client waits for the lock: subscribed, and refused since. */
  async waited(): Promise<void> {
    const channel = `redisson_lock__channel:{${NAME}}`
    await until('a client waits', async () => (await this.admin.pubsub('NUMSUB', channel))[1] === 1)
  }

  /** A moment at random, such as within a renewal interval: a measurement at fixed moments would flatter. */
  someTime(withinMs: number): Promise<void> {
    return sleep(this.#random.between(0, withinMs))
  }

  async close(): Promise<void> {
    this.server.resume()
    for (const close of this.#closers.splice(0).reverse()) await close()
  }
}

export const until = async (what: string, condition: () => Promise<boolean>): Promise<void> => {
  const endsAt = performance.now() + PATIENCE_MS
  while (!(await condition())) {
    if (performance.now() > endsAt) throw new Error(`Not within ${PATIENCE_MS} ms: ${what}`)
    await sleep(1)
  }
}

/** When the promise settles, on the clock of `performance.now()`. */
export const when = (promise: Promise<unknown>): Promise<number> =>
  promise.then(
    () => performance.now(),
    () => performance.now(),
  )

export const whenLost = ({ signal }: LockHold): Promise<number> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(performance.now())))

/** How long a call takes, whatever its outcome. */
export const timed = async (call: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  return (await when(call())) - startedAt
}

/** Resolves once it has begun. */
export type StandStill = (lab: Lab, ms: number) => Promise<{ readonly over: Promise<unknown> }>

const paused =
  (mode: 'ALL' | 'WRITE'): StandStill =>
  async ({ server }, ms) => {
    await server.command('CLIENT', 'PAUSE', ms, mode)
    // A write, so it is held up as long as any of ours.
    return { over: server.command('DEL', 'nothing') }
  }

/** Ways in which a Redis that is up gets to no lock for some time, with their rows of the table of failures. */
export const STAND_STILLS: readonly {
  readonly row: string
  readonly way: string
  readonly begin: StandStill
}[] = [
  {
    ...{ row: '21', way: 'SIGSTOP' },
    begin: async ({ server }, ms) => {
      await server.pause()
      return { over: sleep(ms).then(() => server.resume()) }
    },
  },
  { row: '21', way: 'CLIENT PAUSE ALL', begin: paused('ALL') },
  { row: '21', way: 'CLIENT PAUSE WRITE', begin: paused('WRITE') },
  {
    ...{ row: '21', way: 'a long script (BUSY)' },
    begin: async (lab, ms) => {
      const { server } = lab
      await server.command('CONFIG', 'SET', 'lua-time-limit', 10)
      const endless = lab.connection().eval('while true do end', 0)
      endless.catch(() => undefined)
      const answer = (): Promise<string> => server.command('PING').then(String, String)
      await until('the script is busy', async () => (await answer()).includes('BUSY'))
      return { over: sleep(ms).then(() => server.command('SCRIPT', 'KILL')) }
    },
  },
  {
    ...{ row: '18, 19', way: 'READONLY (demoted)' },
    begin: async ({ server }, ms) => {
      await server.command('REPLICAOF', '127.0.0.1', 1)
      return { over: sleep(ms).then(() => server.command('REPLICAOF', 'NO', 'ONE')) }
    },
  },
]
