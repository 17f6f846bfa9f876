import type { Hold } from '@holdfast/core'
import { Lag, type Allowance, type Wire } from './grace.js'
import { Possessions, type Possession } from './possessions.js'

const KEPT_LINES = 20

/** Redis, or an answer, is not what an owner was told before. */
export class Difference extends Error {
  readonly #journal: readonly string[]

  /** @param journal the events that led to it, the oldest first; it may still grow */
  constructor(message: string, journal: readonly string[]) {
    super(message)
    this.name = 'Difference'
    this.#journal = journal
  }

  override toString(): string {
    return [this.message, ...this.#journal].join('\n  ')
  }
}

/** A logical thread, as far as the model needs it: by its identity, and by its name in messages. */
export interface Caller {
  readonly name: string
}

interface LockState {
  flow: Caller | null
  readonly holds: Hold[]
  readonly journal: string[]
  readonly graces: Map<Caller, Allowance>
}

/** The replies to every owner of every lock, and the last event of each lock. */
export class Model {
  /** The difference that no owner was told of. */
  failure: Difference | null = null
  readonly #locks: Map<string, LockState>
  readonly #startedAt = performance.now()
  readonly #wires = new Map<string, Wire>()
  readonly #possessions = new Possessions((name, what) => (this.failure ??= this.difference(name, what)))

  constructor(names: readonly string[]) {
    this.#locks = new Map(
      names.map((name) => [name, { flow: null, holds: [], journal: [], graces: new Map() }]),
    )
  }

  get names(): string[] {
    return [...this.#locks.keys()]
  }

  get passes(): number {
    return this.#possessions.passes
  }

  close(): void {
    this.#possessions.close()
  }

  /** @param wire the client's */
  connected(clientId: string, wire: Wire): void {
    this.#wires.set(clientId, wire)
  }

  /** While it lasts Redis may name `named` instead of the holder, who was passed what that one had; null: never. */
  lagOf(holder: string, named: string): Allowance | null {
    const possession = this.#possessions.of(holder)
    const isEarlier = named !== holder && possession?.holder === holder && possession.owners.includes(named)
    return isEarlier ? this.#lag(possession) : null
  }

  /** While it lasts Redis may name an owner that has released what another has now; null: never, or no more. */
  lagAfter(released: string): Allowance | null {
    const possession = this.#possessions.of(released)
    const wasPassedOn = possession && possession.holder !== released && !possession.isOver
    return wasPassedOn ? this.#lag(possession) : null
  }

  #lag({ holder, since }: Possession): Lag {
    return new Lag(this.#wires.get(holder.split(':')[0] as string) as Wire, since)
  }

  note(name: string, line: string): void {
    const { journal } = this.#stateOf(name)
    const ms = (performance.now() - this.#startedAt).toFixed(1)
    journal.push(`${ms} ms  ${line}`)
    if (journal.length > KEPT_LINES) journal.shift()
  }

  difference(name: string, message: string): Difference {
    return new Difference(`${name}: ${message}`, this.#stateOf(name).journal)
  }

  /** The levels that `flow` has, the oldest first. */
  holdsOf(name: string, flow: Caller): readonly Hold[] {
    const lock = this.#stateOf(name)
    return lock.flow === flow ? lock.holds : []
  }

  /** The levels that its owner has, whichever flow that is. */
  holds(name: string): readonly Hold[] {
    return this.#stateOf(name).holds
  }

  /** While they last Redis may have a level more or less of this flow, by default of the one that has the lock. */
  gracesOf(name: string, flow = this.#stateOf(name).flow): Allowance[] {
    const grace = flow && this.#stateOf(name).graces.get(flow)
    return grace ? [grace] : []
  }

  setGrace(name: string, flow: Caller, grace: Allowance): void {
    this.#stateOf(name).graces.set(flow, grace)
  }

  namesHeldBy(flow: Caller): string[] {
    return this.names.filter((name) => this.holdsOf(name, flow).length > 0)
  }

  /** A flow was told that it has one level more. @throws {Difference} another was told the same */
  taken(name: string, flow: Caller, hold: Hold): void {
    const lock = this.#stateOf(name)
    const [first] = lock.holds
    if (first && lock.flow !== flow)
      throw this.difference(name, `${flow.name} was given what ${lock.flow?.name ?? 'nobody'} has (I1)`)
    if (first && first.owner !== hold.owner)
      throw this.difference(name, `a re-entry of ${first.owner} became ${hold.owner} (I2)`)
    lock.flow = flow
    lock.holds.push(hold)
  }

  /**
   * A flow is about to release a level. From now on another may be told that the lock is theirs, before this flow is
   * told that it has gone.
   */
  releasing(name: string, hold: Hold): number {
    const { holds } = this.#stateOf(name)
    holds.splice(holds.indexOf(hold), 1)
    return holds.length
  }

  #stateOf(name: string): LockState {
    const lock = this.#locks.get(name)
    if (!lock) throw new Error(`the run knows no lock '${name}'`)
    return lock
  }
}
