// Redis answers again: what had no answer before is undone within this (I8).
const ORPHAN_MS = 1_000

/** Since when Redis has answered one client, by its connection. */
export class Wire {
  #answersSince = performance.now()

  /** @param {any} redis a connected ioredis client */
  constructor(redis) {
    redis.on('close', () => (this.#answersSince = Infinity))
    redis.on('ready', () => (this.#answersSince = performance.now()))
  }

  get answersSince() {
    return this.#answersSince
  }
}

/** How long what a caller was not told about may still be there: until Redis has answered for a second on end. */
export class Grace {
  #wire
  #from = performance.now()
  #over = false

  /** @param {Wire} wire */
  constructor(wire) {
    this.#wire = wire
  }

  get isOver() {
    this.#over ||= performance.now() - Math.max(this.#from, this.#wire.answersSince) >= ORPHAN_MS
    return this.#over
  }
}

// A name follows at the end of the tick, behind what is under way for the same hold.
const NAME_MS = 250

/** How long Redis may name an owner that has passed its hold on: longer only where the wire has been broken lately. */
export class Lag {
  #wire
  #from

  /** @param {Wire} wire @param {number} from monotonic ms of the latest pass */
  constructor(wire, from) {
    this.#wire = wire
    this.#from = from
  }

  get isOver() {
    const { answersSince } = this.#wire
    const wasBroken = answersSince > this.#from - ORPHAN_MS
    const [from, limitMs] = wasBroken
      ? [Math.max(this.#from, answersSince), ORPHAN_MS]
      : [this.#from, NAME_MS]
    return performance.now() - from >= limitMs
  }
}
