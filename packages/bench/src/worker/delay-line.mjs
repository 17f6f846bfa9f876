// A network between a contestant and Redis: what one side sends reaches the other after a fixed time, in order.
import { connect as connectTo, createServer } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers'

/**
 * Timers of Node count whole milliseconds. So the loop does not sleep in them while something is on the way, but looks at
 * the connections in turns of this length, ms: so much later than due may a message leave, at most.
 */
const TURN_MS = 0.02

const cell = new Int32Array(new SharedArrayBuffer(4))
const rest = (ms) => Atomics.wait(cell, 0, 0, ms)

/** Messages on the way, all for as long: the first to leave arrives first. */
class DelayLine {
  #oneWayMs
  /** @type {{ dueAt: number, deliver: () => void }[]} */
  #underWay = []
  #first = 0
  #turning = false

  constructor(oneWayMs) {
    this.#oneWayMs = oneWayMs
  }

  send(deliver) {
    this.#underWay.push({ dueAt: performance.now() + this.#oneWayMs, deliver })
    if (this.#turning) return
    this.#turning = true
    setImmediate(this.#turn)
  }

  #turn = () => {
    const now = performance.now()
    while (this.#first < this.#underWay.length && this.#underWay[this.#first].dueAt <= now) {
      this.#underWay[this.#first].deliver()
      this.#first += 1
    }
    if (this.#first === this.#underWay.length) {
      this.#underWay = []
      this.#first = 0
      this.#turning = false
      return
    }
    if (this.#first > 1_000) {
      this.#underWay = this.#underWay.slice(this.#first)
      this.#first = 0
    }
    rest(Math.min(TURN_MS, this.#underWay[this.#first].dueAt - now))
    setImmediate(this.#turn)
  }
}

/** @param {DelayLine} line @param {import('node:net').Socket} from @param {import('node:net').Socket} to */
const pipe = (line, from, to) => {
  from.setNoDelay(true)
  from.on('data', (bytes) => line.send(() => to.write(bytes)))
  from.on('end', () => line.send(() => to.end()))
  from.on('close', () => line.send(() => to.destroy()))
  // Its close follows, and ends the other side too.
  from.on('error', () => undefined)
}

let before

/** @returns {Promise<number>} the port of this host that leads to the server, both ways with the delay */
export const openNetwork = async ({ host, port, oneWayMs }) => {
  const line = new DelayLine(oneWayMs)
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connectTo({ host, port, allowHalfOpen: true })
    pipe(line, near, far)
    pipe(line, far, near)
  })
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  return server.address().port
}

/** From here on `networkUsage` counts. */
export const watchNetwork = () => {
  before = { at: performance.now(), cpu: process.cpuUsage() }
}

/** @returns {number} the part of a core that the network has taken since `watchNetwork` */
export const networkUsage = () => {
  const { user, system } = process.cpuUsage(before.cpu)
  return (user + system) / 1_000 / (performance.now() - before.at)
}
