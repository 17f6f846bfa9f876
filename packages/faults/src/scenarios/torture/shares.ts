import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '@holdfast/core'
import { getShare, type Share, type SharedRun } from '@holdfast/core/share'
import { nowMs } from '../../run/shared-clock.js'
import { Attempt } from '../../workload/attempt.js'
import { workMs, type CallerParts } from './workload.js'

/** All callers of all processes ask for the key of the present moment. */
const KEY_EVERY_MS = 250
const KEEP_MS = 60_000
const WAIT_MS = 10_000
const ACT_EVERY_MS = 3
/** Time that a run may take behind its look at its signal. */
const ACT_MS = 0.001

/** A caller of runs that are shared: a run acts while it is trusted, and all its callers have one result. */
export class Sharer {
  readonly #parts: CallerParts
  readonly #rerunning: Share<string>
  readonly #failing: Share<string>
  #runs = 0

  constructor(parts: CallerParts) {
    this.#parts = parts
    const options = { keepMs: KEEP_MS, waitMs: WAIT_MS }
    this.#rerunning = getShare<string>(parts.locks, 'rerun', { ...options, onCrash: 'rerun' })
    this.#failing = getShare<string>(parts.locks, 'fail', { ...options, onCrash: 'fail' })
  }

  /** Some calls for one key, and another look at what is kept of the one before. */
  async step(): Promise<void> {
    const { random } = this.#parts
    const moment = Math.floor(nowMs() / KEY_EVERY_MS)
    const calls = Array.from({ length: 1 + random.whole(4) }, () => this.#call(moment))
    await Promise.all([...calls, this.#call(moment - 1)])
    await sleep(Math.max(0, (moment + 1) * KEY_EVERY_MS - nowMs()) + random.between(0, 30))
  }

  async #call(moment: number): Promise<void> {
    const mayFail = moment % 3 === 0
    const share = mayFail ? this.#failing : this.#rerunning
    const lock = `share:${mayFail ? 'fail' : 'rerun'}:${moment}`
    const { history } = this.#parts
    try {
      history.add('result', { lock, value: await share.run(String(moment), (run) => this.#work(lock, run)) })
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      history.add('result', { lock, code: error.code })
    }
  }

  /** Goes on after the loss of trust, as a function does that looks at no signal, and does not act any more. */
  async #work(lock: string, { signal }: SharedRun): Promise<string> {
    const { history, random, name } = this.#parts
    const owner = `${name}#${(this.#runs += 1)}`
    const endsAt = nowMs() + 20 + workMs(random)
    const trustedForMs = signal.aborted ? 0 : ACT_MS
    new Attempt(history, { lock, attempt: owner }).acquired({ owner, signal, trustedForMs })
    while (nowMs() < endsAt) {
      const atMs = nowMs()
      if (!signal.aborted) history.add('trusted', { atMs, lock, owner, untilMs: atMs + ACT_MS })
      await sleep(ACT_EVERY_MS)
    }
    return owner
  }
}
