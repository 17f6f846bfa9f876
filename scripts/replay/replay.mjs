import { setTimeout as sleep } from 'node:timers/promises'
import { RedisServer } from '@holdfast/testing'
import { seededRandom } from '../torture/random.mjs'
import { compareAtRest } from './comparison.mjs'
import { sum, total } from './counts.mjs'
import { Model } from './model.mjs'
import { LEASE_MS, Participant } from './participant.mjs'
import { Pulse } from './pulse.mjs'

const CLIENTS = 3
const FLOWS = 8
const LOCKS = 12
// Of each client, for itself.
const KEPT_LOCKS = 4
const BATCH = 250
const clients = Array.from({ length: CLIENTS }, (_, number) => number)
const keptBy = (number) => Array.from({ length: KEPT_LOCKS }, (_, i) => `replay:kept:${number}:${i}`)

// Every call ends long before: the longest wait is two seconds.
const HANG_MS = 30_000
const PROGRESS_MS = 5_000

/**
 * One run: operations in batches, whose requests and replies get lost, and after each batch a look at Redis.
 *
 * @param {{ client: string, autoPipelining: boolean, operations: number, seed: number }} settings
 * @param {{ interrupted: AbortSignal, log: (line: string) => void }} surroundings
 * @throws {import('./model.mjs').Difference}
 */
export const replay = async (settings, surroundings) => {
  const { Redis } = await import(settings.client === 'ioredis5' ? 'ioredis5' : 'ioredis')
  const server = await RedisServer.start()
  const run = new Run(settings, surroundings, { Redis, server, direct: new Redis(server.url) })
  try {
    await run.open()
    await run.batches()
    return await run.end()
  } catch (error) {
    if (error.name === 'Difference' && run.pulse.stumbled) error.isVoid = true
    surroundings.log(`  ${run.pulse}`)
    throw error
  } finally {
    await run.stop()
    await server.stop()
  }
}

class Run {
  #settings
  #surroundings
  #parts
  #names = Array.from({ length: LOCKS }, (_, i) => `replay:${i}`)
  #model = new Model([...this.#names, ...clients.flatMap(keptBy)])
  #participants = []
  #stopped = new AbortController()
  pulse = new Pulse(LEASE_MS)
  #failure = null
  #rests = 0

  constructor(settings, surroundings, parts) {
    this.#settings = settings
    this.#surroundings = surroundings
    this.#parts = { ...parts, model: this.#model }
  }

  get #flows() {
    return this.#participants.flatMap(({ flows }) => flows)
  }

  get #operations() {
    return sum(this.#flows.map(({ operations }) => operations))
  }

  async open() {
    const { seed, autoPipelining } = this.#settings
    for (const number of clients) {
      const randomOf = (i) => seededRandom((seed * CLIENTS + number) * 1_000 + i)
      const onLost = (event) => void this.#lost(event)
      const opened = await Participant.open({
        ...this.#parts,
        ...{
          autoPipelining,
          number,
          flows: FLOWS,
          names: this.#names,
          kept: keptBy(number),
          randomOf,
          onLost,
        },
      })
      this.#participants.push(opened)
      void opened.saboteur.harassWatchdog(LEASE_MS, this.#stopped.signal)
    }
  }

  async batches() {
    const { operations } = this.#settings
    let told = performance.now()
    for (let done = 0; done < operations; done = this.#operations) {
      this.#surroundings.interrupted.throwIfAborted()
      const budget = { left: Math.min(BATCH, operations - done) }
      await this.#together((flow) => flow.work(budget), budget)
      await this.#compare()
      if (performance.now() - told >= PROGRESS_MS) {
        told = performance.now()
        this.#surroundings.log(`  ${done} operations`)
      }
    }
  }

  /** Everything is given back, the last copy has been delivered, and Redis is empty but for latches. */
  async end() {
    this.#stopped.abort()
    await this.#together((flow) => flow.giveBackEverything(), { left: 0 })
    await this.#compare()
    await Promise.all(this.#participants.map(({ saboteur }) => saboteur.allDelivered()))
    await this.#compare()
    await Promise.all(this.#participants.map((each) => each.close()))
    const { direct } = this.#parts
    const [channels, keys] = [await direct.pubsub('CHANNELS'), await direct.keys('*')]
    if (channels.length > 0) throw new Error(`still subscribed: ${channels.join(' ')} (I5)`)
    return this.#figures(keys.length)
  }

  async stop() {
    this.#stopped.abort()
    this.pulse.stop()
    this.#model.close()
    await Promise.all(this.#participants.map((each) => each.stop()))
    this.#parts.direct.disconnect()
  }

  async #compare() {
    this.#failure ??= this.#model.failure
    if (this.#failure) throw this.#failure
    const wires = this.#participants.map(({ wire }) => wire)
    await compareAtRest({ ...this.#parts, wires })
    this.#rests += 1
  }

  /** Nobody takes a lock away here, and trust lasts for longer than anything is broken. */
  async #lost({ lockName, owner, error }) {
    const [fields, ttlMs] = await this.#parts.direct.multi().hgetall(lockName).pttl(lockName).exec()
    const doing = this.#flows.filter((flow) => flow.doing?.name === lockName)
    const underWay = doing.map((flow) => `${flow.name} ${flow.doing.operation}`)
    this.#failure ??= this.#model.difference(
      lockName,
      `${owner} was told that it is lost (${error.reason}), while Redis has ${JSON.stringify(fields[1])} for ` +
        `${ttlMs[1]} ms; under way: ${underWay.join(', ')}\n${error.stack}`,
    )
  }

  /** Every flow comes to its end, also when one of them fails: the first failure tells. */
  async #together(work, budget) {
    const flows = this.#flows.map((flow) =>
      work(flow).catch((error) => {
        this.#failure ??= error
        budget.left = 0
      }),
    )
    const over = new AbortController()
    const hang = sleep(HANG_MS, true, { signal: over.signal }).catch(() => false)
    const hangs = await Promise.race([hang, Promise.all(flows).then(() => false)])
    over.abort()
    if (this.#failure) throw this.#failure
    if (hangs) throw this.#hanging()
  }

  #hanging() {
    const [{ name: flow, doing }] = this.#flows
      .filter(({ doing }) => doing)
      .toSorted((a, b) => a.doing.startedAt - b.doing.startedAt)
    return this.#model.difference(doing.name, `${flow} waits for an end of its ${doing.operation}`)
  }

  #figures(latches) {
    const saboteurs = this.#participants.map(({ saboteur }) => saboteur)
    return {
      operations: this.#operations,
      done: total(this.#flows.map(({ done }) => done)),
      unanswered: sum(this.#flows.map(({ unanswered }) => unanswered)),
      longestMs: Math.max(...this.#flows.map((flow) => flow.longestMs)),
      kinds: total(saboteurs.map(({ kinds }) => kinds)),
      hits: total(saboteurs.map(({ hits }) => hits)),
      copies: sum(saboteurs.map(({ copiesDelivered }) => copiesDelivered)),
      rests: this.#rests,
      passes: this.#model.passes,
      latches,
      pulse: this.pulse,
    }
  }
}
