import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Instants } from './instants.mjs'
import { Violation } from './violation.mjs'

const FLOWS = 48
// Nobody is ever kept waiting for this long, unless a hold was left behind.
const FAR_TOO_LONG_MS = 20_000
const KEPT_LIVES = 64
const LONGEST_WORK_MS = 2

const ENDS = [
  ...Array(12).fill('abort'),
  ...Array(5).fill('timeout'),
  ...['timeout, one attempt', 'abort or timeout', 'abort, shared', 'abort by another', 'patience'],
]

/** Many callers of one process for a few locks. Most of them go before they have it. */
export class Callers {
  figures = { aborted: 0, timedOut: 0, won: 0, unanswered: 0, longestMs: 0 }
  #parts
  #instants = new Instants()
  /** How long callers took who went on until they had it: what the ends of others are spread over. */
  #lives = [5]
  #pending = new Set()

  /** @param {{ client: any, lockOf: (name: string) => any, names: string[], random: any }} parts */
  constructor(parts) {
    this.#parts = parts
  }

  async wait(count) {
    let left = count
    const flow = async () => {
      while (left > 0) {
        const end = this.#parts.random.pick(ENDS)
        const calls = end === 'abort, shared' ? Math.min(3, left) : 1
        left -= calls
        await this.#call(end, calls)
      }
    }
    await Promise.all(Array.from({ length: FLOWS }, flow))
  }

  /** One call, or several that share their end. */
  async #call(end, calls) {
    const { random } = this.#parts
    const aborting = new AbortController()
    // Whoever goes has to be told why, with what was given as the reason.
    const reason = new Error(end)
    const abort = () => aborting.abort(reason)
    const instant = random.next() * random.pick(this.#lives)
    const options = this.#options(end, aborting.signal, instant)
    const callOff = end.startsWith('abort') ? this.#instants.after(instant, abort) : () => undefined
    if (end === 'abort by another') this.#pending.add(abort)
    const results = await Promise.allSettled(
      Array.from({ length: calls }, () => this.#attempt(options, { reason, isPatient: end === 'patience' })),
    )
    callOff()
    this.#pending.delete(abort)
    this.#abortAnother()
    for (const result of results) if (result.status === 'rejected') throw result.reason
    const listeners = getEventListeners(aborting.signal, 'abort').length
    if (listeners > 0) throw new Violation(`${listeners} listeners stay on a signal (${end})`)
  }

  #options(end, signal, instant) {
    const options = { waitMs: FAR_TOO_LONG_MS }
    if (end.startsWith('abort')) options.signal = signal
    if (end.includes('timeout')) options.waitMs = end.endsWith('one attempt') ? 0 : instant
    return options
  }

  /** In the same turn as the end of this call, which may be the one in which the other is given the lock. */
  #abortAnother() {
    const [abort] = this.#pending
    if (abort && this.#parts.random.chance(0.2)) abort()
  }

  async #attempt(options, { reason, isPatient }) {
    const { client, lockOf, names, random } = this.#parts
    const lock = lockOf(random.pick(names))
    const startedAt = performance.now()
    const won = async (hold) => {
      this.#note('won', startedAt)
      if (isPatient) this.#learn(performance.now() - startedAt)
      await this.#work(hold)
    }
    try {
      const go = random.pick([this.#acquire, this.#acquire, this.#tryAcquire, this.#withLock])
      const call = () => go(lock, options, won)
      if ((await (random.chance(0.3) ? client.run(call) : call())) === null) this.#timedOut(startedAt)
    } catch (error) {
      if (error === reason) this.#note('aborted', startedAt)
      else if (error.code === 'LOCK_TIMEOUT') this.#timedOut(startedAt)
      else if (error.code === 'REDIS_UNAVAILABLE') this.#note('unanswered', startedAt)
      else throw error
    }
  }

  #acquire = async (lock, options, won) => {
    const hold = await lock.acquire(options)
    await won(hold)
    await release(hold)
  }

  #tryAcquire = async (lock, options, won) => {
    const hold = await lock.tryAcquire(options)
    if (!hold) return null
    await won(hold)
    return release(hold)
  }

  #withLock = (lock, options, won) => lock.withLock(won, options)

  async #work(hold) {
    const { random } = this.#parts
    if (random.chance(0.05)) await hold.verify()
    await sleep(random.next() * LONGEST_WORK_MS)
    hold.ensure()
  }

  #timedOut(startedAt) {
    this.#note('timedOut', startedAt)
    if (performance.now() - startedAt >= FAR_TOO_LONG_MS) {
      throw new Violation(
        `nobody let go of a lock for ${FAR_TOO_LONG_MS} ms: a hold was left behind, or a caller forgotten (I4)`,
      )
    }
  }

  #note(outcome, startedAt) {
    this.figures[outcome] += 1
    this.figures.longestMs = Math.max(this.figures.longestMs, performance.now() - startedAt)
  }

  #learn(ms) {
    this.#lives.push(ms)
    if (this.#lives.length > KEPT_LIVES) this.#lives.shift()
  }
}

const release = async (hold) => {
  const outcome = await hold.release()
  if (outcome !== 'released') throw new Violation(`the release of ${hold.owner} said ${outcome}`)
}
