import { LockClient } from '@holdfast/core'
import { RedisServer } from '@holdfast/testing'
import { Redis } from 'ioredis'

export const NAME = 'order:42'

/** A lease of which the margin, the renewal and the end are well apart, and that is soon over. */
export const LEASE_MS = 1_500

/** A Redis of one measurement, and what was opened on it. */
export class Lab {
  #closers = []

  static async open() {
    const lab = new Lab()
    lab.server = await RedisServer.start()
    lab.#closers.push(() => lab.server.stop())
    lab.admin = lab.connection()
    return lab
  }

  connection() {
    const connection = new Redis(this.server.url, { retryStrategy: () => 20, maxLoadingRetryTime: 100 })
    connection.on('error', () => undefined)
    this.#closers.push(() => connection.disconnect())
    return connection
  }

  async client(options = {}) {
    const locks = await LockClient.connect(this.connection(), { commandTimeout: 150, ...options })
    locks.on('lost', () => undefined)
    this.#closers.push(() => locks.close({ graceMs: 0 }))
    return locks
  }

  /** Closed with the lab. */
  keep(close) {
    this.#closers.push(close)
  }

  /** Resolves when somebody waits for the lock: subscribed, and refused since. */
  async waited(name = NAME) {
    const channel = `redisson_lock__channel:{${name}}`
    await until(async () => (await this.admin.pubsub('NUMSUB', channel))[1] === 1)
  }

  async close() {
    this.server.resume()
    for (const close of this.#closers.splice(0).reverse()) await close()
  }
}

export const until = async (condition) => {
  const endsAt = performance.now() + 10_000
  while (!(await condition())) {
    if (performance.now() > endsAt) throw new Error(`Not within 10 s: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** When the promise settles, on the clock of `performance.now()`. */
export const when = (promise) =>
  promise.then(
    () => performance.now(),
    () => performance.now(),
  )

export const whenLost = (hold) =>
  new Promise((resolve) => hold.signal.addEventListener('abort', () => resolve(performance.now())))

/** A moment at random within a renewal interval: a measurement at fixed moments would flatter. */
export const someTime = (withinMs) => new Promise((resolve) => setTimeout(resolve, Math.random() * withinMs))
