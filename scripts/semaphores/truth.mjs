import { once } from 'node:events'
import { Redis } from 'ioredis'

/** Who has permits without an end, in a Redis that is not under test. A process that was killed stays in it. */
export class Truth {
  #redis

  /** @param {number} port */
  constructor(port) {
    this.#redis = new Redis({ host: '127.0.0.1', port })
  }

  /** @returns {Promise<number>} how many are in use, with these */
  async begin(name, use, permits) {
    const [, [error, all]] = await this.#redis.multi().hset(name, use, permits).hvals(name).exec()
    if (error) throw error
    return sum(all)
  }

  end(name, use) {
    return this.#redis.hdel(name, use)
  }

  /** How many are in use, by the living and the dead. */
  async inUse(name) {
    return sum(await this.#redis.hvals(name))
  }

  async close() {
    const ended = once(this.#redis, 'end')
    this.#redis.disconnect()
    await ended
  }
}

const sum = (all) => all.reduce((total, each) => total + Number(each), 0)
