import { Lag } from './grace.mjs'
import { Possessions } from './possessions.mjs'

const KEPT_LINES = 20

/** Redis, or an answer, is not what an owner was told before. */
export class Difference extends Error {
  /** Whether something other than Holdfast may have ended a lease. */
  isVoid = false

  /** @param {string} message @param {string[]} journal what led to it, the oldest first; it may still grow */
  constructor(message, journal) {
    super(message)
    this.name = 'Difference'
    this.journal = journal
  }

  toString() {
    return [this.message, ...this.journal].join('\n  ')
  }
}

/** What every owner of every lock was told, and the last that happened to each lock. */
export class Model {
  #locks
  #startedAt = performance.now()
  #wires = new Map()
  #possessions = new Possessions((name, what) => (this.failure ??= this.difference(name, what)))
  /** What was passed on by nobody. */
  failure = null

  /** @param {string[]} names */
  constructor(names) {
    this.#locks = new Map(
      names.map((name) => [name, { flow: null, holds: [], journal: [], graces: new Map() }]),
    )
  }

  get names() {
    return [...this.#locks.keys()]
  }

  get passes() {
    return this.#possessions.passes
  }

  close() {
    this.#possessions.close()
  }

  /** @param {string} clientId @param {import('./grace.mjs').Wire} wire the client's */
  connected(clientId, wire) {
    this.#wires.set(clientId, wire)
  }

  /** While it lasts Redis may name `named` instead of the holder, who was passed what that one had; null: never. */
  lagOf(holder, named) {
    const possession = this.#possessions.of(holder)
    const isEarlier = named !== holder && possession?.holder === holder && possession.owners.includes(named)
    return isEarlier ? this.#lag(possession) : null
  }

  /** While it lasts Redis may name an owner that has released what somebody else has now; null: never, or no more. */
  lagAfter(released) {
    const possession = this.#possessions.of(released)
    const wasPassedOn = possession && possession.holder !== released && !possession.isOver
    return wasPassedOn ? this.#lag(possession) : null
  }

  #lag({ holder, since }) {
    return new Lag(this.#wires.get(holder.split(':')[0]), since)
  }

  note(name, line) {
    const { journal } = this.#locks.get(name)
    const ms = (performance.now() - this.#startedAt).toFixed(1)
    journal.push(`${ms} ms  ${line}`)
    if (journal.length > KEPT_LINES) journal.shift()
  }

  difference(name, message) {
    return new Difference(`${name}: ${message}`, this.#locks.get(name).journal)
  }

  /** The levels that `flow` has, the oldest first. */
  holdsOf(name, flow) {
    const lock = this.#locks.get(name)
    return lock.flow === flow ? lock.holds : []
  }

  /** The levels that anybody has. */
  holds(name) {
    return this.#locks.get(name).holds
  }

  /** While they last Redis may have a level more or less of this flow, by default of the one that has the lock. */
  gracesOf(name, flow = this.#locks.get(name).flow) {
    const grace = this.#locks.get(name).graces.get(flow)
    return grace ? [grace] : []
  }

  setGrace(name, flow, grace) {
    this.#locks.get(name).graces.set(flow, grace)
  }

  namesHeldBy(flow) {
    return this.names.filter((name) => this.holdsOf(name, flow).length > 0)
  }

  /** A flow was told that it has one level more. @throws {Difference} somebody else was told the same */
  taken(name, flow, hold) {
    const lock = this.#locks.get(name)
    if (lock.holds.length > 0 && lock.flow !== flow) {
      throw this.difference(name, `${flow.name} was given what ${lock.flow.name} has (I1)`)
    }
    if (lock.holds.length > 0 && lock.holds[0].owner !== hold.owner) {
      throw this.difference(name, `a re-entry of ${lock.holds[0].owner} became ${hold.owner} (I2)`)
    }
    lock.flow = flow
    lock.holds.push(hold)
  }

  /**
   * A flow is about to give a level back. From now on somebody else may be told that the lock is theirs, before
   * this flow is told that it has gone.
   */
  givingBack(name, hold) {
    const { holds } = this.#locks.get(name)
    holds.splice(holds.indexOf(hold), 1)
    return holds.length
  }
}
