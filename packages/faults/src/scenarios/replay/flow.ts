import { LockError, type AcquireOptions, type Hold } from '@holdfast/core'
import type { SeededRandom } from '../../harness/seeded-random.js'
import { compareOwn, type Compared } from './comparison.js'
import type { LastingContext } from './contexts.js'
import { Counts } from './counts.js'
import { Grace, type Wire } from './grace.js'
import { Difference } from './model.js'
import type { Saboteur } from './saboteur.js'

const FAULTY = 0.1
const MOST_LEVELS = 5
// Longer than a run: a hold with a lease of its own is not renewed, and must not end by itself.
const FIXED_LEASE_MS = 120_000
const UNKNOWN = 'unknown'
const LONGEST_WAIT_MS = 400
const SOONEST_GONE_MS = 80
const FAR_MS = 2_000

/** Why a caller has gone. */
const GIVEN_UP = new Error('The caller has gone.')

/** How a caller waits: one attempt, a while, or until it goes. */
const somePatience = (random: SeededRandom): { waitMs: number; signal?: AbortSignal } => {
  const choice = random.next()
  if (choice < 0.4) return { waitMs: 0 }
  if (choice < 0.8) return { waitMs: random.between(1, LONGEST_WAIT_MS) }
  const caller = new AbortController()
  setTimeout(() => caller.abort(GIVEN_UP), random.between(0, SOONEST_GONE_MS)).unref()
  return { waitMs: FAR_MS, signal: caller.signal }
}

export interface FlowParts extends Compared {
  readonly name: string
  /** The locks it wants. */
  readonly names: readonly string[]
  /** It takes them once, and leaves the rest to the watchdog. */
  readonly keeps: boolean
  readonly context: LastingContext
  readonly random: SeededRandom
  readonly saboteur: Saboteur
  readonly wire: Wire
}

type Move = (name: string) => Promise<string>
type Taken = { readonly outcome: string; readonly hold?: Hold }

/** One logical thread that takes, re-enters, renews and releases a few locks, one operation after another. */
export class Flow {
  readonly name: string
  /** How often it has done what. */
  readonly done = new Counts()
  longestMs = 0
  unanswered = 0
  /** The present step, for when it does not end. */
  doing: { readonly operation: string; readonly name: string; readonly startedAt: number } | null = null
  readonly #parts: FlowParts
  /** The owner whose last level was released. */
  #released: string | null = null

  constructor(parts: FlowParts) {
    this.name = parts.name
    this.#parts = parts
  }

  get operations(): number {
    return this.done.sum
  }

  /** Operations until the budget, which several flows share, is used up. */
  work(budget: { left: number }): Promise<void> {
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
  releaseEverything(): Promise<void> {
    const { context, model } = this.#parts
    return context.inside(async () => {
      for (const name of model.namesHeldBy(this)) await this.#perform('full release', name, this.#fullRelease)
    })
  }

  /** Takes what no other flow wants. */
  async #keepAll(): Promise<void> {
    const { model, names } = this.#parts
    for (const name of names) {
      while (model.holdsOf(name, this).length === 0) await this.#perform('acquire', name, this.#acquire)
    }
  }

  async #step(): Promise<void> {
    const { model, names, random } = this.#parts
    const mine = model.namesHeldBy(this)
    const name = mine.length > 0 && random.chance(0.75) ? random.pick(mine) : random.pick(names)
    const levels = model.holdsOf(name, this).length
    if (levels === 0) return this.#stay(name)
    const times = (count: number, operation: string, move: Move): [string, Move][] =>
      Array.from({ length: count }, () => [operation, move])
    const choices: [string, Move][] = [
      ...times(levels < MOST_LEVELS ? 7 : 0, 're-entry', this.#reenter),
      ...times(levels > 1 ? 6 : 0, 'partial release', this.#partialRelease),
      ...times(levels > 1 ? 2 : 0, 'several at once', this.#severalAtOnce),
      ...times(2, 'full release', this.#fullRelease),
      ...times(4, 'extension', this.#extend),
      ...times(1, 'verification', this.#verify),
    ]
    const [operation, move] = random.pick(choices)
    return this.#perform(operation, name, move)
  }

  /** Often so short that the lock may be passed on in memory. */
  async #stay(name: string): Promise<void> {
    const { model, random } = this.#parts
    await this.#perform('acquire', name, this.#acquire)
    const isHeld = model.holdsOf(name, this).length > 0
    if (isHeld && random.chance(0.5)) await this.#perform('full release', name, this.#fullRelease)
  }

  /** With a fault now and then, and a look at Redis after it. */
  async #perform(operation: string, name: string, move: Move): Promise<void> {
    const { model, random, saboteur, wire } = this.#parts
    const note = (line: string): void => model.note(name, `${this.name}  ${operation}: ${line}`)
    const sabotage = random.chance(FAULTY) ? saboteur.aim(name, note) : null
    const startedAt = performance.now()
    this.doing = { operation, name, startedAt }
    let outcome = ''
    try {
      outcome = await move(name)
    } catch (error) {
      const { name: kind, message } = error as Error
      outcome = `${kind} ${error instanceof LockError ? error.code : ''}: ${message}`
      throw error instanceof Difference
        ? error
        : model.difference(name, `${this.name} was told ${outcome} (I4)`)
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

  readonly #acquire: Move = async (name) => {
    this.done.add('acquire')
    return this.#told(name, await this.#take(name, somePatience(this.#parts.random)))
  }

  readonly #reenter: Move = async (name) => {
    this.done.add('re-entry')
    const { model, random } = this.#parts
    const taken = await this.#take(name, random.chance(0.5) ? {} : somePatience(random))
    if (taken.outcome === 'refused')
      throw model.difference(name, `${this.name} was told that another owner has its lock (I2)`)
    return this.#told(name, taken)
  }

  #told(name: string, { outcome, hold }: Taken): string {
    if (hold) this.#parts.model.taken(name, this, hold)
    return outcome
  }

  /** A hold, a no, or that nobody knows: then nothing of it may stay. */
  async #take(name: string, options: AcquireOptions): Promise<Taken> {
    const lock = this.#parts.context.getLock(name)
    const lease = this.#parts.random.chance(0.1) ? { leaseMs: FIXED_LEASE_MS } : {}
    try {
      const hold =
        options.waitMs === 0 ? await lock.tryAcquire(lease) : await lock.acquire({ ...lease, ...options })
      return hold
        ? { outcome: `taken as thread ${hold.owner.split(':')[1] ?? ''}`, hold }
        : { outcome: 'refused' }
    } catch (error) {
      if (error instanceof LockError && error.code === 'LOCK_TIMEOUT') return { outcome: 'refused' }
      return { outcome: this.#unanswered(error) }
    }
  }

  readonly #partialRelease: Move = (name) => {
    const { model, random } = this.#parts
    return this.#release(name, random.pick(model.holdsOf(name, this)))
  }

  readonly #fullRelease: Move = async (name) => {
    const { model, random } = this.#parts
    const holds = [...model.holdsOf(name, this)].reverse()
    if (random.chance(0.5))
      return (await Promise.all(holds.map((hold) => this.#release(name, hold)))).join(', ')
    let outcome = ''
    for (const hold of holds) outcome = await this.#release(name, hold)
    return outcome
  }

  readonly #severalAtOnce: Move = async (name) => {
    const [lower] = this.#parts.model.holdsOf(name, this) as [Hold]
    const calls = [this.#reenter(name), this.#release(name, lower), this.#reenter(name)]
    // Each is to end before the next operation begins, also when one of them fails.
    await Promise.allSettled(calls)
    return (await Promise.all(calls)).join(', ')
  }

  async #release(name: string, hold: Hold): Promise<string> {
    const { context, model, random } = this.#parts
    const lock = context.getLock(name)
    const left = model.releasing(name, hold)
    this.done.add(left > 0 ? 'partial release' : 'full release')
    const expected = left > 0 ? 'still-held' : 'released'
    const byLock = (): Promise<string> => lock.unlock(hold).then(() => expected)
    const outcome = await (random.chance(0.5) ? byLock() : hold.release())
    if (outcome !== expected) throw model.difference(name, `a release said ${outcome}, not ${expected} (I2)`)
    if (left === 0) this.#released = hold.owner
    return outcome
  }

  readonly #extend: Move = (name) => {
    this.done.add('extension')
    const { model, random } = this.#parts
    const hold = random.pick(model.holdsOf(name, this))
    return hold.extend(Math.round(random.between(2_000, 5_000))).then(() => 'extended', this.#unanswered)
  }

  readonly #verify: Move = (name) => {
    const { model, random } = this.#parts
    const hold = random.pick(model.holdsOf(name, this))
    return hold.verify().then(() => 'verified', this.#unanswered)
  }

  /** @throws what is an answer after all */
  readonly #unanswered = (error: unknown): string => {
    const isUnavailable = error instanceof LockError && error.code === 'REDIS_UNAVAILABLE'
    if (error !== GIVEN_UP && !isUnavailable) throw error
    this.unanswered += 1
    return UNKNOWN
  }
}
