import { once } from 'node:events'
import { fencedSet } from '@holdfast/core'
import type { RedisServer } from '@holdfast/faults/harness'
import { Redis, type ChainableCommander } from 'ioredis'
import { sum } from '../run/table.js'
import { tokensOf } from './lock-kinds.js'

const valueKey = (lock: string): string => `value:${lock}`

/** Data of processes besides their locks, in a Redis that no fault reaches: above all the values that fenced locks guard. */
export class Register {
  readonly #redis: Redis

  constructor(port: number) {
    this.#redis = new Redis({ host: '127.0.0.1', port })
  }

  async write(lock: string, token: string, value: string): Promise<{ accepted: boolean; order: number }> {
    const scripts = new CountedScripts(this.#redis, `order:${lock}`)
    const { accepted } = await fencedSet(scripts, { key: valueKey(lock), token, value })
    return { accepted, order: scripts.order }
  }

  /** Puts something at the end of a queue that all processes share. */
  async push(queue: string, job: object): Promise<void> {
    await this.#redis.rpush(queue, JSON.stringify(job))
  }

  /** The first of the queue; null: it is empty. */
  async pop(queue: string): Promise<object | null> {
    const job = await this.#redis.lpop(queue)
    return job === null ? null : (JSON.parse(job) as object)
  }

  /** @returns how often all processes have counted it, with `more` */
  count(what: string, more = 1): Promise<number> {
    return this.#redis.incrby(what, more)
  }

  /** Permits without an end come into use; of a killed process they stay so. @returns how many are in use, with these */
  async use(semaphore: string, use: string, permits: number): Promise<number> {
    const [, reply] = (await this.#redis.multi().hset(semaphore, use, permits).hvals(semaphore).exec()) ?? []
    const [error, all] = reply as [Error | null, string[]]
    if (error) throw error
    return sum(all.map(Number))
  }

  async endUse(semaphore: string, use: string): Promise<void> {
    await this.#redis.hdel(semaphore, use)
  }

  /** How many permits are in use, by the living and the dead. */
  async inUse(semaphore: string): Promise<number> {
    return sum((await this.#redis.hvals(semaphore)).map(Number))
  }

  async close(): Promise<void> {
    const ended = once(this.#redis, 'end')
    this.#redis.disconnect()
    await ended
  }
}

type Script = [script: string, keys: number, ...args: (string | Buffer | number)[]]

/** Counts what is run, in the same transaction: answers to several processes cross, and clocks cannot order them. */
class CountedScripts {
  order = 0
  readonly #redis: Redis
  readonly #counter: string

  constructor(redis: Redis, counter: string) {
    this.#redis = redis
    this.#counter = counter
  }

  evalsha(...args: Script): Promise<unknown> {
    return this.#run((transaction) => transaction.evalsha(...args))
  }

  eval(...args: Script): Promise<unknown> {
    return this.#run((transaction) => transaction.eval(...args))
  }

  async #run(add: (transaction: ChainableCommander) => ChainableCommander): Promise<unknown> {
    const replies = await add(this.#redis.multi().incr(this.#counter)).exec()
    const [[, order], [error, reply]] = replies as [[null, number], [Error | null, unknown]]
    if (error) throw error
    this.order = order
    return reply
  }
}

/**
 * The duty of an operator whose fenced locks count and whose Redis came back without data: sets each counter to the
 * largest token that the register has seen, for it refuses every holder until then.
 */
export const restoreCounters = async (
  redis: RedisServer,
  register: RedisServer,
  locks: readonly string[],
): Promise<void> => {
  for (const lock of locks.filter((name) => tokensOf(name) === 'counter')) {
    const highest = await register.command('HGET', valueKey(lock), 'token')
    if (typeof highest === 'string') await redis.command('SET', `redisson_lock_token:{${lock}}`, highest)
  }
}
