import type { Redis } from 'ioredis'

// Redis answers again: what had no answer before is undone within this (I8).
const ORPHAN_MS = 1_000

/** Since when Redis has answered one client, by its connection. */
export class Wire {
  #answersSince = performance.now()

  constructor(connected: Redis) {
    connected.on('close', () => (this.#answersSince = Infinity))
    connected.on('ready', () => (this.#answersSince = performance.now()))
  }

  get answersSince(): number {
    return this.#answersSince
  }
}

/** A time within which Redis may differ from what was told. */
export interface Allowance {
  readonly isOver: boolean
}

/** How long what a caller was not told about may still be there: until Redis has answered for a second on end. */
export class Grace implements Allowance {
  readonly #wire: Wire
  readonly #from = performance.now()
  #over = false

  constructor(wire: Wire) {
    this.#wire = wire
  }

  get isOver(): boolean {
    this.#over ||= performance.now() - Math.max(this.#from, this.#wire.answersSince) >= ORPHAN_MS
    return this.#over
  }
}

// A name follows at the end of the tick, behind what is under way for the same hold.
const NAME_MS = 250

/** How long Redis may name an owner that has passed its hold on: longer only where the wire has been broken lately. */
export class Lag implements Allowance {
  readonly #wire: Wire
  readonly #from: number

  /** @param from monotonic ms of the latest pass */
  constructor(wire: Wire, from: number) {
    this.#wire = wire
    this.#from = from
  }

  get isOver(): boolean {
    const { answersSince } = this.#wire
    const wasBroken = answersSince > this.#from - ORPHAN_MS
    const [from, limitMs] = wasBroken
      ? [Math.max(this.#from, answersSince), ORPHAN_MS]
      : [this.#from, NAME_MS]
    return performance.now() - from >= limitMs
  }
}
