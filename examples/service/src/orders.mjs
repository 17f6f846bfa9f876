import { randomUUID } from 'node:crypto'

const keyOf = (id) => `order:${id}`

/**
 * The orders, in Redis; in your service they are a table. A charge and a parcel are written once and never replaced, so
 * that a process which stood still for too long, and writes late, changes nothing.
 */
export class Orders {
  #redis

  constructor(redis) {
    this.#redis = redis
  }

  async create({ amount, warehouse }) {
    const id = randomUUID()
    await this.#redis.hset(keyOf(id), { amount, warehouse })
    return this.find(id)
  }

  async find(id) {
    const { amount, warehouse, charge, parcel } = await this.#redis.hgetall(keyOf(id))
    if (amount === undefined) return undefined
    const state = parcel ? 'shipped' : charge ? 'paid' : 'new'
    return { id, state, amount: Number(amount), warehouse, charge, parcel }
  }

  async markPaid(id, charge) {
    await this.#redis.multi().hsetnx(keyOf(id), 'charge', charge).sadd('unshipped', id).exec()
    return this.find(id)
  }

  async markShipped(id, parcel) {
    await this.#redis.multi().hsetnx(keyOf(id), 'parcel', parcel).srem('unshipped', id).exec()
  }

  /** Orders that are paid and not shipped. */
  async unshipped() {
    const ids = await this.#redis.smembers('unshipped')
    return Promise.all(ids.map((id) => this.find(id)))
  }
}
