import { once } from 'node:events'
import { fencedSet } from '@holdfast/core'
import { Redis } from 'ioredis'
import { tokensOf } from './lock-names.mjs'

const valueKey = (lock) => `value:${lock}`

/** What the fenced locks guard: values in a Redis of their own, which no fault reaches. */
export class Register {
  #redis

  /** @param {number} port */
  constructor(port) {
    this.#redis = new Redis({ host: '127.0.0.1', port })
  }

  /** @returns {Promise<{ accepted: boolean, order: number }>} */
  async write(lock, token, value) {
    const scripts = new CountedScripts(this.#redis, `order:${lock}`)
    const { accepted } = await fencedSet(scripts, { key: valueKey(lock), token, value })
    return { accepted, order: scripts.order }
  }

  async close() {
    const ended = once(this.#redis, 'end')
    this.#redis.disconnect()
    await ended
  }
}

/** Counts what is run, in the same transaction: answers to several processes cross, and clocks cannot order them. */
class CountedScripts {
  order
  #redis
  #counter

  constructor(redis, counter) {
    this.#redis = redis
    this.#counter = counter
  }

  evalsha(...args) {
    return this.#run((transaction) => transaction.evalsha(...args))
  }

  eval(...args) {
    return this.#run((transaction) => transaction.eval(...args))
  }

  async #run(add) {
    const [[, order], [error, reply]] = await add(this.#redis.multi().incr(this.#counter)).exec()
    if (error) throw error
    this.order = order
    return reply
  }
}

/**
 * What an operator does who counts tokens and whose Redis came back without data: sets each counter to the largest
 * token that the register has seen, for it refuses everybody until then.
 *
 * @param {import('@holdfast/faults/harness').RedisServer} redis
 * @param {import('@holdfast/faults/harness').RedisServer} register
 * @param {string[]} locks
 */
export const restoreCounters = async (redis, register, locks) => {
  for (const lock of locks.filter((name) => tokensOf(name) === 'counter')) {
    const highest = await register.command('HGET', valueKey(lock), 'token')
    if (highest !== null) await redis.command('SET', `redisson_lock_token:{${lock}}`, highest)
  }
}
