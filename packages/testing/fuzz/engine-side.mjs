import { Buffer } from 'node:buffer'
import { Engine } from '../build/engine/engine.js'
import { AccessRules } from '../build/engine/permissions.js'
import { ErrorReply, Status } from '../build/engine/reply.js'
import { MARKER, READERS, SHARD_CHANNELS } from './real-side.mjs'
import { textOf } from './words.mjs'
import { SCRIPTS } from './scripts.mjs'

/** In ms; a little more, because a number of this size has no thousandths. */
const MICROSECOND = 0.001_25
const CONFIRMATION = /^[ps]?(un)?subscribe$/i

/** @returns {import('./connection.mjs').Reply} */
const asRead = (reply) => {
  if (reply instanceof Status) return { status: reply.text }
  if (reply instanceof ErrorReply) return { error: reply.message }
  if (Array.isArray(reply)) return reply.map(asRead)
  return typeof reply === 'number' ? BigInt(reply) : reply
}

/** The engine of @holdfast/testing, on which programs run one after the other. */
export class EngineSide {
  #now = 0
  #tick
  #heard = [[], []]
  #rules = null
  // A real clock goes on inside a script: who stands in the queue by the microsecond is there in some order.
  #engine = new Engine({ clock: { now: () => (this.#now += this.#tick) }, runId: '0'.repeat(40) })
  #first = this.#connected(null, () => this.#rules)
  #second = this.#connected(1)

  /** @param {import('./releases.mjs').Release} release whose clock it has */
  constructor({ hasClockInScripts }) {
    this.#tick = hasClockInScripts ? MICROSECOND : 0
    const ear = this.#connected(0)
    for (const words of [['psubscribe', '*'], ...SHARD_CHANNELS.map((channel) => ['ssubscribe', channel])]) {
      ear.command(words)
    }
    this.reset()
  }

  #connected(hearer, rulesNow) {
    return this.#engine.connect((_kind, channel, payload) => {
      if (hearer !== null) this.#heard[hearer].push([channel, payload])
    }, rulesNow)
  }

  reset() {
    this.#engine.command(['script', 'flush'])
    for (const text of Object.values(SCRIPTS)) this.#engine.command(['script', 'load', text])
  }

  /**
   * @param {import('./program.mjs').Step[]} steps @param {number} beginning ms since 1970
   * @param {import('./real-side.mjs').Transcript} real by whose clock it runs
   * @returns {import('./real-side.mjs').Transcript}
   */
  run(steps, beginning, { times, endedAt }) {
    this.#heard.forEach((each) => each.splice(0))
    const replies = steps.map((step, i) => {
      this.#now = times[i]
      return this.#step(step, beginning)
    })
    const { state } = this.#engine
    for (const name of ['unsubscribe', 'punsubscribe', 'sunsubscribe']) this.#second.command([name])
    this.#rules = null
    state.isReplica = false
    state.maxMemory = 0
    state.maxMemoryPolicy = 'noeviction'
    this.#now = endedAt
    const tick = this.#tick
    this.#tick = 0
    const keys = this.#keys()
    this.#tick = tick
    this.#engine.command(['flushall'])
    this.#first.command(['reset'])
    return {
      replies,
      times,
      endedAt,
      messages: this.#heard.map((each) => each.filter(([channel]) => channel !== MARKER)),
      keys,
    }
  }

  #step(step, beginning) {
    switch (step.kind) {
      case 'command': {
        const words = step.words.map((word) => textOf(word, beginning))
        const reply = asRead((step.on === 0 ? this.#first : this.#second).command(words))
        // Each confirmation of a subscription is a reply of its own.
        return step.on === 1 && !CONFIRMATION.test(reply?.[0]?.[0] ?? '') ? [reply] : reply
      }
      case 'role':
        this.#engine.state.isReplica = step.role === 'replica'
        return null
      case 'user':
        this.#rules = step.user && new AccessRules(step.user)
        return null
      default:
        return null
    }
  }

  #keys() {
    const ask = (words) => asRead(this.#engine.command(words.map((word) => Buffer.from(word, 'latin1'))))
    return new Map(
      ask(['keys', '*']).map((name) => {
        const type = ask(['type', name]).status
        return [name, [type, ask(READERS[type](name)), Number(ask(['pexpiretime', name]))]]
      }),
    )
  }
}
