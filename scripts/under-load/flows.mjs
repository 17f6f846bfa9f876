import { LockClient } from '@holdfast/core'

const LEASE = {
  lockWatchdogTimeout: 10_000,
  resyncInterval: 1_000,
  unavailableTimeoutMs: 30_000,
  bareCalls: 'allow',
}
const LONGEST_HOLD_MS = 5

/** What a holder would see that looks now. */
const believes = (hold) => !hold.signal.aborted && hold.trustedForMs > 0

/**
 * Callers of two clients that take one lock after the other. Both are in this process, so what they believe at one
 * moment can be compared without any clock.
 */
export class Flows {
  wrong = 0
  lost = 0
  errors = 0
  #holders = new Map()
  #grantedAt = new Map()
  #busySince = new Map()
  #over = false
  #clients = []
  #done = []

  static async start({ connect, names, flows, options }) {
    const self = new Flows()
    self.#clients = await Promise.all(
      [connect(), connect()].map(async (redis) => ({
        redis,
        locks: await LockClient.connect(redis, { ...LEASE, ...options }),
      })),
    )
    for (const { locks } of self.#clients) locks.on('lost', () => (self.lost += 1))
    self.#done = Array.from({ length: flows }, (_, i) => self.#flow(i, names))
    return self
  }

  /** How long callers have waited that still do, ms, at most. */
  get longestWaitMs() {
    return Math.max(0, ...[...this.#busySince.values()].map((since) => performance.now() - since))
  }

  /** Resolves when each of the locks was granted after this moment. @returns ms until then, the slowest of them */
  async workAgain(names, signal) {
    const since = performance.now()
    const waiting = new Set(names)
    while (waiting.size > 0) {
      signal.throwIfAborted()
      for (const name of waiting) if ((this.#grantedAt.get(name) ?? 0) > since) waiting.delete(name)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return Math.max(...names.map((name) => this.#grantedAt.get(name) - since))
  }

  async end() {
    this.#over = true
    await Promise.all(this.#done)
    await Promise.all(this.#clients.map(({ locks }) => locks.close({ graceMs: 0 })))
    for (const { redis } of this.#clients) redis.disconnect()
  }

  async #flow(index, names) {
    const { locks } = this.#clients[index % 2]
    for (let round = index; !this.#over; round += 1) {
      const name = names[round % names.length]
      this.#busySince.set(index, performance.now())
      try {
        const hold = await locks.getLock(name).acquire()
        this.#granted(name, hold)
        await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_HOLD_MS))
        if (this.#holders.get(name) === hold) this.#holders.delete(name)
        await hold.release()
      } catch {
        this.errors += 1
      }
    }
    this.#busySince.delete(index)
  }

  #granted(name, hold) {
    const before = this.#holders.get(name)
    if (before && believes(before) && believes(hold)) this.wrong += 1
    this.#holders.set(name, hold)
    this.#grantedAt.set(name, performance.now())
  }
}
