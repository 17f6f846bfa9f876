import { compareOwn } from './comparison.mjs'
import { count, sum } from './counts.mjs'
import { Grace } from './grace.mjs'
import { GIVEN_UP, somePatience } from './patience.mjs'

const FAULTY = 0.1
const MOST_LEVELS = 5
// Longer than a run: a hold with a lease of its own is not renewed, and must not end by itself.
const FIXED_LEASE_MS = 120_000
const UNKNOWN = 'unknown'

/** One logical thread that takes, re-enters, renews and gives back a few locks, one operation after another. */
export class Flow {
  name
  /** How often it has done what. */
  done = new Map()
  longestMs = 0
  unanswered = 0
  /** What it is doing, for when that does not end. */
  doing = null
  #parts
  /** The owner whose last level was given back. */
  #released = null

  /**
   * @param {{ name: string, names: string[], keeps: boolean, context: import('./contexts.mjs').LastingContext,
   *   model: any, random: any, saboteur: any, wire: import('./grace.mjs').Wire, direct: any }} parts
   */
  constructor({ name, ...parts }) {
    this.name = name
    this.#parts = parts
  }

  get operations() {
    return sum(this.done.values())
  }

  /** Operations until the budget, which several flows share, is used up. */
  work(budget) {
    const { context, keeps } = this.#parts
    return context.inside(async () => {
      if (keeps) await this.#keepAll()
      while (!keeps && budget.left > 0) {
        const before = this.operations
        await this.#step()
        budget.left -= this.operations - before
      }
    })
  }

  /** The last of them: everything it has. */
  giveBackEverything() {
    const { context, model } = this.#parts
    return context.inside(async () => {
      for (const name of model.namesHeldBy(this)) await this.#perform('full release', name, this.#fullRelease)
    })
  }

  /** Takes what is nobody else's, and leaves the rest to the watchdog. */
  async #keepAll() {
    const { model, names } = this.#parts
    for (const name of names) {
      while (model.holdsOf(name, this).length === 0) await this.#perform('acquire', name, this.#acquire)
    }
  }

  async #step() {
    const { model, names, random } = this.#parts
    const mine = model.namesHeldBy(this)
    const name = mine.length > 0 && random.chance(0.75) ? random.pick(mine) : random.pick(names)
    const levels = model.holdsOf(name, this).length
    if (levels === 0) return this.#stay(name)
    const choices = [
      ...(levels < MOST_LEVELS ? Array(7).fill(['re-entry', this.#reenter]) : []),
      ...(levels > 1 ? Array(6).fill(['partial release', this.#partialRelease]) : []),
      ...(levels > 1 ? Array(2).fill(['several at once', this.#severalAtOnce]) : []),
      ...Array(2).fill(['full release', this.#fullRelease]),
      ...Array(4).fill(['extension', this.#extend]),
      ['verification', this.#verify],
    ]
    const [operation, move] = random.pick(choices)
    return this.#perform(operation, name, move)
  }

  /** Often so short that the lock may be passed on in memory. */
  async #stay(name) {
    const { model, random } = this.#parts
    await this.#perform('acquire', name, this.#acquire)
    const isHeld = model.holdsOf(name, this).length > 0
    if (isHeld && random.chance(0.5)) await this.#perform('full release', name, this.#fullRelease)
  }

  /** With a fault now and then, and a look at Redis after it. */
  async #perform(operation, name, move) {
    const { model, random, saboteur, wire } = this.#parts
    const note = (line) => model.note(name, `${this.name}  ${operation}: ${line}`)
    const sabotage = random.chance(FAULTY) ? saboteur.aim(name, note) : null
    const startedAt = performance.now()
    this.doing = { operation, name, startedAt }
    let outcome
    try {
      outcome = await move.call(this, name)
    } catch (error) {
      outcome = `${error.name} ${error.code ?? ''}: ${error.message}`
      throw error.name === 'Difference' ? error : model.difference(name, `${this.name} was told ${outcome}`)
    } finally {
      const broken = sabotage?.end(operation) ?? 'no fault'
      note(`${outcome} (${broken}, ${Math.round(performance.now() - startedAt)} ms)`)
    }
    this.longestMs = Math.max(this.longestMs, performance.now() - startedAt)
    const released = this.#released
    this.#released = null
    if (outcome.includes(UNKNOWN)) model.setGrace(name, this, new Grace(wire))
    await compareOwn(this.#parts, { name, flow: this, released })
    this.doing = null
  }

  async #acquire(name) {
    count(this.done, 'acquire')
    const { model, random } = this.#parts
    const [kind, hold] = await this.#take(name, somePatience(random))
    if (hold) model.taken(name, this, hold)
    return kind
  }

  async #reenter(name) {
    count(this.done, 're-entry')
    const { model, random } = this.#parts
    const [kind, hold] = await this.#take(name, random.chance(0.5) ? {} : somePatience(random))
    if (kind === 'refused')
      throw model.difference(name, `${this.name} was told that somebody else has its lock`)
    if (hold) model.taken(name, this, hold)
    return kind
  }

  /** A hold, a no, or that nobody knows: then nothing of it may stay. */
  async #take(name, options) {
    const lock = this.#parts.context.getLock(name)
    const { random } = this.#parts
    const lease = random.chance(0.1) ? { leaseMs: FIXED_LEASE_MS } : {}
    try {
      const hold =
        options.waitMs === 0 ? await lock.tryAcquire(lease) : await lock.acquire({ ...lease, ...options })
      return hold ? [`taken as thread ${hold.owner.split(':')[1]}`, hold] : ['refused']
    } catch (error) {
      if (error.code === 'LOCK_TIMEOUT') return ['refused']
      return [this.#unanswered(error)]
    }
  }

  async #partialRelease(name) {
    const { model, random } = this.#parts
    return this.#release(name, random.pick(model.holdsOf(name, this)))
  }

  async #fullRelease(name) {
    const { model, random } = this.#parts
    const holds = [...model.holdsOf(name, this)].reverse()
    if (random.chance(0.5)) {
      return (await Promise.all(holds.map((hold) => this.#release(name, hold)))).join(', ')
    }
    let outcome
    for (const hold of holds) outcome = await this.#release(name, hold)
    return outcome
  }

  async #severalAtOnce(name) {
    const [lower] = this.#parts.model.holdsOf(name, this)
    const calls = [this.#reenter(name), this.#release(name, lower), this.#reenter(name)]
    // Each is to end before the next operation begins, also when one of them fails.
    await Promise.allSettled(calls)
    return (await Promise.all(calls)).join(', ')
  }

  async #release(name, hold) {
    const { context, model, random } = this.#parts
    const lock = context.getLock(name)
    const left = model.givingBack(name, hold)
    count(this.done, left > 0 ? 'partial release' : 'full release')
    const expected = left > 0 ? 'still-held' : 'released'
    const byLock = () => lock.unlock(hold).then(() => expected)
    const outcome = await (random.chance(0.5) ? byLock() : hold.release())
    if (outcome !== expected) throw model.difference(name, `a release said ${outcome}, not ${expected}`)
    if (left === 0) this.#released = hold.owner
    return outcome
  }

  async #extend(name) {
    count(this.done, 'extension')
    const { model, random } = this.#parts
    const hold = random.pick(model.holdsOf(name, this))
    return hold.extend(Math.round(random.between(2_000, 5_000))).then(() => 'extended', this.#unanswered)
  }

  async #verify(name) {
    const { model, random } = this.#parts
    const hold = random.pick(model.holdsOf(name, this))
    return hold.verify().then(() => 'verified', this.#unanswered)
  }

  /** @throws what is an answer after all */
  #unanswered = (error) => {
    if (error !== GIVEN_UP && error.code !== 'REDIS_UNAVAILABLE') throw error
    this.unanswered += 1
    return UNKNOWN
  }
}
