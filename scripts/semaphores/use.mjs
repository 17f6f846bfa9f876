import { LockError } from '@holdfast/core'
import { nowMs } from '../shared-clock.mjs'

/** One call for permits, what came of it, and their use, in the history. */
export class Use {
  #history
  #use
  #isTaken = false

  /**
   * @param {ReturnType<typeof import('../torture/history-file.mjs').openHistory>} history
   * @param {{ name: string, use: string, permits: number, waitMs: number }} call
   */
  constructor(history, call) {
    this.#history = history
    this.#use = call.use
    history.add('take', call)
  }

  /** @param {number} [untilMs] until when they may be used, if not for ever */
  taken(untilMs) {
    this.#isTaken = true
    this.#add('taken', { untilMs })
  }

  /** A permit that tells. */
  watch(permit) {
    this.taken(nowMs() + permit.trustedForMs)
    permit.signal.addEventListener('abort', () => this.#add('lost', { reason: permit.signal.reason.reason }))
  }

  /** @returns {boolean} whether it may still be used */
  trust(permit, mostMs = Infinity) {
    // First: a process that is stopped between the two says too little, not too much.
    const atMs = nowMs()
    const { trustedForMs } = permit
    if (trustedForMs <= 0) return false
    this.#add('trusted', { atMs, untilMs: atMs + Math.min(trustedForMs, mostMs) })
    return true
  }

  refused() {
    this.#add('refused')
  }

  /** Their use is over. Gives them back; without an answer that goes on in the background. */
  async giveBack(give) {
    this.#add('give')
    try {
      this.#add('given', { outcome: String(await give()) })
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      this.#add('given', { outcome: error.code })
    }
  }

  endedBy(error) {
    if (error instanceof LockError || error.name === 'TimeoutError') {
      // What comes after they were taken is no outcome of the attempt to take them.
      if (this.#isTaken) return
      if (error.code === 'LOCK_TIMEOUT') this.refused()
      else this.#add('failed', { code: error.code ?? error.name })
    } else throw error
  }

  #add(kind, more) {
    this.#history.add(kind, { use: this.#use, ...more })
  }
}
