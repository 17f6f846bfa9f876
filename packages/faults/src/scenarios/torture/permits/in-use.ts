import { once } from 'node:events'
import { Redis } from 'ioredis'

/** The permits without an end that are in use, in a Redis that is not under test. A killed process stays in it. */
export class PermitsInUse {
  readonly #redis: Redis

  constructor(port: number) {
    this.#redis = new Redis({ host: '127.0.0.1', port })
  }

  /** @returns how many are in use, with these */
  async begin(name: string, use: string, permits: number): Promise<number> {
    const [, reply] = (await this.#redis.multi().hset(name, use, permits).hvals(name).exec()) ?? []
    const [error, all] = reply as [Error | null, string[]]
    if (error) throw error
    return sum(all)
  }

  async end(name: string, use: string): Promise<void> {
    await this.#redis.hdel(name, use)
  }

  /** How many are in use, by the living and the dead. */
  async count(name: string): Promise<number> {
    return sum(await this.#redis.hvals(name))
  }

  async close(): Promise<void> {
    const ended = once(this.#redis, 'end')
    this.#redis.disconnect()
    await ended
  }
}

const sum = (all: readonly string[]): number => all.reduce((total, each) => total + Number(each), 0)
