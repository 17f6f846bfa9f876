import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { RedisServer, WorkerProcess } from '@holdfast/testing'
import { Redis } from 'ioredis'

const WORKER = new URL('./worker.mjs', import.meta.url)
const LOCK = 'hot'
const SERVED = 'served'
const QUEUE = 'redisson_lock_queue:{hot}'

/** A server, processes with callers, and a holder that lets them stand in line until all are there. */
export class Crew {
  workers = []
  #redis
  #admin
  #holder
  #settings

  /**
   * @param {{ processes: number, resyncMs: number, leaseMs: number, holdMs: number, localPassing?: boolean,
   *   interrupted: AbortSignal }} settings
   */
  static async start(settings) {
    const crew = new Crew()
    crew.#settings = settings
    try {
      crew.#redis = await RedisServer.start()
      crew.#admin = new Redis(crew.#redis.url)
      crew.#holder = await LockClient.connect(crew.#redis.url, { resyncInterval: settings.resyncMs })
      await Promise.all(Array.from({ length: settings.processes }, () => crew.#launch()))
      return crew
    } catch (error) {
      await crew.stop()
      throw error
    }
  }

  get lock() {
    return this.#holder.getFairLock(LOCK)
  }

  /** The first in line first. */
  line() {
    return this.#admin.lrange(QUEUE, 0, -1)
  }

  /** Resolves when so many stand in line. */
  untilInLine(count) {
    return this.#until(async () => (await this.#admin.llen(QUEUE)) === count)
  }

  /** Puts callers in line, as many from each process as from any other, all at once. */
  async stand(count) {
    const share = (i) =>
      Math.floor((count * (i + 1)) / this.workers.length) - Math.floor((count * i) / this.workers.length)
    await Promise.all(this.workers.map(({ process }, i) => process.call('stand', share(i))))
    await this.untilInLine(count)
  }

  /** The same, but neighbours in line are of different processes. */
  async standMixed(count) {
    for (let standing = 0; standing < count; standing += this.workers.length) {
      const next = this.workers.slice(0, count - standing)
      await Promise.all(next.map(({ process }) => process.call('stand', 1)))
    }
    await this.untilInLine(count)
  }

  /** Who has had the lock, and when, in order. */
  async served() {
    const notes = await this.#admin.lrange(SERVED, 0, -1)
    return notes.map((note) => ({ owner: note.split(' ')[0], atMs: Number(note.split(' ')[1]) }))
  }

  untilServed(count) {
    return this.#until(async () => (await this.#admin.llen(SERVED)) >= count)
  }

  forgetServed() {
    return this.#admin.del(SERVED)
  }

  /** Calls and microseconds of EVALSHA since the last `resetStats`. */
  async scriptStats() {
    const info = await this.#admin.info('commandstats')
    const [, calls, usec] = /^cmdstat_evalsha:calls=(\d+),usec=(\d+)/m.exec(info) ?? [0, 0, 0]
    return { calls: Number(calls), usec: Number(usec) }
  }

  resetStats() {
    return this.#admin.config('RESETSTAT')
  }

  /** Waits for all callers of the processes that live. @returns each with its ends and its longest stall */
  finish() {
    return Promise.all(
      this.workers.map(async (worker) => ({ ...worker, ...(await worker.process.call('finish')) })),
    )
  }

  async kill(worker) {
    this.workers = this.workers.filter((each) => each !== worker)
    await worker.process.kill()
  }

  /** Closes everybody. @returns the keys that are left then, but for what `served` reads, and when they end */
  async close() {
    await Promise.all(this.workers.map(({ process }) => process.call('close')))
    await this.#holder.close()
    const keys = await this.#admin.keys('*')
    const left = keys.filter((key) => key !== SERVED && !key.startsWith('holdfast:latch:'))
    return Promise.all(left.map(async (key) => ({ key, ttlMs: await this.#admin.pttl(key) })))
  }

  /** Whatever state it is in. */
  async stop() {
    await Promise.all(this.workers.map(({ process }) => process.kill()))
    await this.#holder?.close({ graceMs: 0 })
    this.#admin?.disconnect()
    await this.#redis?.stop()
  }

  async #launch() {
    const { resyncMs, leaseMs, holdMs, localPassing = true } = this.#settings
    const process = await WorkerProcess.start(WORKER)
    const worker = { process, clientId: '' }
    this.workers.push(worker)
    const { url } = this.#redis
    worker.clientId = await process.call('begin', {
      url,
      resyncMs,
      leaseMs,
      holdMs,
      localPassing,
      lock: LOCK,
      served: SERVED,
    })
  }

  async #until(condition) {
    while (!(await condition())) {
      this.#settings.interrupted.throwIfAborted()
      await sleep(5)
    }
  }
}
