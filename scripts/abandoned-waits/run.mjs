import { setTimeout as sleep } from 'node:timers/promises'
import { FaultProxy, RedisServer, WorkerProcess } from '@holdfast/testing'
import { Ledger } from './ledger.mjs'
import { Violation } from './violation.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)
const NAMES = Array.from({ length: 6 }, (_, i) => `abandoned:${i}`)
const ROUNDS = 10
// Of the rounds: what the heap is compared with afterwards.
const WARM_AFTER = 2
const MOST_GROWTH = 1.15
const DELAY_MS = 2
const GRACE_MS = 1_000
const INBOX = 'holdfast:client:'

/**
 * @param {{ waits: number, seed: number, kind: string, passing: boolean }} settings
 * @param {{ interrupted: AbortSignal, log: (line: string) => void }} surroundings
 * @throws {import('./violation.mjs').Violation}
 */
export const abandonWaits = async (settings, surroundings) => {
  const redis = await RedisServer.start()
  const proxy = await FaultProxy.start(redis)
  const run = new Run(settings, surroundings, { redis, proxy })
  try {
    await run.open()
    for (let round = 1; round <= ROUNDS; round += 1) await run.round(round)
    await run.close()
    return run.figures
  } finally {
    await run.stop()
    await proxy.stop()
    await redis.stop()
  }
}

class Run {
  figures = { taken: 0, late: 0, growth: 0, renamed: 0, repeated: 0 }
  #settings
  #surroundings
  #redis
  #proxy
  #near
  #far
  #holder
  #warm
  #ledger

  constructor(settings, surroundings, { redis, proxy }) {
    this.#settings = settings
    this.#surroundings = surroundings
    this.#redis = redis
    this.#proxy = proxy
  }

  get #workers() {
    return [this.#near, this.#far, this.#holder].filter((worker) => worker)
  }

  /** Two processes of callers, one of them far away, and one that holds the locks now and then. */
  async open() {
    this.#proxy.delay(DELAY_MS)
    this.#near = await this.#launch('near', this.#redis, 0)
    this.#far = await this.#launch('far', this.#proxy, 1)
    this.#holder = await this.#launch('holder', this.#redis, 2)
    this.#ledger = await Ledger.open(this.#redis, NAMES)
  }

  async round(number) {
    const { interrupted, log } = this.#surroundings
    interrupted.throwIfAborted()
    const { waits } = this.#settings
    const share = Math.round((waits * number) / ROUNDS) - Math.round((waits * (number - 1)) / ROUNDS)
    await this.#holder.call('hold')
    const half = Math.floor(share / 2)
    const told = await this.#unlessInterrupted(
      Promise.all([this.#near.call('wait', half), this.#far.call('wait', share - half)]),
    )
    this.figures.taken += await this.#holder.call('stopHolding')
    this.#add(told)
    await this.#lookForTraces()
    if (number === WARM_AFTER) this.#warm = await this.#heaps()
    log(`  ${Math.round((waits * number) / ROUNDS)} waits`)
  }

  async close() {
    const growths = (await this.#heaps()).map((bytes, i) => bytes / this.#warm[i])
    this.figures.growth = Math.max(...growths)
    if (this.figures.growth > MOST_GROWTH) {
      throw new Violation(`the heap has grown by ${Math.round((this.figures.growth - 1) * 100)} %`)
    }
    for (const worker of this.#workers) refuse('after close', await worker.call('close'))
    refuse('after close', await this.#leftInRedis([]))
  }

  /** Whatever state they are in. */
  async stop() {
    this.#ledger?.close()
    await Promise.all(this.#workers.map((worker) => worker.kill()))
  }

  async #launch(name, { port }, number) {
    const { seed, kind, passing } = this.#settings
    const worker = await WorkerProcess.start(WORKER)
    await worker.call('begin', { name, port, kind, passing, names: NAMES, seed: seed * 3 + number })
    return worker
  }

  #add(told) {
    const sum = (what) => told.reduce((total, each) => total + each[what], 0)
    const outcomes = ['won', 'aborted', 'timedOut', 'unanswered', 'parked', 'passed']
    Object.assign(this.figures, Object.fromEntries(outcomes.map((what) => [what, sum(what)])))
    this.figures.longestMs = Math.max(...told.map(({ longestMs }) => longestMs))
  }

  /** Every caller has gone: a second later nothing tells of them (I8). */
  async #lookForTraces() {
    const endsAt = performance.now() + GRACE_MS
    const look = async () => [...(await this.#leftInRedis([INBOX])), ...(await this.#uncounted())]
    let left = await look()
    while (left.length > 0 && performance.now() < endsAt) {
      await sleep(10)
      left = await look()
    }
    refuse('in Redis', left)
    for (const worker of this.#workers) refuse('in a process', await worker.call('traces'))
  }

  async #leftInRedis(allowed) {
    const keys = await this.#redis.command('KEYS', '*')
    const channels = await this.#redis.command('PUBSUB', 'CHANNELS')
    const patterns = await this.#redis.command('PUBSUB', 'NUMPAT')
    const others = channels.filter((channel) => !allowed.some((start) => channel.startsWith(start)))
    return [...keys, ...others, ...(patterns > 0 ? [`${patterns} patterns`] : [])]
  }

  /** What Redis gave, once each, it got back; and callers were told of no hold that was neither taken nor passed on. */
  async #uncounted() {
    const wrong = await this.#ledger.atRest()
    const { taken, renamed, repeated } = this.#ledger
    const told = this.figures.won + this.figures.taken
    Object.assign(this.figures, { late: taken + this.figures.passed - told, renamed, repeated })
    if (this.figures.late >= 0) return wrong
    return [...wrong, `${-this.figures.late} callers were told that they had what nobody took (I1)`]
  }

  async #heaps() {
    return Promise.all([this.#near, this.#far].map((worker) => worker.call('heap')))
  }

  #unlessInterrupted(work) {
    const { interrupted } = this.#surroundings
    return Promise.race([
      work,
      new Promise((_, reject) => {
        interrupted.addEventListener('abort', () => reject(interrupted.reason), { once: true })
      }),
    ])
  }
}

const refuse = (where, left) => {
  if (left.length > 0) throw new Violation(`left behind ${where}: ${left.join(', ')}`)
}
